"""No thread is ever locked: a client that can only repeat itself is accepted at the latest on the second try."""

from __future__ import annotations

from dataclasses import dataclass, field
from itertools import count
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gateway.runs.interrupts import Interrupts, ResumeResult
from gateway.turn import Answer
from tests.agui.streams import steady

START = 1_800_000_000.0
SCHEMAS = st.sampled_from(({"type": "boolean"}, {"type": 5}, None))
PAYLOADS: st.SearchStrategy[Any] = st.sampled_from((True, False, "text", None))

DEEDS = st.lists(
    st.one_of(
        st.tuples(st.just("ask"), st.lists(st.tuples(SCHEMAS, st.sampled_from((None, 5, 50))), min_size=1, max_size=3)),
        st.tuples(st.just("ask stateless"), st.lists(st.tuples(SCHEMAS, st.just(None)), min_size=1, max_size=2)),
        st.tuples(st.just("resume"), st.lists(st.tuples(st.booleans(), PAYLOADS), min_size=4, max_size=4)),
        st.tuples(st.just("strangers"), st.integers(1, 3)),
        st.tuples(st.just("wait"), st.sampled_from((1, 10, 100))),
        st.tuples(st.sampled_from(("restart", "stop", "miss")), st.none()),
    ),
    max_size=14,
)


@dataclass
class Client:
    """The official one: it holds what the last interrupt asked until a run finishes otherwise, whatever fails."""

    pending: list[str] = field(default_factory=list)
    strangers: list[str] = field(default_factory=list)
    """Ids that the gateway does not know (any more)."""

    def answers(self, given: list[tuple[bool, Any]]) -> list[Answer]:
        names = [*self.pending, *self.strangers]
        return [
            Answer(name, "resolved", payload) if resolved else Answer(name, "cancelled")
            for name, (resolved, payload) in zip(names, given * len(names), strict=False)
        ]


class Thread:
    """What the engine does with its interrupts, without the engine."""

    def __init__(self) -> None:
        self.interrupts, self.client = Interrupts(), Client()
        self.now, self.waits, self.names = START, False, count()

    def ask(self, questions: list[tuple[Any, int | None]], *, parked: bool) -> None:
        opened = [self.interrupt(schema, seconds) for schema, seconds in questions]
        self.interrupts.add(opened, f"run-{next(self.names)}", parked=parked)
        self.waits = parked
        self.client.pending = [interrupt["id"] for interrupt in opened]

    def interrupt(self, schema: Any, seconds: int | None) -> dict[str, Any]:
        found: dict[str, Any] = {"id": f"q-{next(self.names)}", "reason": "why"}
        if schema is not None:
            found["responseSchema"] = schema
        if seconds is not None:
            minutes, second = divmod(int(self.now - START) + seconds, 60)
            found["expiresAt"] = f"2027-01-15T{8 + minutes // 60:02}:{minutes % 60:02}:{second:02}Z"
        return found

    def resume(self, answers: list[Answer]) -> ResumeResult:
        self.interrupts = Interrupts.loads(self.interrupts.dumps())
        result = self.interrupts.apply_resume(answers, self.now, has_parked_turn=self.waits)
        assert self.waits or not result.continues_turn, "the answer would go to a turn that is gone"
        if result.error is None:
            self.waits = self.waits and not result.continues_turn
            self.client.pending = [entry.id for entry in self.interrupts.open()]  # repeated, or finished
            self.client.strangers.clear()
        return result

    def free(self) -> bool:
        """Would the thread take an ordinary run, or an answer that it asks for?"""
        return self.interrupts.apply_resume((), self.now, has_parked_turn=self.waits).error is None or bool(
            self.interrupts.open()
        )


def do(thread: Thread, deed: str, given: Any) -> None:
    match deed:
        case "ask" | "ask stateless" if not thread.client.pending and not thread.interrupts.open():
            thread.ask(given, parked=deed == "ask")
        case "resume" if thread.client.pending or thread.client.strangers:
            repeat(thread, thread.client.answers(given))
        case "strangers":
            thread.client.strangers += [f"stranger-{next(thread.names)}" for _ in range(given)]
        case "wait":
            thread.now += given
        case "restart":
            thread.waits = False
        case "stop" if thread.waits:
            thread.interrupts.cancel_open()
            thread.waits = False
        case "miss":  # the answer was taken, and the connection broke before the client received it
            before = list(thread.client.pending)
            thread.resume([Answer(name, "cancelled") for name in before])
            thread.client.pending = before


def repeat(thread: Thread, answers: list[Answer]) -> None:
    first = thread.resume(answers)
    if first.error is None:
        return
    second = thread.resume(answers)
    if second.error is None:
        return
    # Only what the client can correct is refused for as long as it does not: an answer against the question's schema.
    assert second.error[0] == "RESUME_INVALID"
    assert thread.resume([Answer(answer.interrupt_id, "cancelled") for answer in answers]).error is None


@steady
@given(DEEDS)
def test_a_client_that_repeats_itself_is_accepted_at_the_latest_on_the_second_try(deeds: list[tuple[str, Any]]) -> None:
    thread = Thread()
    for deed, given_ in deeds:
        do(thread, deed, given_)
    repeat(thread, thread.client.answers([(True, "text")]) or [Answer("unknown", "resolved")])
    assert thread.free()
