"""A run's AG-UI events as Agent Relay's session events, for the feed of its thread.

In: the events of one run, in order. Out: JSON objects by Relay's names, with `run` for the run and `toolCallId` for the
call where Relay has no name for it. Long texts are cut: whoever wants all of them follows the run. Pure, but for the
names of calls that are still open, which outlive their run where it is interrupted.

- `tool.called` comes when the arguments are complete, `tool.completed` with the result, the client's own too; or
  `tool.failed`, where the result says that the tool failed, or stands for one that never came.
- `transcript.chunk` is a whole message, or what of a long one has come so far.
- `message.received` is told of the message that a run brings, and of one that reaches a turn under way.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import orjson

from gateway.events import Wire
from gateway.threads.tool_errors import tool_error
from gateway.turn import text_of

TEXT_CHARS = 8000
"""Of a tool's input and output, and of one piece of the transcript."""
CALLS_KEPT = 500
"""Calls without a result whose names are remembered for a thread."""

Calls = dict[str, str]
"""Tool call → the tool."""


@dataclass(slots=True)
class Growing:
    role: str
    deltas: list[str] = field(default_factory=list)
    size: int = 0

    def take(self) -> str:
        text = "".join(self.deltas)
        self.deltas, self.size = [], 0
        return text


class RelayEvents:
    """One run's events."""

    def __init__(self, run_id: str, calls: Calls) -> None:
        self._run, self._calls = run_id, calls
        self._texts: dict[str, Growing] = {}
        self._arguments: dict[str, Growing] = {}
        self._sequence = 0

    def given(self, messages: Sequence[Wire], known: str | None = None) -> list[Wire]:
        """What the run's input brings: results of the client's own tools, and a new message of the user's, if that is
        not the one that is known."""
        told = [
            event
            for message in messages
            if message["role"] == "tool" and message["toolCallId"] in self._calls
            for event in self._answered(message["toolCallId"], message)
        ]
        if messages and messages[-1]["role"] == "user" and messages[-1]["id"] != known:
            last = messages[-1]
            told.append(self._received(last["id"]))
            told += self._chunk(last["id"], "user", text_of(last["content"])[:TEXT_CHARS])
        return told

    def feed(self, event: Wire) -> list[Wire]:
        read = _READERS.get(event["type"])
        return [] if read is None else read(self, event)

    # -- texts

    def _text_started(self, event: Wire) -> list[Wire]:
        role = "user" if event.get("role") == "user" else "agent"
        self._texts[event["messageId"]] = Growing(role)
        return [self._received(event["messageId"])] if role == "user" else []

    def _text_went_on(self, event: Wire) -> list[Wire]:
        growing = self._texts.setdefault(event["messageId"], Growing("agent"))
        growing.deltas.append(event["delta"])
        growing.size += len(event["delta"])
        if growing.size < TEXT_CHARS:
            return []
        return self._chunk(event["messageId"], growing.role, growing.take())

    def _text_ended(self, event: Wire) -> list[Wire]:
        growing = self._texts.pop(event["messageId"], None)
        return [] if growing is None else self._chunk(event["messageId"], growing.role, growing.take())

    def _chunk(self, message_id: str, role: str, text: str) -> list[Wire]:
        """In pieces, where a single delta was longer."""
        told: list[Wire] = []
        for start in range(0, len(text), TEXT_CHARS):
            self._sequence += 1
            content = text[start : start + TEXT_CHARS]
            chunk = {"id": message_id, "role": role, "content": content, "sequence": self._sequence}
            told.append({"type": "transcript.chunk", "run": self._run, "chunk": chunk})
        return told

    def _received(self, message_id: str) -> Wire:
        return {"type": "message.received", "messageId": message_id, "run": self._run}

    # -- tools

    def _call_started(self, event: Wire) -> list[Wire]:
        self._calls[event["toolCallId"]] = event["toolCallName"]
        self._arguments[event["toolCallId"]] = Growing("tool")
        if len(self._calls) > CALLS_KEPT:
            del self._calls[next(iter(self._calls))]
        return []

    def _call_went_on(self, event: Wire) -> list[Wire]:
        growing = self._arguments.get(event["toolCallId"])
        if growing is not None and growing.size < TEXT_CHARS:
            growing.deltas.append(event["delta"])
            growing.size += len(event["delta"])
        return []

    def _call_ended(self, event: Wire) -> list[Wire]:
        call = event["toolCallId"]
        growing = self._arguments.pop(call, None)
        if growing is None or call not in self._calls:
            return []
        return [{"type": "tool.called", **self._tool(call), "input": _input(growing.take())}]

    def _call_answered(self, event: Wire) -> list[Wire]:
        return self._answered(event["toolCallId"], event)

    def _answered(self, call: str, result: Wire) -> list[Wire]:
        """`result`: an event of the agent's, or a message of the client's, which may have an `error` of its own."""
        if call not in self._calls:
            return []
        tool, text = self._tool(call), text_of(result["content"])
        del self._calls[call]
        error = result.get("error") or tool_error(text, result.get("metadata"))
        if error is not None:
            return [{"type": "tool.failed", **tool, "error": error[:TEXT_CHARS]}]
        return [{"type": "tool.completed", **tool, "output": text[:TEXT_CHARS]}]

    def _tool(self, call: str) -> Wire:
        return {"run": self._run, "tool": self._calls[call], "toolCallId": call}

    # -- the end

    def _finished(self, event: Wire) -> list[Wire]:
        usage = event.get("usage")
        if not usage:
            return []
        tokens = sum(entry.get("totalTokens") or _sum(entry) for entry in usage)
        return [{"type": "usage.updated", "run": self._run, "tokens": tokens, "metadata": {"usage": usage}}]

    def _failed(self, event: Wire) -> list[Wire]:
        error = {"type": "error", "run": self._run, "error": event["message"][:TEXT_CHARS], "code": event.get("code")}
        return [*self._finished(event), {key: value for key, value in error.items() if value is not None}]


def _sum(entry: dict[str, Any]) -> int:
    return (entry.get("inputTokens") or 0) + (entry.get("outputTokens") or 0)


def _input(arguments: str) -> Any:
    """As JSON, if it is that and was not cut."""
    if len(arguments) >= TEXT_CHARS:
        return arguments[:TEXT_CHARS]
    try:
        return orjson.loads(arguments) if arguments else {}
    except orjson.JSONDecodeError:
        return arguments


_READERS: dict[str, Callable[[RelayEvents, Wire], list[Wire]]] = {
    "TEXT_MESSAGE_START": RelayEvents._text_started,
    "TEXT_MESSAGE_CONTENT": RelayEvents._text_went_on,
    "TEXT_MESSAGE_END": RelayEvents._text_ended,
    "TOOL_CALL_START": RelayEvents._call_started,
    "TOOL_CALL_ARGS": RelayEvents._call_went_on,
    "TOOL_CALL_END": RelayEvents._call_ended,
    "TOOL_CALL_RESULT": RelayEvents._call_answered,
    "RUN_FINISHED": RelayEvents._finished,
    "RUN_ERROR": RelayEvents._failed,
}
