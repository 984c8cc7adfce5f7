"""`copilot --output-format json`: one turn in one process, a session event on every line, a `result` at the end.

In: lines of stdout; the prompt goes to stdin. Nothing can be asked in this mode: a call that needs approval fails, and
the turn goes on. Nor are tokens told. The exit code says no more than the lines do, and less when a signal ended it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gateway.events import Custom, Event, TurnFailed
from gateway.wire.dialects.base import Dialect, Prompt, SessionStart, parse_message
from gateway.wire.dialects.copilot.errors import code_of
from gateway.wire.dialects.copilot.session_events import Story
from gateway.wire.fields import non_empty, obj

WORDS_CHARS = 1_000


class CopilotPrintDialect(Dialect):
    name = "copilot-print"

    def __init__(self) -> None:
        super().__init__()
        self._story = Story(self.qualify_id, self.session_layer, self.handshake_layer)

    def start_session(self, begin: SessionStart) -> None:
        super().start_session(begin)
        self.session_id = begin.session_id or self.session_id

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        self._story.begin()
        self.outbox.append(prompt.text.encode())

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        found: list[Event] = []
        for message in messages:
            event = parse_message(message)
            if type(event) is not dict or type(kind := event.get("type")) is not str:
                found.append(self.to_raw(message.decode("utf-8", "replace")))
            elif kind == "result" and "data" not in event:
                found += self._over(event)
            else:
                told = self._story.read(kind, event)
                found += [self.to_raw(event)] if told is None else told
        return found

    def on_process_exit(self, exit_code: int | None, stderr: str) -> list[Event]:
        """Without a `result`: it was stopped, or never got so far."""
        self.is_ready = False
        if not self.is_busy:
            return []
        if self.is_cancelled:
            return self.end_turn()
        self.is_busy = False
        if self._story.error is not None:
            return [self._story.error]
        words = stderr.strip()[-WORDS_CHARS:]
        if not words:
            return [TurnFailed(f"the agent ended with exit code {exit_code} before its result", "AGENT_DIED")]
        return [TurnFailed(words, code_of(words, "AGENT_ERROR" if exit_code else "AGENT_DIED"))]

    def _over(self, event: dict[str, Any]) -> list[Event]:
        if not self.is_busy:
            return []
        self.session_id = non_empty(event.get("sessionId")) or self.session_id
        found = _spent(obj(event.get("usage")))
        code, error = event.get("exitCode"), self._story.error
        if not self.is_cancelled and (error is not None or code not in (0, None)):
            self.is_busy = False
            return [*found, error or TurnFailed(f"the agent ended with exit code {code}")]
        return found + self.end_turn()


def _spent(usage: dict[str, Any]) -> list[Event]:
    """Premium requests, and what was changed: this mode has no word on tokens."""
    paid, changes = usage.get("premiumRequests"), obj(usage.get("codeChanges"))
    found: list[Event] = []
    if isinstance(paid, int | float) and not isinstance(paid, bool) and paid > 0:
        found.append(Custom("cost", {"premiumRequests": paid}))
    files = changes.get("filesModified")
    if isinstance(files, list) and files:
        found.append(Custom("copilot.code_changes", changes))
    return found
