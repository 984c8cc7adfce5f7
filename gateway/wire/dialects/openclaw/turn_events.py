"""One run of OpenClaw as events: text, reasoning, tool calls, plans.

In: `stream` and `data` of an `agent` event. Out: events, or None for what cannot be read. A text comes with all of it
so far (`text`) and its newest piece (`delta`). The former is compared with what was sent, because small pieces get
lost. Text before a tool call comes as an item of kind `preamble`, not as `assistant`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.events import ActivitySnapshot, Custom, Event
from gateway.wire.fields import flag, integer, items, json_text, non_empty, number, obj, present, text
from gateway.wire.text_parts import TextParts
from gateway.wire.tool_calls import ToolCall, ToolCalls

Data = dict[str, Any]

IGNORED_STREAMS = {
    "command_output": "the output of a tool call, again",
    "patch": "the changes by a tool call, again",
    "usage": "tokens so far; the run's end has them all",
    "approval": "the outcome of an approval; the tool call has it, too",
    "run_status": "text for a status line",
    "execution": "likewise",
}
"""Streams without meaning for a client → why."""

PROGRESS_KINDS = frozenset(("tool", "command", "patch", "search", "analysis"))
"""Kinds of items that are rows of a progress list; their tool calls are reported separately."""


class TurnEvents:
    """Reads the events of one run. `qualify_id` makes an id of OpenClaw's unique in the thread."""

    def __init__(self, qualify_id: Callable[[str], str]) -> None:
        self._qualify_id = qualify_id
        self._parts = TextParts()
        self._calls = ToolCalls(qualify_id, ToolCall, reuses_ids=False)
        self._reasoning = ""
        """The reasoning so far."""
        self._finished_items: set[str] = set()
        self.has_answer = False
        """Text of an answer was sent."""

    def begin_run(self) -> None:
        self._parts.begin_turn()
        self._calls.begin_turn()
        self._finished_items.clear()
        self._reasoning = ""
        self.has_answer = False

    def find_call_id(self, native_id: str | None) -> str | None:
        """AG-UI's id of a tool call."""
        call = self._calls.get(native_id)
        return None if call is None else call.id

    def read(self, stream: str, data: Data) -> list[Event] | None:
        match stream:
            case "assistant":
                return self._read_answer(data)
            case "thinking":
                return self._read_reasoning(data)
            case "tool":
                return self._read_call(data)
            case "item":
                return self._read_item(data)
            case "plan":
                return [self._read_plan(data)]
            case "compaction":
                return [Custom("openclaw.compaction", data)]
            case "acp":
                return [Custom("openclaw.acp", data)]
            case _:
                return [] if stream in IGNORED_STREAMS else None

    # -- text and reasoning

    def _read_answer(self, data: Data) -> list[Event] | None:
        item_id = text(data.get("itemId")) or ""
        events = self._read_text(item_id, text(data.get("text")), text(data.get("delta")))
        self.has_answer = self.has_answer or bool(events)
        return events

    def _read_item(self, data: Data) -> list[Event] | None:
        if data.get("kind") != "preamble":
            return [] if text(data.get("kind")) in PROGRESS_KINDS else None
        item_id = non_empty(data.get("itemId"))
        if item_id is None:
            return None
        if item_id in self._finished_items:
            return []
        events = self._read_text(item_id, text(data.get("progressText")) or "", None)
        if data.get("phase") == "end":
            self._finished_items.add(item_id)
            return [*(events or []), *self.close_text()]
        return events

    def _read_text(self, item_id: str, whole: str | None, delta: str | None) -> list[Event] | None:
        """The new piece of a text. `whole`: all of it so far."""
        if whole is None and delta is None:
            return None
        is_open = self._parts.is_open("text", item_id)
        closed = [] if is_open else self.close_text()
        sent = self._parts.open_text if is_open else ""
        if whole is None:
            whole = sent + (delta or "")
        if not whole.startswith(sent):
            if sent.startswith(whole):
                return closed  # OpenClaw took back what was sent already
            closed = self.close_text()
            sent = ""
        return [*closed, *self._parts.add_text(whole[len(sent) :], item_id)]

    def _read_reasoning(self, data: Data) -> list[Event] | None:
        whole = text(data.get("text"))
        delta = text(data.get("delta"))
        if whole is None and delta is None:
            return None
        is_open = self._parts.is_open("reasoning")
        closed = [] if is_open else self.close_text()
        if whole is not None and is_open and whole.startswith(self._reasoning):
            piece = whole[len(self._reasoning) :]
        else:
            piece = delta if delta is not None else whole or ""
        self._reasoning = whole if whole is not None else self._reasoning + piece
        return [*closed, *self._parts.add_reasoning(piece)]

    def send_answer(self, answer: str) -> list[Event]:
        """An answer that did not stream."""
        return [*self.close_text(), *self._parts.add_text(answer), *self.close_text()]

    def close_text(self) -> list[Event]:
        """The text or reasoning that is open is complete."""
        return self._parts.close()

    # -- tool calls

    def _read_call(self, data: Data) -> list[Event] | None:
        native_id = non_empty(data.get("toolCallId"))
        phase = data.get("phase")
        if native_id is None or phase not in ("start", "update", "result"):
            return None
        call = self._calls.add(native_id, non_empty(data.get("name")))
        events: list[Event] = []
        if not call.is_started:
            arguments = data.get("args")
            if not isinstance(arguments, dict):
                arguments = {} if arguments is None else {"input": arguments}
            events = [*self.close_text(), *call.end(arguments)]
        if phase == "update" and call.is_open:
            output = _join_text(obj(data.get("partialResult")))
            return [*events, *(call.replace_output(output) if output else [])]
        return [*events, *_answer_call(call, data)] if phase == "result" else events

    def _read_plan(self, data: Data) -> Event:
        steps = data.get("steps")
        objects = [obj(step) if not isinstance(step, str) else {"step": step} for step in _list(steps)]
        entries = [present({"content": text(step.get("step")), "status": text(step.get("status"))}) for step in objects]
        content = {"entries": [entry for entry in entries if entry], "explanation": text(data.get("explanation"))}
        return ActivitySnapshot(self._qualify_id("plan"), "plan", present(content))


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


def _answer_call(call: ToolCall, data: Data) -> list[Event]:
    result = data.get("result")
    details = obj(obj(result).get("details"))
    is_error = flag(data.get("isError"))
    metadata = present(
        {
            "isError": is_error or None,
            "title": text(data.get("meta")),
            "exitCode": integer(details.get("exitCode")),
            "durationMs": number(details.get("durationMs")),
        }
    )
    output = result if isinstance(result, str) else _join_text(obj(result))
    content = output if output is not None else json_text(result)
    return call.answer(content, {"openclaw": metadata} if metadata else None, is_error)


def _join_text(result: Data) -> str | None:
    """The text of a result; None: it has content of another kind."""
    parts = result.get("content")
    if not isinstance(parts, list) or any(obj(part).get("type") != "text" for part in parts):
        return None
    return "\n".join(text(part.get("text")) or "" for part in items(parts))
