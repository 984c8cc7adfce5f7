"""The questions of one thread: which are open, which were answered and how, and what a `resume` means for them.

Pure: `Interrupts` is read from and written to the store by others; the clock is an argument. The contract is AG-UI's: a
resume covers every open question; the same answer twice is one answer; a resume that cannot be honoured fails *once*
and is accepted when the client, which can only repeat itself, sends it again. So no thread is ever locked.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any, Literal

from jsonschema import Draft202012Validator, validators
from jsonschema.exceptions import ValidationError

from gateway.events import ClientToolCall, Interrupt
from gateway.jsonio import dumps, loads
from gateway.turn import Answer

log = logging.getLogger(__name__)

State = Literal["open", "answered", "expired", "lost", "unknown"]

KNOWN = validators.SPECIFICATIONS  # type: ignore[attr-defined] # the stubs leave it out
"""What a schema may refer to beside itself. The registry that is the default would fetch it from the network."""

LONGEST = 10 * 365 * 86400.0
"""No question waits longer, whatever the settings say: a date has to come of it."""

CLOSED_KEPT = 200
"""Closed questions remembered per thread, so that a late retry is still understood."""


@dataclass(slots=True)
class InterruptEntry:
    """One question. `interrupt` is AG-UI's object, as the client was shown it."""

    id: str
    state: State
    interrupt: dict[str, Any] = field(default_factory=dict)
    run_id: str = ""
    expires: float | None = None
    parked: bool = True
    """The turn waits for the answer; False: the agent wants it as a new turn."""
    answer: dict[str, Any] | None = None
    complained: bool = False
    """The client was told once that its answer cannot be used."""


@dataclass(frozen=True, slots=True)
class ResumeResult:
    """What a run may do. Exactly one of: `error` is set; `answers` are to be given; `again` (all was answered before);
    `waits` (for results of the client's own tools); `given_up`; or none of these, an ordinary run."""

    answers: dict[str, Answer] = field(default_factory=dict)
    parked: bool = False
    again: bool = False
    error: tuple[str, str] | None = None
    """(code, sentence)"""
    waits: tuple[ClientToolCall, ...] = ()
    """Calls of the client's own tools that have no result yet."""
    given_up: bool = False
    """An ordinary run, but the turn that waited for such calls ends first: the user goes on without them."""


class Interrupts:
    def __init__(
        self, entries: Iterable[InterruptEntry] = (), session: str | None = None, title: str | None = None
    ) -> None:
        self.session = session
        """The agent's own id of the session that asks, to come back to."""
        self.title = title
        """What the conversation began with: so nobody reads all of it to name it in a list."""
        self._entries = {entry.id: entry for entry in entries}

    @classmethod
    def loads(cls, data: bytes, session: str | None = None) -> Interrupts:
        kept = loads(data)
        return cls((InterruptEntry(**entry) for entry in kept["entries"]), session, kept.get("title"))

    def dumps(self) -> bytes:
        closed = [entry for entry in self._entries.values() if entry.state != "open"][-CLOSED_KEPT:]
        keep = {entry.id for entry in closed} | {entry.id for entry in self.open()}
        entries = [entry for entry in self._entries.values() if entry.id in keep]
        told = [{name: getattr(entry, name) for name in InterruptEntry.__slots__} for entry in entries]
        return dumps({"entries": told} if self.title is None else {"entries": told, "title": self.title})

    def open(self) -> list[InterruptEntry]:
        return [entry for entry in self._entries.values() if entry.state == "open"]

    def next_expiry(self) -> float | None:
        return min((entry.expires for entry in self.open() if entry.expires is not None), default=None)

    def ask(self, interrupts: Sequence[dict[str, Any]], run_id: str, *, parked: bool) -> None:
        for interrupt in interrupts:
            expires = parse_time(interrupt.get("expiresAt"))
            self._entries.pop(interrupt["id"], None)
            self._entries[interrupt["id"]] = InterruptEntry(interrupt["id"], "open", interrupt, run_id, expires, parked)

    def expire_open(self) -> list[str]:
        """The turn that asked cannot go on with half of its answers: one late question ends them all. Their names."""
        late = self.open()
        for entry in late:
            entry.state = "expired"
        return [entry.id for entry in late]

    def cancel_open(self) -> list[str]:
        """Somebody stopped the turn that asked. The names of its questions."""
        given_up = [entry.id for entry in self.open()]
        self._note([Answer(name, "cancelled") for name in given_up])
        return given_up

    def expire(self, now: float) -> bool:
        """Closes what is over time, and what a turn asked with it; True if anything was."""
        late = [entry for entry in self.open() if entry.expires is not None and entry.expires <= now]
        turns = {entry.run_id for entry in late if entry.parked}
        late += [entry for entry in self.open() if entry.parked and entry.run_id in turns]
        for entry in late:
            entry.state = "expired"
        return bool(late)

    def settle(self, answers: Sequence[Answer], now: float, *, turn_waits: bool) -> ResumeResult:
        """Holds a resume against the book and notes the outcome in it. `turn_waits`: the parked turn is still there."""
        self.expire(now)
        if not answers:
            return self._without_resume()
        if not turn_waits:
            self._lose_turns()  # first, so that whatever is wrong with a resume is told at once, and only once
        if late := self._complaint(answers):
            return ResumeResult(error=late)
        still_open = {entry.id for entry in self.open()}
        given = {answer.interrupt_id: answer for answer in answers if answer.interrupt_id in still_open}
        if not given:
            return ResumeResult(again=True)
        if missing := still_open - given.keys():
            return ResumeResult(error=("RESUME_INCOMPLETE", f"open interrupts without an answer: {_names(missing)}"))
        for answer in given.values():
            if wrong := self._against_schema(answer):
                return ResumeResult(error=("RESUME_INVALID", wrong))
        self._note(given.values())
        return ResumeResult(answers=given, parked=any(self._entries[name].parked for name in given))

    def _lose_turns(self) -> None:
        for entry in self.open():
            if entry.parked:
                entry.state = "lost"

    def _without_resume(self) -> ResumeResult:
        if waiting := self.open():
            names, run = _names(entry.id for entry in waiting), waiting[0].run_id
            way_out = f"send it as `resume`, or give up the question with POST /runs/{run}/cancel"
            return ResumeResult(error=("INTERRUPT_OPEN", f"the thread waits for an answer to {names}: {way_out}"))
        return ResumeResult()

    def _complaint(self, answers: Sequence[Answer]) -> tuple[str, str] | None:
        """The first answer that cannot be used and was not complained of before; all of them are noted."""
        found: list[tuple[str, str]] = []
        for answer in answers:
            entry = self._entries.get(answer.interrupt_id)
            if entry is None:
                entry = self._entries[answer.interrupt_id] = InterruptEntry(answer.interrupt_id, "unknown")
            if entry.state != "open" and not entry.complained and (reason := _useless(entry, answer)):
                entry.complained = True
                found.append(reason)
        return found[0] if found else None

    def _against_schema(self, answer: Answer) -> str | None:
        schema = self._entries[answer.interrupt_id].interrupt.get("responseSchema")
        if answer.status != "resolved" or schema is None:
            return None
        try:
            Draft202012Validator(schema, registry=KNOWN).validate(answer.payload)
        except ValidationError as exc:
            where = "".join(f"/{part}" for part in exc.absolute_path)
            return f"the answer to {answer.interrupt_id!r} breaks its responseSchema: payload{where}: {exc.message}"
        except Exception as exc:  # of whatever kind: a schema that is none must not lock the thread
            log.warning("the responseSchema of %r is none: %s: %s", answer.interrupt_id, type(exc).__name__, exc)
        return None

    def _note(self, answers: Iterable[Answer]) -> None:
        for answer in answers:
            entry = self._entries[answer.interrupt_id]
            entry.state, entry.answer, entry.complained = "answered", _record(answer), False


def _record(answer: Answer) -> dict[str, Any]:
    return {"status": answer.status, "payload": answer.payload}


def _useless(entry: InterruptEntry, answer: Answer) -> tuple[str, str] | None:
    match entry.state:
        case "answered" if entry.answer == _record(answer):
            return None
        case "answered":
            return "INTERRUPT_ANSWERED", f"{entry.id!r} was answered before, with another answer; that one stands"
        case "expired" if answer.status == "cancelled":
            return None
        case "expired":
            return "INTERRUPT_EXPIRED", f"{entry.id!r} expired at {entry.interrupt.get('expiresAt')}"
        case "lost":
            return "TURN_LOST", f"the turn that asked {entry.id!r} is over (the gateway was restarted); ask anew"
        case _:
            return "INTERRUPT_UNKNOWN", f"there is no interrupt {entry.id!r} on this thread"


def _names(ids: Iterable[str]) -> str:
    return ", ".join(repr(name) for name in sorted(ids))


def parse_time(text: str | None) -> float | None:
    """ISO 8601 → seconds since the epoch; None for what is not a time."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except ValueError:
        return None


def to_interrupt(question: Interrupt, now: float, ttl: float) -> dict[str, Any]:
    """AG-UI's object for a question."""
    # In this order, for an agent may say NaN, and no comparison with that holds.
    seconds = max(0.0, min(ttl, LONGEST, LONGEST if question.expires_in is None else question.expires_in))
    expires = datetime.fromtimestamp(now + seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    fields = {
        "id": question.id,
        "reason": question.reason,
        "message": question.message,
        "toolCallId": question.tool_call_id,
        "responseSchema": question.response_schema,
        "expiresAt": expires,
        "metadata": question.metadata,
        "subagentRunId": question.subagent,
    }
    return {key: value for key, value in fields.items() if value is not None}
