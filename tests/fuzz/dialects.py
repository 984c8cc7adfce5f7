"""Targets: every dialect, over all its recordings."""

from __future__ import annotations

from random import Random

from gateway.events import ClientToolsCalled, Event, InterruptRequested, TurnFailed
from gateway.turn import Answer
from gateway.wire.dialects import Dialect
from tests.fuzz.answers import UNCLEAR_PAYLOADS, check_no_yes, is_approval, random_answer
from tests.fuzz.target import Sample, Target, batches, check_writable
from tests.wire.dialects.recordings import all_recordings
from tests.wire.dialects.replay import client_runs

EXIT_CODES = (0, 1, -9, None)


def dialect_targets() -> list[Target]:
    """One for each dialect."""
    samples: dict[str, list[Sample]] = {}
    for name, recording in all_recordings().items():
        dialect, messages = recording()
        samples.setdefault(dialect.name, []).append(Sample(name, tuple(messages), recording))
    return [Target(f"dialect/{name}", known, check_dialect) for name, known in sorted(samples.items())]


def check_dialect(sample: Sample, lines: list[bytes], rng: Random) -> None:
    """The dialect does not raise, and every run is a stream that the official client accepts."""
    dialect, _ = sample.context()
    events = _read_turn(dialect, lines, rng)
    for run in client_runs(events):
        check_writable(run)


def _read_turn(dialect: Dialect, lines: list[bytes], rng: Random) -> list[Event]:
    """All events of the turn. The user answers each interrupt, and now and then cancels or adds a message."""
    dialect.outbox = []
    events: list[Event] = []
    for batch in batches(rng, lines):
        if not dialect.is_busy:
            break
        new_events = dialect.read(batch)
        events += new_events
        for event in new_events:
            _answer(dialect, event, rng)
        dialect.outbox = []
        if rng.random() < 0.02 and dialect.is_busy:
            dialect.cancel()
        elif rng.random() < 0.02 and dialect.is_busy and dialect.can_steer:
            dialect.steer("m1", "another message")
    if dialect.is_busy:
        events += dialect.on_process_exit(rng.choice(EXIT_CODES), "the last lines of stderr")
    if dialect.is_busy:
        events.append(TurnFailed("the agent has exited", "AGENT_DIED"))
    return events


def _answer(dialect: Dialect, event: Event, rng: Random) -> None:
    if isinstance(event, InterruptRequested):
        for interrupt in event.interrupts:
            answer, may_allow = random_answer(rng, interrupt)
            dialect.outbox = []
            dialect.answer(interrupt.id, answer)
            if not may_allow and is_approval(interrupt):
                check_no_yes(dialect.outbox, answer)
    elif isinstance(event, ClientToolsCalled):
        for call in event.calls:
            dialect.answer(call.id, Answer(call.id, "resolved", rng.choice(UNCLEAR_PAYLOADS)))
