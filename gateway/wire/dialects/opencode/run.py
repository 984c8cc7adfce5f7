"""`opencode run --format json`: one turn in one process, one line for each finished part, no streaming, no questions.

In: `{"type", "timestamp", "sessionID", "part" | "error"}`. Out: events; the prompt goes to stdin. No line marks the end
of the turn: the process exits, and its exit code only says whether there was an error line.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from gateway.events import Custom, Event, TurnFailed
from gateway.wire.acp.errors import SESSION_NOT_RESUMED
from gateway.wire.dialects.base import Dialect, Prompt, SessionStart, parse_message
from gateway.wire.dialects.opencode.errors import ABORTED, STOP_REASONS, to_turn_failed
from gateway.wire.dialects.opencode.parts import MessageParts
from gateway.wire.fields import non_empty, obj

PART_LINES: frozenset[str | None] = frozenset(("step_start", "text", "reasoning", "tool_use", "step_finish"))
AUTO_REJECTION = "auto-rejecting"
"""On stderr: a tool needed an approval, which this mode cannot ask for."""
MAX_STDERR_CHARS = 2_000
ANSI_COLOUR = re.compile(r"\x1b\[[0-9;]*m")


class OpenCodeRun(Dialect):
    name = "opencode-run"

    def __init__(self) -> None:
        super().__init__()
        self._parts = MessageParts(self.qualify_id)
        self._failure: TurnFailed | None = None

    def start_session(self, start: SessionStart) -> None:
        super().start_session(start)
        self.session_id = None if start.fork else start.session_id

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        self._parts = MessageParts(self.qualify_id, model=prompt.model)
        self._failure = None
        self.send_text(prompt.text)

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        return [event for message in messages for event in self._read_line(message)]

    def _read_line(self, message: bytes) -> list[Event]:
        line = parse_message(message)
        if not isinstance(line, dict):
            return [self.to_raw(message.decode("utf-8", "replace"))]
        self.session_id = non_empty(line.get("sessionID")) or self.session_id
        kind = non_empty(line.get("type"))
        if kind == "error":
            error = obj(line.get("error"))
            if error.get("name") != ABORTED and self._failure is None:
                self._failure = to_turn_failed(error)
            return []
        events = self._parts.read_part(obj(line.get("part"))) if kind in PART_LINES else None
        return [self.to_raw(line)] if events is None else events

    def on_process_exit(self, exit_code: int | None, stderr: str) -> list[Event]:
        self.is_ready = False
        if not self.is_busy:
            return []
        events: list[Event] = [Custom("cost", {"usd": self._parts.cost})] if self._parts.cost else []
        if AUTO_REJECTION in stderr:
            message = "a tool needed approval, which this mode cannot ask for: it was refused, and the turn ended"
            events.append(self.make_warning("APPROVAL_REFUSED", message))
        if self.is_cancelled or (exit_code == 0 and self._failure is None):
            return [*events, *self.end_turn(STOP_REASONS.get(self._parts.finish_reason or "", "end_turn"))]
        return [*events, *self.fail_turn(self._failure or _to_turn_failed(exit_code, stderr))]


def _to_turn_failed(exit_code: int | None, stderr: str) -> TurnFailed:
    message = ANSI_COLOUR.sub("", stderr).strip()[-MAX_STDERR_CHARS:]
    if SESSION_NOT_RESUMED.search(message):
        return TurnFailed(message, "SESSION_NOT_FOUND")
    return TurnFailed(f"opencode ended with {exit_code}: {message or 'no output on stderr'}", "AGENT_DIED")
