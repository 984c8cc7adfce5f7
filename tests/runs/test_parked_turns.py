"""What the next run means for a turn that waits: for answers, for results of the client's own tools, or for both."""

from __future__ import annotations

from math import nan
from typing import Any, cast

import pytest

from gateway.agui.outbound import Suspended
from gateway.drivers import LiveTurn
from gateway.events import ClientToolCall
from gateway.runs.interrupts import Interrupts
from gateway.runs.parked_turns import Parked, _expires, settle, without_result
from gateway.turn import NO_RESULT, Answer, Turn

A, B = ClientToolCall("a", "show_card"), ClientToolCall("b", "show_card")
NOW = 1000.0


def parked(*calls: ClientToolCall, asks: bool = False) -> Parked:
    book = Interrupts()
    if asks:
        book.ask([{"id": "q", "reason": "confirmation"}], "run", parked=True)
    live = cast(LiveTurn, None)  # nobody asks it anything here
    return Parked(live, "run", Suspended(), book, calls, NOW + 60, frozenset({"u1"}))


def turn(*messages: dict[str, Any], resume: tuple[Answer, ...] = ()) -> Turn:
    before = {"id": "u1", "role": "user", "content": "show me"}
    return Turn("thread", "next", messages=[before, *messages], resume=resume)


def result(call: str, words: str = "shown") -> dict[str, Any]:
    return {"id": f"t-{call}", "role": "tool", "toolCallId": call, "content": words}


def news(words: str = "never mind") -> dict[str, Any]:
    return {"id": "u2", "role": "user", "content": words}


YES = Answer("q", "resolved", True)


def test_results_of_all_calls_go_on_with_the_turn_wherever_they_stand() -> None:
    waiting = parked(A, B)
    settled = settle(waiting.book, waiting, turn(result("b"), result("a"), news("and then")), NOW)
    assert settled.parked
    assert {name: answer.payload["content"] for name, answer in settled.answers.items()} == {"a": "shown", "b": "shown"}


def test_results_of_other_calls_are_none_of_its_business() -> None:
    waiting = parked(A)
    assert settle(waiting.book, waiting, turn(result("stranger")), NOW).waits == (A,)


def test_answers_are_kept_until_the_results_are_there() -> None:
    waiting = parked(A, asks=True)
    first = settle(waiting.book, waiting, turn(news(), resume=(YES,)), NOW)
    assert (first.waits, first.parked, first.given_up) == ((A,), False, False)
    second = settle(waiting.book, waiting, turn(result("a")), NOW)
    assert second.parked
    assert second.answers["q"] == YES
    assert second.answers["a"].payload["content"] == "shown"


def test_both_at_once_go_on_at_once() -> None:
    waiting = parked(A, asks=True)
    settled = settle(waiting.book, waiting, turn(result("a"), resume=(YES,)), NOW)
    assert set(settled.answers) == {"a", "q"}


def test_results_without_the_answers_are_told_what_is_missing() -> None:
    waiting = parked(A, asks=True)
    settled = settle(waiting.book, waiting, turn(result("a")), NOW)
    assert settled.error is not None and settled.error[0] == "INTERRUPT_OPEN"


def test_a_resume_that_is_sent_again_with_the_results_goes_on() -> None:
    waiting = parked(A, asks=True)
    settle(waiting.book, waiting, turn(resume=(YES,)), NOW)
    assert settle(waiting.book, waiting, turn(result("a"), resume=(YES,)), NOW).parked


def test_only_a_new_message_of_the_users_gives_the_calls_up() -> None:
    waiting = parked(A, B)
    assert not settle(waiting.book, waiting, turn(), NOW).given_up, "the message that made the call is not news"
    settled = settle(waiting.book, waiting, turn(result("b"), news()), NOW)
    assert settled.given_up
    assert [(event.id, event.content) for event in without_result(settled.waits)] == [("a", NO_RESULT)]  # type: ignore[union-attr]


def test_without_a_turn_that_waits_a_result_is_an_ordinary_message() -> None:
    settled = settle(Interrupts(), None, turn(result("a")), NOW)
    assert not (settled.parked or settled.waits or settled.error)


@pytest.mark.parametrize(("seconds", "until"), [(None, NOW + 3600), (5.0, NOW + 5), (-1.0, NOW), (nan, NOW + 3600)])
def test_calls_wait_as_long_as_the_agent_and_the_gateway_want(seconds: float | None, until: float) -> None:
    assert _expires([ClientToolCall("a", "show_card", None, seconds)], NOW, 3600) == until


def test_a_turn_waits_until_the_first_of_what_it_waits_for_expires() -> None:
    waiting = parked(A)
    assert waiting.until == NOW + 60
    waiting.book.ask([{"id": "q", "reason": "confirmation", "expiresAt": "1970-01-01T00:16:50Z"}], "run", parked=True)
    assert waiting.until == NOW + 10
