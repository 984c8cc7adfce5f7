"""Cursor's `cursor-agent -p --output-format stream-json --stream-partial-output`: one turn in one process.

In: lines of stdout. Out: events; the prompt goes to stdin. This mode cannot ask the user. Written from the
documentation and from recordings of others: the program talks to Cursor's own service only.

Text comes three times: as deltas (with a time and without a model call), again before a tool call (with both), and
whole at the end (with neither). A repetition is sent only where no delta was: without partial output it is the text.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gateway.capability_paths import CWD, MODEL
from gateway.events import Event, TurnFailed
from gateway.wire.acp.usage import parse_usage
from gateway.wire.dialects.base import Dialect, Prompt, SessionStart, parse_message
from gateway.wire.fields import integer, items, json_text, non_empty, obj, parse_json, present, text
from gateway.wire.text_parts import Part, TextParts
from gateway.wire.tool_calls import ToolCall, ToolCalls

Json = dict[str, Any]

IGNORED_LINES = {
    "user": "the prompt",
    "connection": "the state of the connection to Cursor's service",
    "retry": "the program tries again",
}
"""Lines without meaning for a client → why."""
TOOL_SUFFIX = "ToolCall"
OUTPUT_FIELDS = ("content", "output", "stdout", "message", "error", "reason", "clientVisibleError")
"""Fields in which the outcome of a tool may have its text."""
NOT_ARGUMENTS = ("toolCallId",)
"""Fields of arguments that are no arguments."""
NO_FAILURES = ("success", "unknown")
"""Outcomes of a tool call; any other is a kind of failure."""
NOT_SIGNED_IN = re.compile(r"not (logged|signed) in|authenticat|unauthori[sz]ed|CURSOR_API_KEY|agent login", re.I)
SESSION_NOT_FOUND = re.compile(r"(chat|session|conversation)\b.{0,80}\bnot (be )?found", re.I | re.S)
LIMIT = re.compile(r"usage limit|rate limit|plan\b.{0,40}\b(limit|only)|named models unavailable|quota", re.I | re.S)
MAX_REASON_CHARS = 1_000


class CursorDialect(Dialect):
    name = "cursor"

    def __init__(self) -> None:
        super().__init__()
        self._parts = TextParts(self._new_message_id)
        self._calls = ToolCalls(self.qualify_id, ToolCall, reuses_ids=False)
        self._begin_turn()

    def _begin_turn(self) -> None:
        self._parts.begin_turn()
        self._calls.begin_turn()
        self._has_text = False
        """Text was sent in this turn."""
        self._has_text_since_call = False
        self._has_deltas = False
        self._last_whole: str | None = None
        """The text that was sent last, if it came whole."""
        self._other_lines: list[str] = []
        """Lines that are not JSON: how the program says that a plan does not allow something."""

    def _new_message_id(self, part: Part) -> str:
        return self.qualify_id(f"{'text' if part.kind == 'text' else 'thought'}{part.number}")

    # -- called by the driver

    def start_session(self, start: SessionStart) -> None:
        super().start_session(start)
        self.session_id = start.session_id or self.session_id

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        self._begin_turn()
        self.send_text(prompt.text)

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        events: list[Event] = []
        for message in messages:
            line = obj(parse_message(message))
            kind = text(line.get("type"))
            if kind is None:
                other = message.decode("utf-8", "replace")
                self._other_lines.append(other)
                events.append(self.to_raw(other))
                continue
            found = self._read_line(kind, line)
            events += [self.to_raw(line)] if found is None else found
        return events

    def on_process_exit(self, exit_code: int | None, stderr: str) -> list[Event]:
        """The process ended without a `result`: it was stopped, or it failed."""
        self.is_ready = False
        if not self.is_busy:
            return []
        if self.is_cancelled:
            return self.end_turn()
        # In this mode stderr repeats the lines of stdout; what is not JSON there is an error.
        errors = [line for line in stderr.splitlines() if line.strip() and not line.lstrip().startswith("{")]
        reason = "\n".join(errors or self._other_lines).strip()[-MAX_REASON_CHARS:]
        if not reason:
            message = f"the agent ended with exit code {exit_code} before its result"
            return self.fail_turn(TurnFailed(message, "AGENT_DIED"))
        return self.fail_turn(TurnFailed(reason, _error_code(reason)))

    # -- lines

    def _read_line(self, kind: str, line: Json) -> list[Event] | None:
        """None: not understood."""
        match kind, line.get("subtype"):
            case "assistant", _:
                return self._read_text(line)
            case "thinking", "delta":
                delta = text(line.get("text"))
                return None if delta is None else self._parts.add_reasoning(delta)
            case "thinking", "completed":
                return self._parts.close()
            case "tool_call", "started":
                return self._read_call_start(line)
            case "tool_call", "completed":
                return self._read_call_end(line)
            case "system", "init":
                return self._read_init(line)
            case "result", _:
                return self._read_result(line)
            case _:
                return [] if kind in IGNORED_LINES else None

    def _read_init(self, line: Json) -> list[Event]:
        self.session_id = non_empty(line.get("session_id")) or self.session_id
        self.session_layer |= present({MODEL: non_empty(line.get("model")), CWD: non_empty(line.get("cwd"))})
        return []

    # -- text

    def _read_text(self, line: Json) -> list[Event] | None:
        content = obj(line.get("message")).get("content")
        if not isinstance(content, list):
            return None
        message = "".join(text(item.get("text")) or "" for item in items(content))
        if not message:
            return []
        is_last = "timestamp_ms" not in line
        is_delta = not is_last and line.get("model_call_id") is None
        self._has_deltas = self._has_deltas or is_delta
        was_sent = self._has_deltas if is_last else self._has_text_since_call
        if not is_delta and (was_sent or message == self._last_whole):
            return self._parts.close()
        self._last_whole = None if is_delta else message
        return self._send_text(message)

    def _send_text(self, message: str) -> list[Event]:
        self._has_text = True
        self._has_text_since_call = True
        return self._parts.add_text(message)

    # -- tool calls

    def _read_call_start(self, line: Json) -> list[Event] | None:
        call_id = _read_call_id(line)
        if call_id is None:
            return None
        self._has_text_since_call = False
        if self._calls.get(call_id) is not None:
            return []
        name, details = _read_tool(line)
        call = self._calls.add(call_id, name)
        arguments = _read_arguments(details.get("args", details.get("arguments")))
        return [*self._parts.close(), *call.start(), *call.add_arguments(arguments), *call.end()]

    def _read_call_end(self, line: Json) -> list[Event] | None:
        call_id = _read_call_id(line)
        if call_id is None:
            return None
        events = [] if self._calls.get(call_id) is not None else self._read_call_start(line) or []
        call = self._calls.add(call_id)
        if call.is_answered:
            return events
        outcome, output, exit_code = _read_outcome(_read_tool(line)[1].get("result"))
        metadata = {"cursor": present({"outcome": outcome, "exitCode": exit_code})}
        is_error = outcome not in NO_FAILURES
        return [*events, *self._parts.close(), *call.answer(output, metadata, is_error)]

    # -- the end

    def _read_result(self, line: Json) -> list[Event]:
        if not self.is_busy:
            return []
        self.session_id = non_empty(line.get("session_id")) or self.session_id
        events = [*self._parts.close(), *_read_usage(line, self.session_layer.get(MODEL))]
        message = text(line.get("result")) or text(line.get("error")) or ""
        has_failed = line.get("is_error") is True or line.get("subtype") not in ("success", None)
        if has_failed and not self.is_cancelled:
            failure = TurnFailed(message or "the agent gave no reason", _error_code(message))
            return [*events, *self.fail_turn(failure)]
        if message and not self._has_text and not has_failed:
            events += [*self._send_text(message), *self._parts.close()]
        return [*events, *self.end_turn()]


def _read_call_id(line: Json) -> str | None:
    """Some ids have a line break inside: two ids, of which the first is the model's."""
    call_id = non_empty(line.get("call_id"))
    return None if call_id is None else "_".join(call_id.split()) or None


def _read_tool(line: Json) -> tuple[str, Json]:
    """The tool's name, which is a key of `tool_call`, and its value."""
    for key, value in obj(line.get("tool_call")).items():
        if not isinstance(value, dict):
            continue
        if key == "function":
            return non_empty(value.get("name")) or "function", value
        if key.endswith(TOOL_SUFFIX):
            return key.removesuffix(TOOL_SUFFIX) or "tool", value
    return "tool", {}


def _read_arguments(value: Any) -> str:
    """The arguments as JSON text; a text that is no JSON object becomes the argument `input`."""
    if isinstance(value, dict):
        return json_text({key: argument for key, argument in value.items() if key not in NOT_ARGUMENTS})
    if isinstance(value, str):
        return value if isinstance(parse_json(value), dict) else json_text({"input": value})
    return "{}"


def _read_outcome(result: Any) -> tuple[str, str, int | None]:
    """The outcome, the output and the exit code: `{"success": {…}}`, or another key for the outcome."""
    for outcome, value in obj(result).items():
        if isinstance(value, dict):
            return outcome, _read_output(value), integer(value.get("exitCode"))
    return "unknown", text(result) or "", None


def _read_output(value: Json) -> str:
    outputs = [output for key in (*OUTPUT_FIELDS, "stderr") if (output := text(value.get(key)))]
    return "\n".join(dict.fromkeys(outputs)) if outputs or not value else json_text(value)


def _read_usage(line: Json, model: Any) -> list[Event]:
    """Newer versions only. Cached tokens are taken as a part of the input, unless they are more."""
    usage = obj(line.get("usage"))
    fields = {
        "inputTokens": usage.get("inputTokens"),
        "outputTokens": usage.get("outputTokens"),
        "cachedReadTokens": usage.get("cacheReadTokens"),
        "cachedWriteTokens": usage.get("cacheWriteTokens"),
    }
    event = parse_usage(fields)
    return [] if event is None else [replace(event, model=non_empty(model))]


def _error_code(message: str) -> str:
    if SESSION_NOT_FOUND.search(message):
        return "SESSION_NOT_FOUND"
    if NOT_SIGNED_IN.search(message):
        return "AUTH_REQUIRED"
    return "MODEL_ERROR" if LIMIT.search(message) else "AGENT_ERROR"
