"""Gemini CLI, `gemini -o stream-json`: one turn in one process; tokens of the answer, tool calls whole.

In: `{"type", "timestamp", …}` with `init`, `message`, `tool_use`, `tool_result`, `error`, `result`. Out: events. This
mode cannot ask the user: tools that need approval are not given to the model. Reasoning is not printed. Messages have
no ids: a message ends where a tool call starts. The `result` decides how the turn ended; without one the exit code
does, which is 0 after a signal, and after an error of the provider its HTTP status modulo 256.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

from gateway.capability_paths import MODEL
from gateway.events import Event, TokenUsage, TurnFailed
from gateway.wire.dialects.base import Dialect, Prompt, SessionStart, parse_message
from gateway.wire.errors import unwrap_provider_json
from gateway.wire.fields import count, non_empty, obj, present, text
from gateway.wire.text_parts import Part, TextParts
from gateway.wire.tool_calls import ToolCall, ToolCalls

Json = dict[str, Any]

ERROR_CODES = {
    "FatalAuthenticationError": "AUTH_REQUIRED",
    "FatalTurnLimitedError": "TURN_LIMIT",
    "FatalUntrustedWorkspaceError": "AGENT_ERROR",
    "FatalInputError": "AGENT_ERROR",
    "FatalSandboxError": "AGENT_ERROR",
    "FatalConfigError": "AGENT_ERROR",
    "FatalToolExecutionError": "AGENT_ERROR",
}
"""Types of errors that are not the model's → codes."""
EXIT_CODES = {41: "AUTH_REQUIRED", 42: "AGENT_ERROR", 44: "AGENT_ERROR", 52: "AGENT_ERROR", 53: "TURN_LIMIT"}
"""Exit codes of a process that printed no `result` → codes; any other is `AGENT_DIED`."""
EXIT_INPUT_ERROR = 42
EXIT_CANCELLED = 130
TURN_LIMIT_MESSAGE = "Maximum session turns exceeded"
"""An `error` line that is followed by a `result` of success."""
SESSION_NOT_FOUND = re.compile(r"Error resuming session|No previous sessions found", re.IGNORECASE)
API_ERROR = re.compile(r"^\[API Error: (.*?)\]?$", re.DOTALL)
MAX_STDERR_CHARS = 2_000


class GeminiStream(Dialect):
    name = "gemini"

    def __init__(self) -> None:
        super().__init__()
        self._parts = TextParts(self._new_message_id)
        self._calls = ToolCalls(self.qualify_id, ToolCall, reuses_ids=False)
        self._error: str | None = None
        """The message of the latest `error` line."""
        self._warnings: list[Event] = []

    def _new_message_id(self, part: Part) -> str:
        return self.qualify_id(f"m{part.number}")

    # -- called by the driver

    def start_session(self, start: SessionStart) -> None:
        super().start_session(start)
        self.session_id = start.session_id or self.session_id

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        self._parts.begin_turn()
        self._calls.begin_turn()
        self._error = None
        dropped = sorted({str(block.get("type")) for block in prompt.blocks} - {"text"})
        message = f"this mode takes text only; left out: {', '.join(dropped)}"
        self._warnings = [self.make_warning("CONTENT_DROPPED", message)] if dropped else []
        self.send_text(prompt.text)

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        events = self._warnings
        self._warnings = []
        for message in messages:
            line = parse_message(message)
            reader = READERS.get(text(obj(line).get("type")) or "")
            found = None if reader is None else reader(self, line)
            if found is None:
                events.append(self.to_raw(message.decode("utf-8", "replace") if line is None else line))
            else:
                events += found
        return events

    def on_process_exit(self, exit_code: int | None, stderr: str) -> list[Event]:
        self.is_ready = False
        if not self.is_busy:
            return []
        if self.is_cancelled or exit_code == EXIT_CANCELLED:
            return self.end_turn("cancelled")
        reason = self._error or stderr.strip()[-MAX_STDERR_CHARS:] or "stderr is empty"
        if exit_code == EXIT_INPUT_ERROR and SESSION_NOT_FOUND.search(reason):
            return self.fail_turn(TurnFailed(reason, "SESSION_NOT_FOUND"))
        code = EXIT_CODES.get(exit_code, "AGENT_DIED") if exit_code is not None else "AGENT_DIED"
        return self.fail_turn(TurnFailed(f"gemini ended with {exit_code} and no result: {reason}", code))

    # -- lines

    def _read_init(self, line: Json) -> list[Event]:
        self.session_id = non_empty(line.get("session_id")) or self.session_id
        if model := non_empty(line.get("model")):
            self.session_layer[MODEL] = model
        return []

    def _read_message(self, line: Json) -> list[Event] | None:
        delta = text(line.get("content"))
        if line.get("role") != "assistant" or delta is None:
            return [] if line.get("role") == "user" else None  # the prompt is repeated
        return self._parts.add_text(delta)

    def _read_tool_use(self, line: Json) -> list[Event] | None:
        tool_id = non_empty(line.get("tool_id"))
        name = non_empty(line.get("tool_name"))
        if tool_id is None or name is None or self._calls.get(tool_id) is not None:
            return None
        call = self._calls.add(tool_id, name)
        return [*self._parts.close(), *call.end(obj(line.get("parameters")))]

    def _read_tool_result(self, line: Json) -> list[Event] | None:
        """The result of an edit has no output."""
        call = self._calls.get(line.get("tool_id"))
        if call is None:
            return None
        error = obj(line.get("error"))
        status = text(line.get("status"))
        metadata = present({"status": status, "errorType": text(error.get("type"))})
        output = text(line.get("output")) or text(error.get("message")) or ""
        return [*self._parts.close(), *call.answer(output, {"gemini": metadata}, _is_error(status))]

    def _read_error(self, line: Json) -> list[Event] | None:
        message = non_empty(line.get("message"))
        if message is None:
            return None
        if line.get("severity") == "error":
            self._error = message
            return []  # the result follows, and says whether this ended the turn
        return [self.make_warning("AGENT_WARNING", message)]

    def _read_result(self, line: Json) -> list[Event] | None:
        if not self.is_busy:
            return None
        error = obj(line.get("error"))
        events = [*self._parts.close(), *_read_usage(obj(line.get("stats")))]
        if self.is_cancelled or error.get("type") == "FatalCancellationError":
            return [*events, *self.end_turn("cancelled")]
        if line.get("status") == "success" and self._error != TURN_LIMIT_MESSAGE:
            warnings = [] if self._error is None else [self.make_warning("AGENT_WARNING", self._error)]
            return [*events, *warnings, *self.end_turn()]
        return [*events, *self.fail_turn(_to_turn_failed(error, self._error))]


def _is_error(status: str | None) -> bool | None:
    return None if status is None else status != "success"


def _to_turn_failed(error: Json, last_error: str | None) -> TurnFailed:
    kind = non_empty(error.get("type"))
    message = non_empty(error.get("message")) or last_error or "gemini gave no reason"
    if kind in ERROR_CODES:
        return TurnFailed(message, ERROR_CODES[kind])
    if last_error == TURN_LIMIT_MESSAGE:
        return TurnFailed(message, "TURN_LIMIT")
    match = API_ERROR.match(message)
    body = match[1] if match else message
    provider_message, status = unwrap_provider_json(body.strip())
    return TurnFailed(provider_message or message, "AUTH_REQUIRED" if status in (401, 403) else "MODEL_ERROR")


def _read_usage(stats: Json) -> list[Event]:
    """Usage by model. The output excludes reasoning, which only the total has."""
    events: list[Event] = []
    for model, value in obj(stats.get("models")).items():
        counts = obj(value)
        input_tokens = count(counts.get("input_tokens")) or 0
        output_tokens = count(counts.get("output_tokens")) or 0
        reasoning = max((count(counts.get("total_tokens")) or 0) - input_tokens - output_tokens, 0)
        if not input_tokens and not output_tokens:  # a request that failed
            continue
        usage = TokenUsage(
            provider="google",
            model=model,
            input_tokens=input_tokens,
            output_tokens=output_tokens + reasoning,
            total_tokens=input_tokens + output_tokens + reasoning,
            reasoning_tokens=reasoning or None,
            cached_input_tokens=count(counts.get("cached")) or None,
        )
        events.append(usage)
    return events


READERS: dict[str, Callable[[GeminiStream, Json], list[Event] | None]] = {
    "init": GeminiStream._read_init,
    "message": GeminiStream._read_message,
    "tool_use": GeminiStream._read_tool_use,
    "tool_result": GeminiStream._read_tool_result,
    "error": GeminiStream._read_error,
    "result": GeminiStream._read_result,
}
