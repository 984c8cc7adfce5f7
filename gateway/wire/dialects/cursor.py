"""Cursor's `cursor-agent -p --output-format stream-json --stream-partial-output`: one turn in one process.

In: lines of stdout; the prompt goes to stdin. Out: events. Nothing can be asked in this mode. Written from the
documentation and from what others recorded: the program talks to Cursor's own service only.

Text comes three times: as deltas (with a time and no model call), again before a tool call (with both), and all of it
at the end (with neither). A repetition is told only where nothing was: without partial output it is the text itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from gateway.capability_paths import CWD, MODEL
from gateway.events import (
    Event,
    ReasoningMessageContent,
    ReasoningMessageEnd,
    TextMessageContent,
    TextMessageEnd,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallResult,
    ToolCallStart,
    TurnFailed,
)
from gateway.wire.acp.usage import accounted
from gateway.wire.dialects.base import Dialect, Prompt, SessionStart, parse_message
from gateway.wire.fields import items, json_text, non_empty, obj, present, text

NOISE = frozenset(
    (
        "user",  # our own words
        "connection",  # the state of the line to Cursor's service
        "retry",  # …and that it tries again
    )
)
SUFFIX = "ToolCall"
OUTPUTS = ("content", "output", "stdout", "message", "error", "reason", "clientVisibleError")
"""Where the outcome of a tool has its text, whichever it has."""
SECRETIVE = ("toolCallId",)
"""Of arguments, what is no argument."""
NOT_SIGNED_IN = re.compile(r"not (logged|signed) in|authenticat|unauthori[sz]ed|CURSOR_API_KEY|agent login", re.I)
SESSION_NOT_RESUMED = re.compile(r"(chat|session|conversation)\b.{0,80}\bnot (be )?found", re.I | re.S)
LIMIT = re.compile(r"usage limit|rate limit|plan\b.{0,40}\b(limit|only)|named models unavailable|quota", re.I | re.S)
WORDS_CHARS = 1_000
NO_FAILURES = ("success", "unknown")
"""Outcomes of a call that are no failure; any other is one."""

Data = dict[str, Any]


class CursorDialect(Dialect):
    name = "cursor"

    def __init__(self) -> None:
        super().__init__()
        self._begin_turn()

    def _begin_turn(self) -> None:
        self._count = 0
        self._told = self._since_call = self._deltas = False
        """Text was told: at all, since the last call, in deltas. Then what comes whole is a repetition."""
        self._whole: str | None = None
        """What was told last, whole."""
        self._open: str | None = None
        self._id = ""
        self._calls: dict[str, bool] = {}
        """Call → whether it has its result."""
        self._plain: list[str] = []
        """Lines that are no JSON: how it tells that a plan does not allow something."""

    # -- driven by the gateway

    def start_session(self, begin: SessionStart) -> None:
        super().start_session(begin)
        self.session_id = begin.session_id or self.session_id

    def prompt(self, prompt: Prompt) -> None:
        self.start_turn(prompt)
        self._begin_turn()
        self.outbox.append(prompt.text.encode())

    def read(self, messages: Sequence[bytes]) -> list[Event]:
        found: list[Event] = []
        for message in messages:
            line = parse_message(message)
            if type(line) is not dict or type(kind := line.get("type")) is not str:
                found += self._no_line(message)
                continue
            told = self._line(kind, line)
            found += [self.to_raw(line)] if told is None else told
        return found

    def on_process_exit(self, exit_code: int | None, stderr: str) -> list[Event]:
        """Without a `result`: it was stopped, or could not do it."""
        self.is_ready = False
        if not self.is_busy:
            return []
        if self.is_cancelled:
            return self.end_turn()
        self.is_busy = False
        # In this mode stderr repeats the lines of stdout; what is no JSON there is an error.
        errors = [line for line in stderr.splitlines() if line.strip() and not line.lstrip().startswith("{")]
        words = "\n".join(errors or self._plain).strip()[-WORDS_CHARS:]
        if not words:
            return [TurnFailed(f"the agent ended with exit code {exit_code} before its result", "AGENT_DIED")]
        return [TurnFailed(words, _code(words))]

    # -- lines

    def _line(self, kind: str, line: Data) -> list[Event] | None:
        """None: not understood."""
        match kind, line.get("subtype"):
            case "assistant", _:
                return self._assistant(line)
            case "thinking", "delta":
                words = text(line.get("text"))
                return None if words is None else self._thought(words)
            case "thinking", "completed":
                return self._close()
            case "tool_call", "started":
                return self._started(line)
            case "tool_call", "completed":
                return self._completed(line)
            case "system", "init":
                return self._init(line)
            case "result", _:
                return self._result(line)
            case _:
                return [] if kind in NOISE else None

    def _no_line(self, message: bytes) -> list[Event]:
        words = message.decode("utf-8", "replace")
        self._plain.append(words)
        return [self.to_raw(words)]

    def _init(self, line: Data) -> list[Event]:
        self.session_id = non_empty(line.get("session_id")) or self.session_id
        paths = {MODEL: "model", CWD: "cwd"}
        self.session_layer |= present({path: non_empty(line.get(key)) for path, key in paths.items()})
        return []

    # -- words

    def _assistant(self, line: Data) -> list[Event] | None:
        content = obj(line.get("message")).get("content")
        if not isinstance(content, list):
            return None
        words = "".join(part for item in items(content) if (part := text(item.get("text"))) is not None)
        if not words:
            return []
        last, delta = "timestamp_ms" not in line, line.get("model_call_id") is None and "timestamp_ms" in line
        self._deltas = self._deltas or delta
        if not delta and ((self._deltas if last else self._since_call) or words == self._whole):
            return self._close()
        self._whole = None if delta else words
        return self._say(words)

    def _say(self, words: str) -> list[Event]:
        closed = self._open_as("text")
        self._told = self._since_call = True
        return [*closed, TextMessageContent(words, self._id)]

    def _thought(self, words: str) -> list[Event]:
        if not words:
            return []
        closed = self._open_as("thought")
        return [*closed, ReasoningMessageContent(words, self._id)]

    def _open_as(self, kind: str) -> list[Event]:
        if self._open == kind:
            return []
        closed = self._close()
        self._count += 1
        self._open, self._id = kind, self.qualify_id(f"{kind}{self._count}")
        return closed

    def _close(self) -> list[Event]:
        kind, self._open = self._open, None
        if kind is None:
            return []
        return [TextMessageEnd(self._id) if kind == "text" else ReasoningMessageEnd(self._id)]

    # -- tools

    def _started(self, line: Data) -> list[Event] | None:
        call = _call_id(line)
        if call is None:
            return None
        self._since_call = False
        if call in self._calls:
            return []
        self._calls[call] = False
        name, told = _tool(line)
        arguments = told.get("args", told.get("arguments"))
        shown = self.qualify_id(call)
        closed = self._close()
        return [*closed, ToolCallStart(shown, name), ToolCallArgs(shown, _arguments(arguments)), ToolCallEnd(shown)]

    def _completed(self, line: Data) -> list[Event] | None:
        call = _call_id(line)
        if call is None:
            return None
        found = [] if call in self._calls else self._started(line) or []
        if self._calls.get(call):
            return found
        self._calls[call] = True
        outcome, words, about = _outcome(_tool(line)[1].get("result"))
        metadata = {"cursor": present({"outcome": outcome, **about})}
        failed = outcome not in NO_FAILURES
        result = ToolCallResult(self.qualify_id(call), words, metadata=metadata, is_error=failed)
        return [*found, *self._close(), result]

    # -- the end

    def _result(self, line: Data) -> list[Event]:
        if not self.is_busy:
            return []
        self.session_id = non_empty(line.get("session_id")) or self.session_id
        found = [*self._close(), *_used(line, self.session_layer.get(MODEL))]
        words = text(line.get("result")) or text(line.get("error")) or ""
        failed = line.get("is_error") is True or line.get("subtype") not in ("success", None)
        if failed and not self.is_cancelled:
            self.is_busy = False
            return [*found, TurnFailed(words or "the agent gave no reason", _code(words))]
        if words and not self._told and not failed:
            found += [*self._say(words), *self._close()]
        return found + self.end_turn()


def _call_id(line: Data) -> str | None:
    """Some have a line break inside: two ids, of which the first is the model's."""
    call = non_empty(line.get("call_id"))
    return None if call is None else "_".join(call.split()) or None


def _tool(line: Data) -> tuple[str, Data]:
    """The name, which is a key, and what stands under it."""
    for key, told in obj(line.get("tool_call")).items():
        if not isinstance(told, dict):
            continue
        if key == "function":
            return non_empty(told.get("name")) or "function", told
        if key.endswith(SUFFIX):
            return key.removesuffix(SUFFIX) or "tool", told
    return "tool", {}


def _arguments(told: Any) -> str:
    if isinstance(told, dict):
        return json_text({key: value for key, value in told.items() if key not in SECRETIVE})
    if isinstance(told, str):
        return told if isinstance(parse_message(told.encode()), dict) else json_text({"input": told})
    return "{}"


def _outcome(result: Any) -> tuple[str, str, Data]:
    """`{"success": {…}}`, or another word for what became of it."""
    for outcome, told in obj(result).items():
        if isinstance(told, dict):
            code = told.get("exitCode")
            about = {"exitCode": code if isinstance(code, int) and not isinstance(code, bool) else None}
            return outcome, _words(told), about
    return "unknown", text(result) or "", {}


def _words(told: Data) -> str:
    found = [words for key in OUTPUTS if (words := text(told.get(key)))]
    stderr = text(told.get("stderr"))
    if stderr:
        found.append(stderr)
    return "\n".join(dict.fromkeys(found)) if found or not told else json_text(told)


def _used(line: Data, model: Any) -> list[Event]:
    """Newer versions only. The cache is believed to stand inside the input, where it is not larger."""
    usage = obj(line.get("usage"))
    told = {"cachedReadTokens": "cacheReadTokens", "cachedWriteTokens": "cacheWriteTokens"}
    told |= {key: key for key in ("inputTokens", "outputTokens")}
    used = accounted({ours: usage.get(theirs) for ours, theirs in told.items()})
    return [] if used is None else [replace(used, model=non_empty(model))]


def _code(words: str) -> str:
    if SESSION_NOT_RESUMED.search(words):
        return "SESSION_NOT_FOUND"
    if NOT_SIGNED_IN.search(words):
        return "AUTH_REQUIRED"
    return "MODEL_ERROR" if LIMIT.search(words) else "AGENT_ERROR"
