"""The resume contract, clause by clause: all covered, held against schema and clock, idempotent, never locked."""

from __future__ import annotations

import urllib.request
from typing import Any

import pytest

from gateway.events import Interrupt
from gateway.runs.interrupts import CLOSED_KEPT, Interrupts, ResumeResult, parse_time, to_interrupt
from gateway.turn import Answer

NOW = 1_800_000_000.0
APPROVAL = {"type": "object", "properties": {"approved": {"type": "boolean"}}, "required": ["approved"]}


def question(name: str = "q", **more: Any) -> dict[str, Any]:
    return {"id": name, "reason": "why", **more}


def asked(*interrupts: dict[str, Any], parked: bool = True) -> Interrupts:
    book = Interrupts()
    book.ask(interrupts or (question(),), "run-1", parked=parked)
    return book


def yes(name: str = "q", payload: Any = None) -> Answer:
    return Answer(name, "resolved", payload)


def no(name: str = "q") -> Answer:
    return Answer(name, "cancelled")


def settle(book: Interrupts, *answers: Answer, now: float = NOW, turn_waits: bool = True) -> ResumeResult:
    settled = book.settle(answers, now, turn_waits=turn_waits)
    assert Interrupts.loads(book.dumps()).dumps() == book.dumps(), "it goes through the store between two requests"
    return settled


def code(settled: ResumeResult) -> str | None:
    return settled.error and settled.error[0]


def open_names(book: Interrupts) -> list[str]:
    return [entry.id for entry in book.open()]


# -- answers


def test_a_thread_without_questions_takes_an_ordinary_run() -> None:
    assert Interrupts().settle((), NOW, turn_waits=False) == ResumeResult()


@pytest.mark.parametrize("parked", [True, False])
def test_an_answer_closes_its_question_and_goes_to_the_agent(parked: bool) -> None:
    book = asked(parked=parked)
    settled = settle(book, yes(payload={"approved": True}), turn_waits=parked)
    assert settled == ResumeResult(answers={"q": yes(payload={"approved": True})}, parked=parked)
    assert open_names(book) == []


def test_a_cancelled_question_is_an_answer_too() -> None:
    assert settle(asked(question(responseSchema=APPROVAL)), no()).answers == {"q": no()}


def test_a_run_without_an_answer_is_told_what_is_open_and_the_way_out() -> None:
    book = asked(question("b"), question("a"))
    settled = settle(book)
    assert code(settled) == "INTERRUPT_OPEN"
    assert settled.error is not None
    assert "'a', 'b'" in settled.error[1]
    assert "POST /runs/run-1/cancel" in settled.error[1]
    assert open_names(book) == ["b", "a"]


def test_every_open_question_must_be_covered() -> None:
    book = asked(question("a"), question("b"), question("c"))
    settled = settle(book, yes("a"))
    assert settled.error == ("RESUME_INCOMPLETE", "open interrupts without an answer: 'b', 'c'")
    assert open_names(book) == ["a", "b", "c"], "nothing was answered"
    assert settle(book, yes("a"), no("b"), yes("c")).answers.keys() == {"a", "b", "c"}


# -- the schema


@pytest.mark.parametrize(
    ("payload", "says"),
    [({"approved": "yes"}, "payload/approved: 'yes' is not of type"), ({}, "'approved' is a required"), (None, "None")],
    ids=str,
)
def test_a_payload_against_the_schema_is_refused_with_the_place_until_it_is_right(payload: Any, says: str) -> None:
    book = asked(question(responseSchema=APPROVAL))
    for _ in range(3):
        settled = settle(book, yes(payload=payload))
        assert code(settled) == "RESUME_INVALID"
        assert settled.error is not None
        assert says in settled.error[1]
    assert settle(book, yes(payload={"approved": False})).error is None


@pytest.mark.parametrize(
    "schema",
    [
        {"type": 5},
        {"type": "otter"},
        {"properties": 5},
        {"pattern": "("},
        {"minimum": "low"},
        {"$ref": "#/nowhere"},
        {"$ref": "http://schema.invalid/of-nobody"},
        {"$ref": "#"},
        {"required": 1},
    ],
    ids=str,
)
@pytest.mark.parametrize("payload", ["text", 3, {"a": 1}], ids=str)
def test_a_schema_that_is_none_never_locks_the_thread(schema: dict[str, Any], payload: Any) -> None:
    book = asked(question(responseSchema=schema))
    if code(settle(book, yes(payload=payload))) is not None:  # it holds against what it does say
        assert settle(book, no()).error is None


def test_what_a_schema_refers_to_is_not_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    asked_for: list[Any] = []
    monkeypatch.setattr(urllib.request, "urlopen", asked_for.append)
    settle(asked(question(responseSchema={"$ref": "http://schema.invalid/of-nobody"})), yes(payload=1))
    assert asked_for == []


# -- time


def test_a_late_answer_fails_once_and_is_accepted_then() -> None:
    book = asked(question(expiresAt="2027-01-15T08:00:00Z"))
    late = parse_time("2027-01-15T08:00:00Z")
    assert late is not None
    settled = settle(book, yes(), now=late)
    assert settled.error == ("INTERRUPT_EXPIRED", "'q' expired at 2027-01-15T08:00:00Z")
    assert settle(book, yes(), now=late) == ResumeResult(again=True)


def test_an_answer_at_the_last_moment_counts() -> None:
    book = asked(question(expiresAt="2027-01-15T08:00:00Z"))
    assert settle(book, yes(), now=(parse_time("2027-01-15T08:00:00Z") or 0) - 0.001).error is None


def test_giving_up_what_has_expired_is_accepted_at_once() -> None:
    book = asked(question(expiresAt="2020-01-01T00:00:00Z"))
    assert settle(book, no()) == ResumeResult(again=True)


def test_what_has_expired_is_not_in_the_way_of_a_new_run() -> None:
    book = asked(question(expiresAt="2020-01-01T00:00:00Z"))
    assert settle(book) == ResumeResult()


def test_a_turn_cannot_go_on_with_half_of_its_answers() -> None:
    book = asked(question("a", expiresAt="2020-01-01T00:00:00Z"), question("b"))
    assert settle(book, no("a"), no("b")) == ResumeResult(again=True)
    book = asked(question("a", expiresAt="2020-01-01T00:00:00Z"), question("b"), parked=False)
    assert settle(book, no("a"), yes("b")).answers == {"b": yes("b")}, "nothing waits: a new turn can"


def test_the_next_expiry_is_the_first() -> None:
    assert asked().next_expiry() is None
    book = asked(question("a", expiresAt="2030-01-01T00:00:00Z"), question("b", expiresAt="2029-01-01T00:00:00Z"))
    assert book.next_expiry() == parse_time("2029-01-01T00:00:00Z")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1970-01-01T00:00:10Z", 10.0),
        ("1970-01-01T01:00:10+01:00", 10.0),
        ("1970-01-01T00:00:10", 10.0),
        ("tomorrow", None),
        ("", None),
        (None, None),
        ("0001-01-01T00:00:00+14:00", -62135647200.0),
        ("9999-12-31T23:59:59-14:00", 253402351199.0),
    ],
)
def test_times_are_read_as_iso_8601(text: str | None, seconds: float | None) -> None:
    assert parse_time(text) == seconds


@pytest.mark.parametrize(
    ("expires_in", "ttl", "seconds"),
    [
        (None, 60.0, 60.0),
        (5.0, 60.0, 5.0),
        (500.0, 60.0, 60.0),
        (-5.0, 60.0, 0.0),
        (float("nan"), 60.0, 60.0),
        (float("inf"), 60.0, 60.0),
        (float("-inf"), 60.0, 0.0),
        (None, 1e300, 10 * 365 * 86400.0),
    ],
)
def test_a_question_always_has_an_end(expires_in: float | None, ttl: float, seconds: float) -> None:
    interrupt = to_interrupt(Interrupt("q", "why", expires_in=expires_in), NOW, ttl)
    assert parse_time(interrupt["expiresAt"]) == NOW + seconds
    assert interrupt["expiresAt"].endswith("Z")


def test_a_question_tells_all_that_it_has_and_nothing_else() -> None:
    full = Interrupt("q", "tool_call", "May I?", "c", APPROVAL, 5.0, {"k": 1}, "s")
    interrupt = to_interrupt(full, NOW, 60.0)
    assert {key: value for key, value in interrupt.items() if key != "expiresAt"} == {
        "id": "q",
        "reason": "tool_call",
        "message": "May I?",
        "toolCallId": "c",
        "responseSchema": APPROVAL,
        "metadata": {"k": 1},
        "subagentRunId": "s",
    }
    assert to_interrupt(Interrupt("q", "why"), NOW, 60.0).keys() == {"id", "reason", "expiresAt"}


# -- again


def test_the_same_answer_twice_is_one_answer() -> None:
    book = asked()
    assert settle(book, yes(payload=[1])).answers
    for _ in range(3):
        assert settle(book, yes(payload=[1]), turn_waits=False) == ResumeResult(again=True)


def test_another_answer_fails_once_and_the_first_one_stands() -> None:
    book = asked()
    settle(book, yes(payload=1))
    assert code(settle(book, no())) == "INTERRUPT_ANSWERED"
    assert settle(book, no()) == ResumeResult(again=True)
    assert settle(book, yes(payload=1)) == ResumeResult(again=True)


def test_an_answer_to_nothing_fails_once_and_is_accepted_then() -> None:
    book = Interrupts()
    assert settle(book, yes("nobody")).error == ("INTERRUPT_UNKNOWN", "there is no interrupt 'nobody' on this thread")
    assert settle(book, yes("nobody")) == ResumeResult(again=True)


def test_an_unknown_id_beside_an_open_question_does_not_swallow_the_answer() -> None:
    book = asked()
    assert code(settle(book, yes(), yes("nobody"))) == "INTERRUPT_UNKNOWN"
    assert settle(book, yes(), yes("nobody")).answers == {"q": yes()}


def test_an_id_that_was_unknown_may_be_asked_later() -> None:
    book = Interrupts()
    settle(book, yes("q"))
    book.ask([question("q")], "run-2", parked=True)
    assert settle(book, yes("q")).answers == {"q": yes("q")}


def test_a_retry_beside_a_new_question_answers_only_the_new_one() -> None:
    book = asked(question("a"))
    settle(book, yes("a"))
    book.ask([question("b")], "run-2", parked=True)
    assert settle(book, yes("a")) == ResumeResult(again=True), "the client did not see the new one yet"
    assert open_names(book) == ["b"]
    assert settle(book, yes("a"), yes("b")).answers == {"b": yes("b")}


# -- turns that are gone


def test_an_answer_to_a_lost_turn_fails_once_and_is_accepted_then() -> None:
    book = asked()
    assert code(settle(book, yes(), turn_waits=False)) == "TURN_LOST"
    assert settle(book, yes(), turn_waits=False) == ResumeResult(again=True)
    assert settle(book, no(), turn_waits=False) == ResumeResult(again=True)
    assert settle(book) == ResumeResult(), "the thread is free"


def test_everything_that_is_wrong_is_told_in_one_refusal() -> None:
    book = asked(question("a"), question("b"))
    assert code(settle(book, yes("a"), yes("b"), yes("nobody"), turn_waits=False)) == "TURN_LOST"
    assert settle(book, yes("a"), yes("b"), yes("nobody"), turn_waits=False) == ResumeResult(again=True)


def test_a_question_for_a_new_turn_is_never_lost() -> None:
    assert settle(asked(parked=False), yes(), turn_waits=False).answers == {"q": yes()}


def test_a_turn_that_was_stopped_has_its_questions_answered_as_cancelled() -> None:
    book = asked(question("a"), question("b"))
    assert book.cancel_open() == ["a", "b"]
    assert settle(book, no("a"), no("b"), turn_waits=False) == ResumeResult(again=True)
    assert code(settle(book, yes("a"), no("b"), turn_waits=False)) == "INTERRUPT_ANSWERED"


def test_a_turn_that_expired_takes_all_its_questions_along() -> None:
    book = asked(question("a"), question("b"))
    assert book.expire_open() == ["a", "b"]
    assert book.expire_open() == []
    assert settle(book) == ResumeResult()


# -- the book


def test_the_book_survives_the_store() -> None:
    book = asked(question("a", metadata={"k": [None, 1.5, "ü"]}), question("b"))
    settle(book, yes("a"), yes("nobody"))
    again = Interrupts.loads(book.dumps())
    assert [entry.interrupt for entry in again.open()] == [entry.interrupt for entry in book.open()]


def test_closed_questions_are_forgotten_in_time_and_open_ones_never() -> None:
    book = asked(question("first"), parked=False)
    for number in range(CLOSED_KEPT + 50):
        settle(book, yes(f"unknown-{number}"))
    kept = Interrupts.loads(book.dumps())
    assert open_names(kept) == ["first"]
    assert code(settle(kept, yes("first"), yes("unknown-50"))) is None, "the newest are remembered"
    assert code(settle(kept, yes("first"), yes("unknown-49"))) == "INTERRUPT_UNKNOWN"
