"""`opencode run --format json`: one turn, a line for every part when it is finished. Nothing streams, nobody is asked.

In: `{"type", "timestamp", "sessionID", "part" | "error"}`. There is no line for the end: the process ends, and its exit
code says only whether there was a line of an error.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gateway.events import Custom, Event, TurnFailed
from gateway.wire.acp.errors import SESSION_NOT_RESUMED
from gateway.wire.dialects.base import Dialect, Prompt, SessionStart, parse_message
from gateway.wire.dialects.opencode.errors import ABORTED, STOPS, broke
from gateway.wire.dialects.opencode.parts import Parts
from gateway.wire.fields import non_empty, obj

PARTS: frozenset[str | None] = frozenset(("step_start", "text", "reasoning", "tool_use", "step_finish"))
REJECTED = "auto-rejecting"
"""stderr: a tool wanted approval, and there is nobody here to give it."""
STDERR_CHARS = 2_000
COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class OpenCodeRun(Dialect):
    name = "opencode-run"

    def __init__(self) -> None:
        super().__init__()
        self._parts = Parts(self.qualify_id)
        self._error: TurnFailed | None = None

    def start_session(self, begin: SessionStart) -> None:
        super().start_session(begin)
        self.session_id = None if begin.fork else begin.session_id

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        self._parts, self._error = Parts(self.qualify_id, model=prompt.model), None
        self.outbox.append(prompt.text.encode())

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        found: list[Event] = []
        for message in messages:
            found += self._line(message)
        return found

    def _line(self, message: bytes) -> list[Event]:
        told = parse_message(message)
        if not isinstance(told, dict):
            return [self.to_raw(message.decode("utf-8", "replace"))]
        self.session_id = non_empty(told.get("sessionID")) or self.session_id
        if told.get("type") == "error":
            error = obj(told.get("error"))
            if error.get("name") != ABORTED and self._error is None:
                self._error = broke(error)
            return []
        known = non_empty(told.get("type")) in PARTS
        found = self._parts.part(obj(told.get("part"))) if known else None
        return [self.to_raw(told)] if found is None else found

    def on_process_exit(self, exit_code: int | None, stderr: str) -> list[Event]:
        self.is_ready = False
        if not self.is_busy:
            return []
        found: list[Event] = [Custom("cost", {"usd": self._parts.cost})] if self._parts.cost else []
        if REJECTED in stderr:
            words = "a tool wanted approval, which nobody can give this way: it was refused, and the turn ended"
            found.append(self.make_warning("APPROVAL_REFUSED", words))
        if self.is_cancelled or (exit_code == 0 and self._error is None):
            return [*found, *self.end_turn(STOPS.get(self._parts.finish or "", "end_turn"))]
        self.is_busy = False
        return [*found, self._error or _died(exit_code, stderr)]


def _died(exit_code: int | None, stderr: str) -> TurnFailed:
    words = COLOUR.sub("", stderr).strip()[-STDERR_CHARS:]
    if SESSION_NOT_RESUMED.search(words):
        return TurnFailed(words, "SESSION_NOT_FOUND")
    return TurnFailed(f"opencode ended with {exit_code}: {words or 'it said nothing'}", "AGENT_DIED")
