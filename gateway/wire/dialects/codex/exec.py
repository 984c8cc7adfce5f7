"""`codex exec --json`: one process per turn, one line per item, whole messages.

In: lines of stdout, then the end of the process. Out: the same events as from the app server, as far as Codex reports
them: it does not stream and asks nothing, and a command that the sandbox blocks may not appear. Item ids start again
with every process. A cancelled run prints nothing more. `usage` counts the whole thread, so differences are reported;
the first count of a thread from elsewhere includes earlier turns, and is left out.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, ClassVar

from gateway.events import Event, TurnFailed
from gateway.wire.dialects.base import Dialect, Prompt, SessionStart, parse_message
from gateway.wire.dialects.codex.errors import error_code, read_turn_error, unwrap_message
from gateway.wire.dialects.codex.items import ThreadItems
from gateway.wire.dialects.codex.requests import prompt_text
from gateway.wire.dialects.codex.usage import UsageTotals
from gateway.wire.fields import items, non_empty, obj, text

RETRY_TEXT = re.compile(r"Reconnecting\.\.\. \d+/\d+")
STDERR_NOISE = re.compile(r"^(Reading prompt from stdin|WARNING: proceeding|\d{4}-\d\d-\d\dT\S+ +(INFO|WARN)\b)")
"""Lines of stderr that do not explain the end of the process."""
ANSI_COLOUR = re.compile(r"\x1b\[[0-9;]*m")
APP_SERVER_TYPES = {"collabToolCall": "collabAgentToolCall"}
"""Type of an item → the app server's name of it, where they differ."""


class CodexExec(Dialect):
    name: ClassVar[str] = "codex-exec"

    def __init__(self) -> None:
        super().__init__()
        self._items = ThreadItems("t0")
        self._usage = UsageTotals()
        self._error: str | None = None

    def start_session(self, start: SessionStart) -> None:
        super().start_session(start)
        if start.session_id is None:
            self._usage = UsageTotals({})
            self.session_id = None
        elif start.fork or start.session_id != self.session_id:
            self._usage = UsageTotals()
            self.session_id = None if start.fork else start.session_id

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        self._items.start_turn(prompt.id_prefix)
        self._error = None
        self.send_text(prompt_text(prompt))

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        return [event for message in messages for event in self._read_line(message)]

    def _read_line(self, line: bytes) -> list[Event]:
        message = parse_message(line)
        match message:
            case {"type": "thread.started", "thread_id": str(thread_id)} if thread_id:
                return self._read_thread(thread_id)
            case {"type": "turn.started"}:
                return []
            case {"type": "item.started" | "item.updated" | "item.completed" as moment, "item": dict(item)}:
                events = self._read_item(moment, item)
                return [self.to_raw(message)] if events is None else events
            case {"type": "turn.completed"} if self.is_busy:
                return self._read_completed(message)
            case {"type": "turn.failed"} if self.is_busy:
                return self._fail(read_turn_error(message.get("error")))
            case {"type": "error", "message": str(reason)}:
                return self._read_error(unwrap_message(reason))
            case None:
                return [self.to_raw(line.decode("utf-8", "replace"))]
            case _:
                return [self.to_raw(message)]

    def _read_thread(self, thread_id: str) -> list[Event]:
        """Codex takes an id that is no UUID for a name, and starts a new thread for an unknown one without an error."""
        self.session_id = thread_id
        wanted = self.session_start.session_id
        if wanted is None or self.session_start.fork or wanted == thread_id:
            return []
        message = "the agent knows no such session; it began a new one"
        return [self.make_warning("SESSION_NOT_RESUMED", message, sessionId=wanted)]

    def _read_item(self, moment: str, exec_item: dict[str, Any]) -> list[Event] | None:
        """None: an unknown type of item."""
        item = to_app_server_form(exec_item)
        if non_empty(item.get("id")) is None or non_empty(item.get("type")) is None:
            return None
        match item["type"], moment:
            case "todoList", _:
                return self._read_plan(item)
            case "error", _:
                return [self.make_warning("AGENT_WARNING", text(item.get("message")) or "")]
            case "reasoning", "item.completed":
                return self._items.complete_item(item | {"summary": [item.get("text")]})
            case _, "item.completed":
                return self._items.complete_item(item)
            case _:
                return self._items.start_item(item)

    def _read_plan(self, item: dict[str, Any]) -> list[Event]:
        """Codex reports which entries are done, not which one is in progress."""
        entries = [
            {"content": entry.get("text"), "status": "completed" if entry.get("completed") is True else "pending"}
            for entry in items(item.get("items"))
        ]
        return self._items.plans.show_entries(entries)

    def _read_error(self, reason: str) -> list[Event]:
        """A retry, or the end of the turn, which `turn.failed` repeats."""
        if RETRY_TEXT.match(reason):
            return [self.make_warning("MODEL_RETRY", reason)]
        self._error = reason
        return []

    def _read_completed(self, message: dict[str, Any]) -> list[Event]:
        usage = self._usage.read(to_app_server_form(obj(message.get("usage"))), None, self.turn.model, None)
        events = self._items.close(is_cancelled=False)
        output = self._items.structured_output(self.turn.output_schema)
        return [*events, *([] if usage is None else [usage]), *self.end_turn(result=output)]

    def _fail(self, failure: TurnFailed) -> list[Event]:
        events = self._items.close(is_cancelled=self.is_cancelled)
        return [*events, *(self.end_turn() if self.is_cancelled else self.fail_turn(failure))]

    def on_process_exit(self, exit_code: int | None, stderr: str) -> list[Event]:
        """A turn without an end was cancelled, or failed for a reason that only stderr has."""
        events = super().on_process_exit(exit_code, stderr)
        if events:
            return [*self._items.close(is_cancelled=True), *events]
        if not self.is_busy:
            return []
        if self._error is not None:
            return self._fail(read_turn_error({"message": self._error}))
        reason = read_stderr_reason(stderr) or f"codex ended with {exit_code} and said nothing"
        return self._fail(TurnFailed(reason, error_code(reason)))


def to_app_server_form(fields: dict[str, Any]) -> dict[str, Any]:
    """`exec` writes in snake_case what the app server writes in camelCase."""
    item = {_to_camel_case(key): value for key, value in fields.items()}
    for key in ("type", "status"):
        if isinstance(item.get(key), str):
            item[key] = _to_camel_case(item[key])
    if (kind := text(item.get("type"))) in APP_SERVER_TYPES:
        item["type"] = APP_SERVER_TYPES[kind]
        item["tool"] = _to_camel_case(text(item.get("tool")) or "")
    if item.get("type") == "mcpToolCall" and isinstance(item.get("result"), dict):
        item["result"] = {_to_camel_case(key): value for key, value in item["result"].items()}
    return item


def _to_camel_case(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part[:1].upper() + part[1:] for part in rest)


def read_stderr_reason(stderr: str) -> str:
    """The last line that explains the end, without times and colours."""
    lines = [ANSI_COLOUR.sub("", line).strip() for line in stderr.splitlines()]
    reasons = [line for line in lines if line and not STDERR_NOISE.match(line)]
    return reasons[-1].removeprefix("Error: ") if reasons else ""
