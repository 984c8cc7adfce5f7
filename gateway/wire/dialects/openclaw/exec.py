"""`openclaw agent exec --json`: the prompt on stdin, one JSON document on stdout when the run is over.

In: that document. Out: events. Nothing streams, and tool calls are only counted. This mode never asks for approval:
unless the user's own configuration forbids it, every command is run. So a run without `approvals: auto` is refused, and
nothing is sent to the agent.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gateway.events import Custom, Event, TextMessageContent, TextMessageEnd, TurnFailed
from gateway.wire.dialects.base import Dialect, Prompt, SessionStart, parse_message
from gateway.wire.dialects.openclaw.errors import to_turn_failed
from gateway.wire.dialects.openclaw.usage import read_usage
from gateway.wire.fields import items, non_empty, obj, text

REFUSED = (
    "OpenClaw's gateway could not be started; often another one owns its state: stop that by `openclaw gateway stop`,"
    " or set OPENCLAW_PROFILE. The one-shot mode cannot ask for approval: it takes runs with `approvals: auto` only"
)
EXIT_TIMEOUT = 2
"""Exit code of a run that OpenClaw ended because it took too long."""


class OpenClawExec(Dialect):
    name = "openclaw-exec"

    def __init__(self) -> None:
        super().__init__()
        self._is_refused = False

    def start_session(self, start: SessionStart) -> None:
        super().start_session(start)
        self.has_lost_history = start.session_id is not None  # every run is a session of its own

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        self._is_refused = prompt.approvals != "auto"
        if not self._is_refused:
            self.send_text(prompt.text)

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        if self._is_refused:
            return self._refuse()
        return [event for message in messages if self.is_busy for event in self._read_document(message)]

    def on_process_exit(self, exit_code: int | None, stderr: str) -> list[Event]:
        if self._is_refused and self.is_busy and not self.is_cancelled:
            return self._refuse()
        if self.is_busy and not self.is_cancelled and exit_code == EXIT_TIMEOUT:
            return self.fail_turn(TurnFailed("OpenClaw gave the run up: it took too long", "TURN_LIMIT"))
        return super().on_process_exit(exit_code, stderr)

    def _refuse(self) -> list[Event]:
        if not self.is_busy or self.is_cancelled:
            return []
        return self.fail_turn(TurnFailed(REFUSED, "CAPABILITY_ERROR"))

    def _read_document(self, message: bytes) -> list[Event]:
        document = parse_message(message)
        if not isinstance(document, dict):
            return [self.to_raw(message.decode("utf-8", "replace"))] if message.strip() else []
        if document.get("ok") is not True:
            return self._read_failure(document)
        events: list[Event] = []
        if answer := text(document.get("final")) or join_payloads(document):
            events += [TextMessageContent(answer), TextMessageEnd()]
        tool_summary = obj(document.get("toolSummary"))
        if tool_summary.get("calls"):
            events.append(Custom("openclaw.calls", tool_summary))
        provider, model, cost = (document.get(key) for key in ("provider", "model", "costUsd"))
        return [*events, *read_usage(document.get("usage"), provider, model, cost), *self.end_turn()]

    def _read_failure(self, document: dict[str, Any]) -> list[Event]:
        if self.is_cancelled:
            return self.end_turn("cancelled")
        message = non_empty(obj(document.get("error")).get("message")) or "the run failed, and no reason was given"
        is_timeout = document.get("status") == "timeout"
        return self.fail_turn(TurnFailed(message, "TURN_LIMIT") if is_timeout else to_turn_failed(message))


def join_payloads(result: dict[str, Any]) -> str:
    """The text of an answer that comes as a list of payloads."""
    return "\n\n".join(part for payload in items(result.get("payloads")) if (part := non_empty(payload.get("text"))))
