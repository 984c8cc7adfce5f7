"""A run's AG-UI events as Agent Relay's session events, for the events of its thread.

In: the events of one run, in order. Out: JSON objects by Relay's names, with `run` for the run and `toolCallId` for the
call where Relay has no name for it. Long texts are cut: a client that wants all of a text follows the run. Pure, except
for the names of open calls, which outlive a run that is interrupted.

- `tool.called` comes when the arguments are complete, `tool.completed` with the result, also of the client's own tools.
  `tool.failed` comes instead where the result says that the tool failed, or stands for a result that never came.
- `transcript.chunk` is a whole message, or what of a long one has come so far.
- `message.received` reports the message that a run's input brings, and one that reaches a live turn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from math import inf
from typing import Any

import orjson

from gateway.events import Wire
from gateway.threads.tool_errors import tool_error
from gateway.turn import text_of

MAX_TEXT_CHARS = 8000
"""Length of a tool's input and output, and of one piece of the transcript."""
COST_EVENT = "cost"
"""The `CUSTOM` event by which agents say what a turn has cost: `{"usd": 0.01}`."""
MAX_OPEN_CALLS = 500
"""Calls without a result whose tools are remembered for a thread."""

OpenCalls = dict[str, str]
"""Tool call id → tool name."""
FindCost = Callable[[Sequence[Wire]], float | None]
"""AG-UI's usage entries → US dollars by the models' prices; None: a price is not known."""


@dataclass(slots=True)
class PendingText:
    """A text whose deltas are still coming."""

    role: str
    deltas: list[str] = field(default_factory=list)
    size: int = 0

    def add(self, delta: str) -> None:
        self.deltas.append(delta)
        self.size += len(delta)

    def take(self) -> str:
        text = "".join(self.deltas)
        self.deltas = []
        self.size = 0
        return text


class RelayEvents:
    """One run's events."""

    def __init__(self, run_id: str, calls: OpenCalls, find_cost: FindCost) -> None:
        self._run = run_id
        self._find_cost = find_cost
        self._reported_usd: float | None = None
        """What the agent itself says that the run has cost."""
        self._calls = calls
        self._texts: dict[str, PendingText] = {}
        self._arguments: dict[str, PendingText] = {}
        self._sequence = 0

    def read_input(self, messages: Sequence[Wire], known: str | None = None) -> list[Wire]:
        """What the run's input brings: results of the client's own tools, and a new user message, unless it is the one
        that is known."""
        events = [
            event
            for message in messages
            if message["role"] == "tool" and message["toolCallId"] in self._calls
            for event in self._answered(message["toolCallId"], message)
        ]
        if messages and messages[-1]["role"] == "user" and messages[-1]["id"] != known:
            last = messages[-1]
            events.append(self._received(last["id"]))
            events += self._to_chunks(last["id"], "user", text_of(last["content"])[:MAX_TEXT_CHARS])
        return events

    def feed(self, event: Wire) -> list[Wire]:
        read = _READERS.get(event["type"])
        return [] if read is None else read(self, event)

    # -- texts

    def _text_started(self, event: Wire) -> list[Wire]:
        role = "user" if event.get("role") == "user" else "agent"
        self._texts[event["messageId"]] = PendingText(role)
        return [self._received(event["messageId"])] if role == "user" else []

    def _text_continued(self, event: Wire) -> list[Wire]:
        pending = self._texts.setdefault(event["messageId"], PendingText("agent"))
        pending.add(event["delta"])
        if pending.size < MAX_TEXT_CHARS:
            return []
        return self._to_chunks(event["messageId"], pending.role, pending.take())

    def _text_ended(self, event: Wire) -> list[Wire]:
        pending = self._texts.pop(event["messageId"], None)
        return [] if pending is None else self._to_chunks(event["messageId"], pending.role, pending.take())

    def _to_chunks(self, message_id: str, role: str, text: str) -> list[Wire]:
        """Several, where a single delta was longer than one may be."""
        events: list[Wire] = []
        for start in range(0, len(text), MAX_TEXT_CHARS):
            self._sequence += 1
            content = text[start : start + MAX_TEXT_CHARS]
            chunk = {"id": message_id, "role": role, "content": content, "sequence": self._sequence}
            events.append({"type": "transcript.chunk", "run": self._run, "chunk": chunk})
        return events

    def _received(self, message_id: str) -> Wire:
        return {"type": "message.received", "messageId": message_id, "run": self._run}

    # -- tools

    def _call_started(self, event: Wire) -> list[Wire]:
        self._calls[event["toolCallId"]] = event["toolCallName"]
        self._arguments[event["toolCallId"]] = PendingText("tool")
        if len(self._calls) > MAX_OPEN_CALLS:
            del self._calls[next(iter(self._calls))]
        return []

    def _call_continued(self, event: Wire) -> list[Wire]:
        pending = self._arguments.get(event["toolCallId"])
        if pending is not None and pending.size < MAX_TEXT_CHARS:
            pending.add(event["delta"])
        return []

    def _call_ended(self, event: Wire) -> list[Wire]:
        call = event["toolCallId"]
        pending = self._arguments.pop(call, None)
        if pending is None or call not in self._calls:
            return []
        return [{"type": "tool.called", **self._tool(call), "input": _parse_input(pending.take())}]

    def _call_answered(self, event: Wire) -> list[Wire]:
        return self._answered(event["toolCallId"], event)

    def _answered(self, call: str, result: Wire) -> list[Wire]:
        """`result`: an event of the agent, or a message of the client, which may have an `error` of its own."""
        if call not in self._calls:
            return []
        tool, text = self._tool(call), text_of(result["content"])
        del self._calls[call]
        error = result.get("error") or tool_error(text, result.get("metadata"))
        if error is not None:
            return [{"type": "tool.failed", **tool, "error": error[:MAX_TEXT_CHARS]}]
        return [{"type": "tool.completed", **tool, "output": text[:MAX_TEXT_CHARS]}]

    def _tool(self, call: str) -> Wire:
        return {"run": self._run, "tool": self._calls[call], "toolCallId": call}

    # -- the end

    def _custom(self, event: Wire) -> list[Wire]:
        if event["name"] == COST_EVENT and (usd := _read_usd(event.get("value"))) is not None:
            self._reported_usd = (self._reported_usd or 0.0) + usd
        return []

    def _finished(self, event: Wire) -> list[Wire]:
        usage = event.get("usage")
        if not usage:
            return []
        tokens = sum(entry.get("totalTokens") or _sum_tokens(entry) for entry in usage)
        cost = self._find_cost(usage) if self._reported_usd is None else self._reported_usd
        updated = {"type": "usage.updated", "run": self._run, "tokens": tokens, "metadata": {"usage": usage}}
        return [updated if cost is None else {**updated, "costUsd": cost}]

    def _failed(self, event: Wire) -> list[Wire]:
        error = {
            "type": "error",
            "run": self._run,
            "error": event["message"][:MAX_TEXT_CHARS],
            "code": event.get("code"),
        }
        return [*self._finished(event), {key: value for key, value in error.items() if value is not None}]


def _sum_tokens(entry: dict[str, Any]) -> int:
    return (entry.get("inputTokens") or 0) + (entry.get("outputTokens") or 0)


def _read_usd(value: Any) -> float | None:
    usd = value.get("usd") if isinstance(value, dict) else None
    if not isinstance(usd, int | float) or isinstance(usd, bool):
        return None
    return float(usd) if 0 <= usd < inf else None  # NaN is neither


def _parse_input(arguments: str) -> Any:
    """As JSON, if it is JSON and was not cut."""
    if len(arguments) >= MAX_TEXT_CHARS:
        return arguments[:MAX_TEXT_CHARS]
    try:
        return orjson.loads(arguments) if arguments else {}
    except orjson.JSONDecodeError:
        return arguments


_READERS: dict[str, Callable[[RelayEvents, Wire], list[Wire]]] = {
    "TEXT_MESSAGE_START": RelayEvents._text_started,
    "TEXT_MESSAGE_CONTENT": RelayEvents._text_continued,
    "TEXT_MESSAGE_END": RelayEvents._text_ended,
    "TOOL_CALL_START": RelayEvents._call_started,
    "TOOL_CALL_ARGS": RelayEvents._call_continued,
    "TOOL_CALL_END": RelayEvents._call_ended,
    "TOOL_CALL_RESULT": RelayEvents._call_answered,
    "CUSTOM": RelayEvents._custom,
    "RUN_FINISHED": RelayEvents._finished,
    "RUN_ERROR": RelayEvents._failed,
}
