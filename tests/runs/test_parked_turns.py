"""What the next run means for a turn that waits: for answers, for results of the client's own tools, or for both."""

from __future__ import annotations

from math import nan
from typing import Any, cast

import pytest

from gateway.agui.outbound import Suspended
from gateway.drivers import LiveTurn
from gateway.events import ClientToolCall
from gateway.runs.interrupts import Interrupts
from gateway.runs.parked_turns import ParkedTurn, apply_resume, calls_expiry, without_result
from gateway.turn import NO_RESULT, Answer, Turn

A, B = ClientToolCall("a", "show_card"), ClientToolCall("b", "show_card")
NOW = 1000.0


def parked(*calls: ClientToolCall, with_interrupt: bool = False) -> ParkedTurn:
    interrupts = Interrupts()
    if with_interrupt:
        interrupts.add([{"id": "q", "reason": "confirmation"}], "run", parked=True)
    live = cast(LiveTurn, None)  # it is not called here
    return ParkedTurn(live, "run", Suspended(), interrupts, calls, NOW + 60, frozenset({"u1"}))


def turn(*messages: dict[str, Any], resume: tuple[Answer, ...] = ()) -> Turn:
    before = {"id": "u1", "role": "user", "content": "show me"}
    return Turn("thread", "next", messages=[before, *messages], resume=resume)


def result(call: str, text: str = "shown") -> dict[str, Any]:
    return {"id": f"t-{call}", "role": "tool", "toolCallId": call, "content": text}


def new_message(text: str = "never mind") -> dict[str, Any]:
    return {"id": "u2", "role": "user", "content": text}


YES = Answer("q", "resolved", True)


def test_results_of_all_calls_go_on_with_the_turn_wherever_they_stand() -> None:
    waiting = parked(A, B)
    resumed = apply_resume(waiting.interrupts, waiting, turn(result("b"), result("a"), new_message("and then")), NOW)
    assert resumed.continues_turn
    assert {name: answer.payload["content"] for name, answer in resumed.answers.items()} == {"a": "shown", "b": "shown"}


def test_results_of_other_calls_are_none_of_its_business() -> None:
    waiting = parked(A)
    assert apply_resume(waiting.interrupts, waiting, turn(result("stranger")), NOW).missing_calls == (A,)


def test_answers_are_kept_until_the_results_are_there() -> None:
    waiting = parked(A, with_interrupt=True)
    first = apply_resume(waiting.interrupts, waiting, turn(new_message(), resume=(YES,)), NOW)
    assert (first.missing_calls, first.continues_turn, first.abandons_turn) == ((A,), False, False)
    second = apply_resume(waiting.interrupts, waiting, turn(result("a")), NOW)
    assert second.continues_turn
    assert second.answers["q"] == YES
    assert second.answers["a"].payload["content"] == "shown"


def test_both_at_once_go_on_at_once() -> None:
    waiting = parked(A, with_interrupt=True)
    resumed = apply_resume(waiting.interrupts, waiting, turn(result("a"), resume=(YES,)), NOW)
    assert set(resumed.answers) == {"a", "q"}


def test_results_without_the_answers_are_answered_what_is_missing() -> None:
    waiting = parked(A, with_interrupt=True)
    resumed = apply_resume(waiting.interrupts, waiting, turn(result("a")), NOW)
    assert resumed.error is not None and resumed.error[0] == "INTERRUPT_OPEN"


def test_a_resume_that_is_sent_again_with_the_results_goes_on() -> None:
    waiting = parked(A, with_interrupt=True)
    apply_resume(waiting.interrupts, waiting, turn(resume=(YES,)), NOW)
    assert apply_resume(waiting.interrupts, waiting, turn(result("a"), resume=(YES,)), NOW).continues_turn


def test_only_a_new_message_of_the_users_gives_the_calls_up() -> None:
    waiting = parked(A, B)
    assert not apply_resume(waiting.interrupts, waiting, turn(), NOW).abandons_turn, (
        "the message that made the call is not news"
    )
    resumed = apply_resume(waiting.interrupts, waiting, turn(result("b"), new_message()), NOW)
    assert resumed.abandons_turn
    assert [(event.id, event.content) for event in without_result(resumed.missing_calls)] == [("a", NO_RESULT)]  # type: ignore[union-attr]


def test_without_a_turn_that_waits_a_result_is_an_ordinary_message() -> None:
    resumed = Interrupts().apply_resume(turn(result("a")).resume, NOW, has_parked_turn=False)
    assert not (resumed.continues_turn or resumed.missing_calls or resumed.error)


@pytest.mark.parametrize(("seconds", "until"), [(None, NOW + 3600), (5.0, NOW + 5), (-1.0, NOW), (nan, NOW + 3600)])
def test_calls_wait_as_long_as_the_agent_and_the_gateway_want(seconds: float | None, until: float) -> None:
    assert calls_expiry([ClientToolCall("a", "show_card", None, seconds)], NOW, 3600) == until


def test_a_turn_waits_until_the_first_of_what_it_waits_for_expires() -> None:
    waiting = parked(A)
    assert waiting.expires == NOW + 60
    waiting.interrupts.add(
        [{"id": "q", "reason": "confirmation", "expiresAt": "1970-01-01T00:16:50Z"}], "run", parked=True
    )
    assert waiting.expires == NOW + 10
