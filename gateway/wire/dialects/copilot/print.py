"""`copilot --output-format json`: one turn in one process, a session event on every line, a `result` at the end.

In: lines of stdout. Out: events; the prompt goes to stdin. This mode cannot ask the user: a call that needs approval
fails, and the turn continues. It reports no token counts. The exit code repeats what the lines say, or less if a signal
ended the process.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gateway.events import Custom, Event, TurnFailed
from gateway.wire.dialects.base import Dialect, Prompt, SessionStart, parse_message
from gateway.wire.dialects.copilot.errors import error_code
from gateway.wire.dialects.copilot.session_events import SessionEvents, to_cost
from gateway.wire.fields import non_empty, obj

MAX_STDERR_CHARS = 1_000


class CopilotPrintDialect(Dialect):
    name = "copilot-print"

    def __init__(self) -> None:
        super().__init__()
        self._events = SessionEvents(self.qualify_id, self.session_layer, self.handshake_layer)

    def start_session(self, start: SessionStart) -> None:
        super().start_session(start)
        self.session_id = start.session_id or self.session_id

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        self._events.start_turn()
        self.send_text(prompt.text)

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        events: list[Event] = []
        for message in messages:
            line = parse_message(message)
            if type(line) is not dict or type(kind := line.get("type")) is not str:
                events.append(self.to_raw(message.decode("utf-8", "replace")))
            elif kind == "result" and "data" not in line:
                events += self._read_result(line)
            else:
                read = self._events.read(kind, line)
                events += [self.to_raw(line)] if read is None else read
        return events

    def on_process_exit(self, exit_code: int | None, stderr: str) -> list[Event]:
        """Without a `result` the process was stopped, or failed before it."""
        self.is_ready = False
        if not self.is_busy:
            return []
        if self.is_cancelled:
            return self.end_turn()
        return self.fail_turn(self._events.error or _to_turn_failed(exit_code, stderr))

    def _read_result(self, line: dict[str, Any]) -> list[Event]:
        if not self.is_busy:
            return []
        self.session_id = non_empty(line.get("sessionId")) or self.session_id
        events = _read_usage(obj(line.get("usage")))
        exit_code = line.get("exitCode")
        error = self._events.error
        if not self.is_cancelled and (error is not None or exit_code not in (0, None)):
            failure = error or TurnFailed(f"the agent ended with exit code {exit_code}")
            return [*events, *self.fail_turn(failure)]
        return [*events, *self.end_turn()]


def _to_turn_failed(exit_code: int | None, stderr: str) -> TurnFailed:
    message = stderr.strip()[-MAX_STDERR_CHARS:]
    if not message:
        return TurnFailed(f"the agent ended with exit code {exit_code} before its result", "AGENT_DIED")
    return TurnFailed(message, error_code(message, "AGENT_ERROR" if exit_code else "AGENT_DIED"))


def _read_usage(usage: dict[str, Any]) -> list[Event]:
    """Premium requests and changed files: this mode reports no tokens."""
    changes = obj(usage.get("codeChanges"))
    files = changes.get("filesModified")
    events = to_cost(usage.get("premiumRequests"))
    return [*events, Custom("copilot.code_changes", changes)] if isinstance(files, list) and files else events
