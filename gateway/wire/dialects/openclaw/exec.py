"""`openclaw agent exec --json`: the prompt on stdin, one document on stdout when all is over.

Nothing streams, calls are only counted, and nobody is ever asked: where the user's own configuration says nothing else,
every command is run. So a run that did not say `auto` is refused, and nothing is sent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gateway.events import Custom, Event, TextMessageContent, TextMessageEnd, TurnFailed
from gateway.wire.dialects.base import Dialect, Prompt, SessionStart, parse_message
from gateway.wire.dialects.openclaw.errors import broke
from gateway.wire.dialects.openclaw.usage import spent
from gateway.wire.fields import items, non_empty, obj, text

REFUSED = (
    "OpenClaw's gateway could not be started; often another one owns its state: stop that by `openclaw gateway stop`,"
    " or set OPENCLAW_PROFILE. The one-shot mode that is left asks nobody: it takes runs with `approvals: auto` only"
)


class OpenClawExec(Dialect):
    name = "openclaw-exec"
    _refused = False

    def start_session(self, begin: SessionStart) -> None:
        super().start_session(begin)
        self.has_lost_history = begin.session_id is not None  # every run is a conversation of its own

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        self._refused = prompt.approvals != "auto"
        if not self._refused:
            self.outbox.append(prompt.text.encode())

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        if self._refused:
            return self._refuse()
        return [event for message in messages if self.is_busy for event in self._document(message)]

    def _refuse(self) -> list[Event]:
        refused = self.is_busy and not self.is_cancelled
        self.is_busy = self.is_busy and not refused
        return [TurnFailed(REFUSED, "CAPABILITY_ERROR")] if refused else []

    def _document(self, message: bytes) -> list[Event]:
        told = parse_message(message)
        if not isinstance(told, dict):
            return [self.to_raw(message.decode("utf-8", "replace"))] if message.strip() else []
        if told.get("ok") is not True:
            return self._failed(told)
        found: list[Event] = []
        if words := text(told.get("final")) or _payloads(told):
            found += [TextMessageContent(words), TextMessageEnd()]
        if obj(told.get("toolSummary")).get("calls"):
            found.append(Custom("openclaw.calls", obj(told["toolSummary"])))
        found += spent(told.get("usage"), told.get("provider"), told.get("model"), told.get("costUsd"))
        return [*found, *self.end_turn()]

    def _failed(self, told: dict[str, Any]) -> list[Event]:
        if self.is_cancelled:
            return self.end_turn("cancelled")
        self.is_busy = False
        words = non_empty(obj(told.get("error")).get("message")) or "the run failed, and no reason was given"
        return [TurnFailed(words, "TURN_LIMIT") if told.get("status") == "timeout" else broke(words)]

    def on_process_exit(self, exit_code: int | None, stderr: str) -> list[Event]:
        if self._refused and self.is_busy and not self.is_cancelled:
            return self._refuse()
        if self.is_busy and not self.is_cancelled and exit_code == 2:
            self.is_busy = False
            return [TurnFailed("OpenClaw gave the run up: it took too long", "TURN_LIMIT")]
        return super().on_process_exit(exit_code, stderr)


def _payloads(told: dict[str, Any]) -> str:
    return "\n\n".join(said for one in items(told.get("payloads")) if (said := non_empty(one.get("text"))))
