"""The resume contract, clause by clause: all covered, held against schema and clock, idempotent, never locked."""

from __future__ import annotations

import urllib.request
from typing import Any

import pytest

from gateway.events import Interrupt
from gateway.runs.approval_audit import list_decisions
from gateway.runs.interrupts import MAX_CLOSED_ENTRIES, Interrupts, ResumeResult, parse_time, to_interrupt
from gateway.turn import Answer

NOW = 1_800_000_000.0
APPROVAL = {"type": "object", "properties": {"approved": {"type": "boolean"}}, "required": ["approved"]}


def interrupt(name: str = "q", **more: Any) -> dict[str, Any]:
    return {"id": name, "reason": "why", **more}


def opened(*objects: dict[str, Any], parked: bool = True) -> Interrupts:
    interrupts = Interrupts()
    interrupts.add(objects or (interrupt(),), "run-1", parked=parked)
    return interrupts


def yes(name: str = "q", payload: Any = None) -> Answer:
    return Answer(name, "resolved", payload)


def no(name: str = "q") -> Answer:
    return Answer(name, "cancelled")


def resume(interrupts: Interrupts, *answers: Answer, now: float = NOW, has_parked_turn: bool = True) -> ResumeResult:
    result = interrupts.apply_resume(answers, now, has_parked_turn=has_parked_turn)
    assert Interrupts.loads(interrupts.dumps()).dumps() == interrupts.dumps(), (
        "it goes through the store between two requests"
    )
    return result


def code(result: ResumeResult) -> str | None:
    return result.error and result.error[0]


def open_ids(interrupts: Interrupts) -> list[str]:
    return [entry.id for entry in interrupts.open()]


# -- answers


def test_a_thread_without_questions_takes_an_ordinary_run() -> None:
    assert Interrupts().apply_resume((), NOW, has_parked_turn=False) == ResumeResult()


@pytest.mark.parametrize("parked", [True, False])
def test_an_answer_closes_its_question_and_goes_to_the_agent(parked: bool) -> None:
    interrupts = opened(parked=parked)
    result = resume(interrupts, yes(payload={"approved": True}), has_parked_turn=parked)
    assert result == ResumeResult(answers={"q": yes(payload={"approved": True})}, continues_turn=parked)
    assert open_ids(interrupts) == []


def test_a_cancelled_question_is_an_answer_too() -> None:
    assert resume(opened(interrupt(responseSchema=APPROVAL)), no()).answers == {"q": no()}


def test_a_run_without_an_answer_is_answered_what_is_open_and_the_way_out() -> None:
    interrupts = opened(interrupt("b"), interrupt("a"))
    result = resume(interrupts)
    assert code(result) == "INTERRUPT_OPEN"
    assert result.error is not None
    assert "'a', 'b'" in result.error[1]
    assert "POST /runs/run-1/cancel" in result.error[1]
    assert open_ids(interrupts) == ["b", "a"]


def test_every_open_question_must_be_covered() -> None:
    interrupts = opened(interrupt("a"), interrupt("b"), interrupt("c"))
    result = resume(interrupts, yes("a"))
    assert result.error == ("RESUME_INCOMPLETE", "open interrupts without an answer: 'b', 'c'")
    assert open_ids(interrupts) == ["a", "b", "c"], "nothing was answered"
    assert resume(interrupts, yes("a"), no("b"), yes("c")).answers.keys() == {"a", "b", "c"}


# -- the schema


@pytest.mark.parametrize(
    ("payload", "says"),
    [({"approved": "yes"}, "payload/approved: 'yes' is not of type"), ({}, "'approved' is a required"), (None, "None")],
    ids=str,
)
def test_a_payload_against_the_schema_is_refused_with_the_place_until_it_is_right(payload: Any, says: str) -> None:
    interrupts = opened(interrupt(responseSchema=APPROVAL))
    for _ in range(3):
        result = resume(interrupts, yes(payload=payload))
        assert code(result) == "RESUME_INVALID"
        assert result.error is not None
        assert says in result.error[1]
    assert resume(interrupts, yes(payload={"approved": False})).error is None


@pytest.mark.parametrize(
    "schema",
    [
        {"type": 5},
        {"type": "otter"},
        {"properties": 5},
        {"pattern": "("},
        {"minimum": "low"},
        {"$ref": "#/nowhere"},
        {"$ref": "http://schema.invalid/unknown"},
        {"$ref": "#"},
        {"required": 1},
    ],
    ids=str,
)
@pytest.mark.parametrize("payload", ["text", 3, {"a": 1}], ids=str)
def test_a_schema_that_is_none_never_locks_the_thread(schema: dict[str, Any], payload: Any) -> None:
    interrupts = opened(interrupt(responseSchema=schema))
    if code(resume(interrupts, yes(payload=payload))) is not None:  # it holds against what it does say
        assert resume(interrupts, no()).error is None


def test_what_a_schema_refers_to_is_not_fetched(monkeypatch: pytest.MonkeyPatch) -> None:
    asked_for: list[Any] = []
    monkeypatch.setattr(urllib.request, "urlopen", asked_for.append)
    resume(opened(interrupt(responseSchema={"$ref": "http://schema.invalid/unknown"})), yes(payload=1))
    assert asked_for == []


# -- time


def test_a_late_answer_fails_once_and_is_accepted_then() -> None:
    interrupts = opened(interrupt(expiresAt="2027-01-15T08:00:00Z"))
    late = parse_time("2027-01-15T08:00:00Z")
    assert late is not None
    result = resume(interrupts, yes(), now=late)
    assert result.error == ("INTERRUPT_EXPIRED", "'q' expired at 2027-01-15T08:00:00Z")
    assert resume(interrupts, yes(), now=late) == ResumeResult(is_repeat=True)


def test_an_answer_at_the_last_moment_counts() -> None:
    interrupts = opened(interrupt(expiresAt="2027-01-15T08:00:00Z"))
    assert resume(interrupts, yes(), now=(parse_time("2027-01-15T08:00:00Z") or 0) - 0.001).error is None


def test_giving_up_what_has_expired_is_accepted_at_once() -> None:
    interrupts = opened(interrupt(expiresAt="2020-01-01T00:00:00Z"))
    assert resume(interrupts, no()) == ResumeResult(is_repeat=True)


def test_what_has_expired_is_not_in_the_way_of_a_new_run() -> None:
    interrupts = opened(interrupt(expiresAt="2020-01-01T00:00:00Z"))
    assert resume(interrupts) == ResumeResult()


def test_a_turn_cannot_go_on_with_half_of_its_answers() -> None:
    interrupts = opened(interrupt("a", expiresAt="2020-01-01T00:00:00Z"), interrupt("b"))
    assert resume(interrupts, no("a"), no("b")) == ResumeResult(is_repeat=True)
    interrupts = opened(interrupt("a", expiresAt="2020-01-01T00:00:00Z"), interrupt("b"), parked=False)
    assert resume(interrupts, no("a"), yes("b")).answers == {"b": yes("b")}, "nothing waits: a new turn can"


def test_the_next_expiry_is_the_first() -> None:
    assert opened().next_expiry() is None
    interrupts = opened(
        interrupt("a", expiresAt="2030-01-01T00:00:00Z"), interrupt("b", expiresAt="2029-01-01T00:00:00Z")
    )
    assert interrupts.next_expiry() == parse_time("2029-01-01T00:00:00Z")


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


def test_a_question_sends_all_that_it_has_and_nothing_else() -> None:
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
    interrupts = opened()
    assert resume(interrupts, yes(payload=[1])).answers
    for _ in range(3):
        assert resume(interrupts, yes(payload=[1]), has_parked_turn=False) == ResumeResult(is_repeat=True)


def test_another_answer_fails_once_and_the_first_one_stands() -> None:
    interrupts = opened()
    resume(interrupts, yes(payload=1))
    assert code(resume(interrupts, no())) == "INTERRUPT_ANSWERED"
    assert resume(interrupts, no()) == ResumeResult(is_repeat=True)
    assert resume(interrupts, yes(payload=1)) == ResumeResult(is_repeat=True)


def test_an_answer_to_nothing_fails_once_and_is_accepted_then() -> None:
    interrupts = Interrupts()
    assert resume(interrupts, yes("unknown")).error == (
        "INTERRUPT_UNKNOWN",
        "there is no interrupt 'unknown' on this thread",
    )
    assert resume(interrupts, yes("unknown")) == ResumeResult(is_repeat=True)


def test_an_unknown_id_beside_an_open_question_does_not_swallow_the_answer() -> None:
    interrupts = opened()
    assert code(resume(interrupts, yes(), yes("unknown"))) == "INTERRUPT_UNKNOWN"
    assert resume(interrupts, yes(), yes("unknown")).answers == {"q": yes()}


def test_an_id_that_was_unknown_may_be_asked_later() -> None:
    interrupts = Interrupts()
    resume(interrupts, yes("q"))
    interrupts.add([interrupt("q")], "run-2", parked=True)
    assert resume(interrupts, yes("q")).answers == {"q": yes("q")}


def test_a_retry_beside_a_new_question_answers_only_the_new_one() -> None:
    interrupts = opened(interrupt("a"))
    resume(interrupts, yes("a"))
    interrupts.add([interrupt("b")], "run-2", parked=True)
    assert resume(interrupts, yes("a")) == ResumeResult(is_repeat=True), "the client did not see the new one yet"
    assert open_ids(interrupts) == ["b"]
    assert resume(interrupts, yes("a"), yes("b")).answers == {"b": yes("b")}


# -- turns that are gone


def test_an_answer_to_a_lost_turn_fails_once_and_is_accepted_then() -> None:
    interrupts = opened()
    assert code(resume(interrupts, yes(), has_parked_turn=False)) == "TURN_LOST"
    assert resume(interrupts, yes(), has_parked_turn=False) == ResumeResult(is_repeat=True)
    assert resume(interrupts, no(), has_parked_turn=False) == ResumeResult(is_repeat=True)
    assert resume(interrupts) == ResumeResult(), "the thread is free"


def test_everything_that_is_wrong_is_reported_in_one_refusal() -> None:
    interrupts = opened(interrupt("a"), interrupt("b"))
    assert code(resume(interrupts, yes("a"), yes("b"), yes("unknown"), has_parked_turn=False)) == "TURN_LOST"
    assert resume(interrupts, yes("a"), yes("b"), yes("unknown"), has_parked_turn=False) == ResumeResult(is_repeat=True)


def test_a_question_for_a_new_turn_is_never_lost() -> None:
    assert resume(opened(parked=False), yes(), has_parked_turn=False).answers == {"q": yes()}


def test_a_turn_that_was_stopped_has_its_questions_answered_as_cancelled() -> None:
    interrupts = opened(interrupt("a"), interrupt("b"))
    assert interrupts.cancel_open() == ["a", "b"]
    assert resume(interrupts, no("a"), no("b"), has_parked_turn=False) == ResumeResult(is_repeat=True)
    assert code(resume(interrupts, yes("a"), no("b"), has_parked_turn=False)) == "INTERRUPT_ANSWERED"


def test_a_turn_that_expired_takes_all_its_questions_along() -> None:
    interrupts = opened(interrupt("a"), interrupt("b"))
    assert interrupts.expire_open() == ["a", "b"]
    assert interrupts.expire_open() == []
    assert resume(interrupts) == ResumeResult()


# -- the interrupts


def test_the_interrupts_survive_the_store() -> None:
    interrupts = opened(interrupt("a", metadata={"k": [None, 1.5, "ü"]}), interrupt("b"))
    resume(interrupts, yes("a"), yes("unknown"))
    again = Interrupts.loads(interrupts.dumps())
    assert [entry.interrupt for entry in again.open()] == [entry.interrupt for entry in interrupts.open()]


def test_closed_questions_are_forgotten_in_time_and_open_ones_never() -> None:
    interrupts = opened(interrupt("first"), parked=False)
    for number in range(MAX_CLOSED_ENTRIES + 50):
        resume(interrupts, yes(f"unknown-{number}"))
    kept = Interrupts.loads(interrupts.dumps())
    assert open_ids(kept) == ["first"]
    assert code(resume(kept, yes("first"), yes("unknown-50"))) is None, "the newest are remembered"
    assert code(resume(kept, yes("first"), yes("unknown-49"))) == "INTERRUPT_UNKNOWN"


@pytest.mark.parametrize(
    ("payload", "decision"),
    [
        ({"approved": False}, "denied"),
        ({"approved": True}, "approved"),
        ({"optionId": "no"}, "denied"),
        (None, "denied"),
    ],
)
def test_a_thread_states_how_the_user_decided_about_a_call(payload: Any, decision: str) -> None:
    options = {"agent": {"options": [{"optionId": "no", "kind": "reject_once"}]}}
    asked = {"id": "q", "reason": "tool_call", "toolCallId": "call", "metadata": options}
    interrupts = Interrupts()
    interrupts.add([asked, {"id": "form", "reason": "input_required", "toolCallId": "other"}], "run", parked=True)
    resume(interrupts, Answer("q", "resolved", payload), Answer("form", "resolved", {}))
    stored = Interrupts.loads(interrupts.dumps())
    assert list_decisions(stored) == [{"toolCallId": "call", "decision": decision}]
