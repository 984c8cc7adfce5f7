"""The interrupts of one thread: which are open, which were answered and how, and what a `resume` means for them.

Pure: the clock is an argument, and `Interrupts` is read from and written to the store by `runs.thread_state`. The rules
are AG-UI's (https://docs.ag-ui.com): a resume covers every open interrupt, and the same answer
twice is one answer. A resume that cannot be honoured fails *once*. It is accepted when the client, which can only
repeat itself, sends it again, so that no thread is ever locked.
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
from gateway.runs.thread_settings import ThreadSettings
from gateway.turn import Answer

log = logging.getLogger(__name__)

State = Literal["open", "answered", "expired", "lost", "unknown"]

SCHEMA_REGISTRY = validators.SPECIFICATIONS  # type: ignore[attr-defined] # the stubs leave it out
"""What a schema may refer to beside itself. The default registry would fetch references from the network."""

MAX_WAIT_SECONDS = 10 * 365 * 86400.0
"""No interrupt stays open longer, whatever the settings say: its expiry must be a valid date."""

CAUSES: dict[State, str] = {"expired": "not-answered-in-time", "lost": "gateway-restarted"}
"""State of an interrupt without an answer → why it can be answered no more."""

MAX_CLOSED_ENTRIES = 200
"""Closed interrupts remembered per thread, so that a late retry of the client is still understood."""


@dataclass(slots=True)
class InterruptEntry:
    """One interrupt. The store keeps it under these field names."""

    id: str
    state: State
    interrupt: dict[str, Any] = field(default_factory=dict)
    """AG-UI's object, as the client received it."""
    run_id: str = ""
    expires: float | None = None
    parked: bool = True
    """The agent's turn waits for the answer; False: the agent takes the answer as a new turn."""
    answer: dict[str, Any] | None = None
    complained: bool = False
    """The client was answered once that its answer cannot be used."""


@dataclass(frozen=True, slots=True)
class ResumeResult:
    """What a run may do. At most one of `error`, `answers`, `is_repeat`, `missing_calls` without `abandons_turn`, and
    `abandons_turn` applies; without any of them it is an ordinary run."""

    answers: dict[str, Answer] = field(default_factory=dict)
    """To be passed to the agent."""
    continues_turn: bool = False
    """The answers are for the parked turn, which goes on in this run."""
    is_repeat: bool = False
    """Everything was answered before."""
    error: tuple[str, str] | None = None
    """Code and message."""
    missing_calls: tuple[ClientToolCall, ...] = ()
    """Calls of the client's own tools that have no result yet."""
    abandons_turn: bool = False
    """An ordinary run, but the turn that waited for such calls ends first: the user goes on without them."""


class Interrupts:
    def __init__(
        self,
        entries: Iterable[InterruptEntry] = (),
        session: str | None = None,
        title: str | None = None,
        settings: ThreadSettings | None = None,
    ) -> None:
        self.session = session
        """The agent's own id of the thread's session, to resume it by."""
        self.title = title
        """The beginning of the conversation: a list of threads shows it without reading the logs."""
        self.settings = settings or ThreadSettings()
        """What is set on the thread."""
        self._entries = {entry.id: entry for entry in entries}

    @classmethod
    def loads(cls, data: bytes, session: str | None = None) -> Interrupts:
        stored = loads(data)
        entries = (InterruptEntry(**entry) for entry in stored["entries"])
        return cls(entries, session, stored.get("title"), ThreadSettings.from_json(stored.get("settings", {})))

    def dumps(self) -> bytes:
        closed = [entry for entry in self._entries.values() if entry.state != "open"][-MAX_CLOSED_ENTRIES:]
        kept_ids = {entry.id for entry in closed} | {entry.id for entry in self.open()}
        entries = [
            {name: getattr(entry, name) for name in InterruptEntry.__slots__}
            for entry in self._entries.values()
            if entry.id in kept_ids
        ]
        stored: dict[str, Any] = {"entries": entries}
        if self.title is not None:
            stored["title"] = self.title
        if settings := self.settings.to_json():
            stored["settings"] = settings
        return dumps(stored)

    def set_session(self, session_id: str | None) -> bool:
        """True: the thread's session has another id now."""
        is_new = self.session != session_id
        self.session = session_id
        return is_new

    def set_settings(self, settings: ThreadSettings) -> bool:
        """True: something else is set or known now."""
        is_new = self.settings != settings
        self.settings = settings
        return is_new

    def set_title(self, title: str | None) -> None:
        """The first title stays."""
        self.title = self.title or title

    def open(self) -> list[InterruptEntry]:
        return [entry for entry in self._entries.values() if entry.state == "open"]

    def find(self, interrupt_id: str) -> InterruptEntry | None:
        """The interrupt as the client received it; None: there is none."""
        entry = self._entries.get(interrupt_id)
        return None if entry is None or not entry.interrupt else entry

    def unanswered(self, run_id: str) -> list[dict[str, Any]]:
        """What a run asked and no user answered: AG-UI's objects, each with the cause of its end."""
        entries = [entry for entry in self._entries.values() if entry.run_id == run_id and entry.interrupt]
        return [{**entry.interrupt, "cause": CAUSES[entry.state]} for entry in entries if entry.state in CAUSES]

    def answered(self) -> list[InterruptEntry]:
        return [entry for entry in self._entries.values() if entry.state == "answered" and entry.interrupt]

    def next_expiry(self) -> float | None:
        return min((entry.expires for entry in self.open() if entry.expires is not None), default=None)

    def add(self, interrupts: Sequence[dict[str, Any]], run_id: str, *, parked: bool) -> None:
        for interrupt in interrupts:
            expires = parse_time(interrupt.get("expiresAt"))
            self._entries.pop(interrupt["id"], None)
            self._entries[interrupt["id"]] = InterruptEntry(interrupt["id"], "open", interrupt, run_id, expires, parked)

    def expire_open(self) -> list[str]:
        """The parked turn cannot go on with half of its answers: one expired interrupt expires them all. Returns their
        ids."""
        entries = self.open()
        for entry in entries:
            entry.state = "expired"
        return [entry.id for entry in entries]

    def cancel_open(self) -> list[str]:
        """The parked turn was stopped. Returns the ids of its interrupts."""
        ids = [entry.id for entry in self.open()]
        self._record_answers([Answer(interrupt_id, "cancelled") for interrupt_id in ids])
        return ids

    def expire(self, now: float) -> bool:
        """Closes what has expired, together with the other interrupts of the same turn. True: something was closed."""
        expired = [entry for entry in self.open() if entry.expires is not None and entry.expires <= now]
        turns = {entry.run_id for entry in expired if entry.parked}
        expired += [entry for entry in self.open() if entry.parked and entry.run_id in turns]
        for entry in expired:
            entry.state = "expired"
        return bool(expired)

    def apply_resume(self, answers: Sequence[Answer], now: float, *, has_parked_turn: bool) -> ResumeResult:
        """Checks a resume against the interrupts and records the outcome."""
        self.expire(now)
        if not has_parked_turn:
            self.lose_turns()  # first, so that everything wrong with a resume is reported at once, and only once
        if not answers:
            return self._without_resume()
        if error := self._find_error(answers):
            return ResumeResult(error=error)
        open_ids = {entry.id for entry in self.open()}
        usable = {answer.interrupt_id: answer for answer in answers if answer.interrupt_id in open_ids}
        if not usable:
            return ResumeResult(is_repeat=True)
        if missing := open_ids - usable.keys():
            return ResumeResult(error=("RESUME_INCOMPLETE", f"open interrupts without an answer: {_join_ids(missing)}"))
        for answer in usable.values():
            if problem := self._check_schema(answer):
                return ResumeResult(error=("RESUME_INVALID", problem))
        self._record_answers(usable.values())
        return ResumeResult(answers=usable, continues_turn=any(self._entries[name].parked for name in usable))

    def lose_turns(self) -> None:
        """The turns that asked are gone: what they asked can be answered no more. The thread goes on without it."""
        for entry in self.open():
            if entry.parked:
                entry.state = "lost"

    def _without_resume(self) -> ResumeResult:
        if entries := self.open():
            ids = _join_ids(entry.id for entry in entries)
            advice = f"send it as `resume`, or cancel the interrupt with POST /runs/{entries[0].run_id}/cancel"
            return ResumeResult(error=("INTERRUPT_OPEN", f"the thread waits for an answer to {ids}: {advice}"))
        return ResumeResult()

    def _find_error(self, answers: Sequence[Answer]) -> tuple[str, str] | None:
        """The first answer that cannot be used and was not reported before. All of them count as reported now."""
        errors: list[tuple[str, str]] = []
        for answer in answers:
            entry = self._entries.get(answer.interrupt_id)
            if entry is None:
                entry = self._entries[answer.interrupt_id] = InterruptEntry(answer.interrupt_id, "unknown")
            if entry.state != "open" and not entry.complained and (error := _answer_error(entry, answer)):
                entry.complained = True
                errors.append(error)
        return errors[0] if errors else None

    def _check_schema(self, answer: Answer) -> str | None:
        schema = self._entries[answer.interrupt_id].interrupt.get("responseSchema")
        if answer.status != "resolved" or schema is None:
            return None
        try:
            Draft202012Validator(schema, registry=SCHEMA_REGISTRY).validate(answer.payload)
        except ValidationError as exc:
            path = "".join(f"/{part}" for part in exc.absolute_path)
            return f"the answer to {answer.interrupt_id!r} breaks its responseSchema: payload{path}: {exc.message}"
        except Exception as exc:  # of any kind: an invalid schema must not lock the thread
            log.warning("the responseSchema of %r is invalid: %s: %s", answer.interrupt_id, type(exc).__name__, exc)
        return None

    def _record_answers(self, answers: Iterable[Answer]) -> None:
        for answer in answers:
            entry = self._entries[answer.interrupt_id]
            entry.state = "answered"
            entry.answer = _to_record(answer)
            entry.complained = False


def _to_record(answer: Answer) -> dict[str, Any]:
    return {"status": answer.status, "payload": answer.payload}


def _answer_error(entry: InterruptEntry, answer: Answer) -> tuple[str, str] | None:
    match entry.state:
        case "answered" if entry.answer == _to_record(answer):
            return None
        case "answered":
            return "INTERRUPT_ANSWERED", f"{entry.id!r} was answered before, with another answer; that one stands"
        case "expired" if answer.status == "cancelled":
            return None
        case "expired":
            return "INTERRUPT_EXPIRED", f"{entry.id!r} expired at {entry.interrupt.get('expiresAt')}"
        case "lost":
            return "TURN_LOST", (
                f"the turn that asked {entry.id!r} ended with the gateway, which was restarted: send a message to go "
                "on, and the agent asks again if it still has to"
            )
        case _:
            return "INTERRUPT_UNKNOWN", f"there is no interrupt {entry.id!r} on this thread"


def _join_ids(ids: Iterable[str]) -> str:
    return ", ".join(repr(interrupt_id) for interrupt_id in sorted(ids))


def parse_time(text: str | None) -> float | None:
    """ISO 8601 → seconds since the epoch; None for text that is not a time."""
    if not text:
        return None
    try:
        moment = datetime.fromisoformat(text)
        return (moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp()
    except ValueError:
        return None


def to_interrupt(interrupt: Interrupt, now: float, ttl: float) -> dict[str, Any]:
    """AG-UI's object for an agent's interrupt."""
    # In this order: an agent may send NaN, and every comparison with NaN is false.
    bound = MAX_WAIT_SECONDS if interrupt.expires_in is None else interrupt.expires_in
    seconds = max(0.0, min(ttl, MAX_WAIT_SECONDS, bound))
    expires = datetime.fromtimestamp(now + seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
    fields = {
        "id": interrupt.id,
        "reason": interrupt.reason,
        "message": interrupt.message,
        "toolCallId": interrupt.tool_call_id,
        "responseSchema": interrupt.response_schema,
        "expiresAt": expires,
        "metadata": interrupt.metadata,
        "subagentRunId": interrupt.subagent,
    }
    return {key: value for key, value in fields.items() if value is not None}
