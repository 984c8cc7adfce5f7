"""Gemini CLI, `gemini -o stream-json`: one turn, tokens of the answer, tools whole. Nobody is asked: tools that would
need approval are not given to the model. Its thoughts are not printed.

In: `{"type", "timestamp", …}`: `init`, `message`, `tool_use`, `tool_result`, `error`, `result`. Messages have no ids:
one ends where a tool begins. The `result` counts, and only without one the exit code, which is 0 after a signal, and
after an error of the provider its status modulo 256.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import Any

import orjson

from gateway.capability_paths import MODEL
from gateway.events import (
    Event,
    TextMessageContent,
    TextMessageEnd,
    TokenUsage,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallResult,
    ToolCallStart,
    TurnFailed,
)
from gateway.wire.dialects.base import Dialect, Prompt, SessionStart, parse_message
from gateway.wire.fields import count, json_text, non_empty, obj, present, text

TYPES = {
    "FatalAuthenticationError": "AUTH_REQUIRED",
    "FatalTurnLimitedError": "TURN_LIMIT",
    "FatalUntrustedWorkspaceError": "AGENT_ERROR",
    "FatalInputError": "AGENT_ERROR",
    "FatalSandboxError": "AGENT_ERROR",
    "FatalConfigError": "AGENT_ERROR",
    "FatalToolExecutionError": "AGENT_ERROR",
}
"""Errors that are not the model's, by their type."""
CODES = {41: "AUTH_REQUIRED", 42: "AGENT_ERROR", 44: "AGENT_ERROR", 52: "AGENT_ERROR", 53: "TURN_LIMIT"}
"""Exit codes of a process that printed no `result`; any other is `AGENT_DIED`."""
CANCELLED = 130
TURNS = "Maximum session turns exceeded"
"""An `error` line that is followed by a `result` of success."""
LOST = re.compile(r"Error resuming session|No previous sessions found", re.IGNORECASE)
API_ERROR = re.compile(r"^\[API Error: (.*?)\]?$", re.DOTALL)
STDERR_CHARS = 2_000


class GeminiStream(Dialect):
    name = "gemini"

    def __init__(self) -> None:
        super().__init__()
        self._messages = 0
        self._message: str | None = None
        self._calls: set[str] = set()
        self._complaint: str | None = None
        self._left_out: list[Event] = []

    def start_session(self, begin: SessionStart) -> None:
        super().start_session(begin)
        self.session_id = begin.session_id or self.session_id

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        self._messages, self._message, self._calls, self._complaint = 0, None, set(), None
        kinds = sorted({str(block.get("type")) for block in prompt.blocks} - {"text"})
        words = f"only text can be said this way; left out: {', '.join(kinds)}"
        self._left_out = [self.make_warning("CONTENT_DROPPED", words)] if kinds else []
        self.outbox.append(prompt.text.encode())

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        found, self._left_out = self._left_out, []
        for message in messages:
            told = parse_message(message)
            reader = READERS.get(told["type"]) if isinstance(told, dict) and isinstance(told.get("type"), str) else None
            events = None if reader is None else reader(self, told)
            if events is None:
                found.append(self.to_raw(message.decode("utf-8", "replace") if told is None else told))
            else:
                found += events
        return found

    def on_process_exit(self, exit_code: int | None, stderr: str) -> list[Event]:
        self.is_ready = False
        if not self.is_busy:
            return []
        if self.is_cancelled or exit_code == CANCELLED:
            return self.end_turn("cancelled")
        self.is_busy = False
        words = self._complaint or stderr.strip()[-STDERR_CHARS:] or "it said nothing"
        if exit_code == 42 and LOST.search(words):
            return [TurnFailed(words, "SESSION_NOT_FOUND")]
        code = CODES.get(exit_code, "AGENT_DIED") if exit_code is not None else "AGENT_DIED"
        return [TurnFailed(f"gemini ended with {exit_code} and no result: {words}", code)]

    # -- its lines

    def _init(self, told: dict[str, Any]) -> list[Event]:
        self.session_id = non_empty(told.get("session_id")) or self.session_id
        if model := non_empty(told.get("model")):
            self.session_layer[MODEL] = model
        return []

    def _said(self, told: dict[str, Any]) -> list[Event] | None:
        words = told.get("content")
        if told.get("role") != "assistant" or not isinstance(words, str):
            return [] if told.get("role") == "user" else None  # the prompt comes back
        if not words:
            return []
        if self._message is None:
            self._messages += 1
            self._message = self.qualify_id(f"m{self._messages}")
        return [TextMessageContent(words, self._message)]

    def _ended(self) -> list[Event]:
        message, self._message = self._message, None
        return [] if message is None else [TextMessageEnd(message)]

    def _tool(self, told: dict[str, Any]) -> list[Event] | None:
        tool_id, name = non_empty(told.get("tool_id")), non_empty(told.get("tool_name"))
        if tool_id is None or name is None or tool_id in self._calls:
            return None
        self._calls.add(tool_id)
        call_id, arguments = self.qualify_id(tool_id), json_text(obj(told.get("parameters")))
        return [*self._ended(), ToolCallStart(call_id, name), ToolCallArgs(call_id, arguments), ToolCallEnd(call_id)]

    def _result(self, told: dict[str, Any]) -> list[Event] | None:
        """An edit has no output."""
        tool_id, error = non_empty(told.get("tool_id")), obj(told.get("error"))
        if tool_id is None or tool_id not in self._calls:
            return None
        words = text(told.get("output")) or text(error.get("message")) or ""
        shown = present({"status": text(told.get("status")), "errorType": text(error.get("type"))})
        return [*self._ended(), ToolCallResult(self.qualify_id(tool_id), words, metadata={"gemini": shown})]

    def _complained(self, told: dict[str, Any]) -> list[Event] | None:
        words = non_empty(told.get("message"))
        if words is None:
            return None
        if told.get("severity") == "error":
            self._complaint = words
            return []  # the result follows, and says whether that was the end
        return [self.make_warning("AGENT_WARNING", words)]

    def _over(self, told: dict[str, Any]) -> list[Event] | None:
        if not self.is_busy:
            return None
        found = [*self._ended(), *_used(obj(told.get("stats")))]
        if self.is_cancelled or obj(told.get("error")).get("type") == "FatalCancellationError":
            return [*found, *self.end_turn("cancelled")]
        if told.get("status") == "success" and self._complaint != TURNS:
            complaint = [] if self._complaint is None else [self.make_warning("AGENT_WARNING", self._complaint)]
            return [*found, *complaint, *self.end_turn()]
        self.is_busy = False
        return [*found, _broke(obj(told.get("error")), self._complaint)]


def _broke(error: dict[str, Any], complaint: str | None) -> TurnFailed:
    kind, words = non_empty(error.get("type")), non_empty(error.get("message")) or complaint or "gemini gave no reason"
    if kind in TYPES:
        return TurnFailed(words, TYPES[kind])
    if complaint == TURNS:
        return TurnFailed(words, "TURN_LIMIT")
    plain, status = _unpacked(words)
    return TurnFailed(plain, "AUTH_REQUIRED" if status in (401, 403) else "MODEL_ERROR")


def _unpacked(words: str) -> tuple[str, int | None]:
    """The provider's own words, and its status, out of `[API Error: {…}]`."""
    found = API_ERROR.match(words)
    inner = found[1] if found else words
    try:
        error = obj(obj(orjson.loads(inner)).get("error"))
    except orjson.JSONDecodeError:
        return inner.strip() or words, None
    return text(error.get("message")) or inner, count(error.get("code"))


def _used(stats: dict[str, Any]) -> list[Event]:
    """By model. Its output leaves out what was thought, which only the total has."""
    found: list[Event] = []
    for model, told in obj(stats.get("models")).items():
        counts = obj(told)
        taken, given = count(counts.get("input_tokens")) or 0, count(counts.get("output_tokens")) or 0
        thought = max((count(counts.get("total_tokens")) or 0) - taken - given, 0)
        if not taken and not given:  # it was asked, and failed
            continue
        found.append(
            TokenUsage(
                provider="google",
                model=model,
                input_tokens=taken,
                output_tokens=given + thought,
                total_tokens=taken + given + thought,
                reasoning_tokens=thought or None,
                cached_input_tokens=count(counts.get("cached")) or None,
            )
        )
    return found


READERS: dict[str, Callable[[GeminiStream, dict[str, Any]], list[Event] | None]] = {
    "init": GeminiStream._init,
    "message": GeminiStream._said,
    "tool_use": GeminiStream._tool,
    "tool_result": GeminiStream._result,
    "error": GeminiStream._complained,
    "result": GeminiStream._over,
}
