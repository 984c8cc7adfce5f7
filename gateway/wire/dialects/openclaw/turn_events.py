"""One run of OpenClaw: words, thoughts, calls, plans → events.

In: `stream` and `data` of an `agent` event. Out: events, or None for what is not understood. Texts come with all that
was said before and with what is new; the former is held against what was told, for small pieces get lost between them.
Text written before a call comes as an item of kind `preamble`, not as `assistant`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gateway.events import (
    ActivitySnapshot,
    Custom,
    Event,
    ReasoningMessageContent,
    ReasoningMessageEnd,
    TextMessageContent,
    TextMessageEnd,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallResult,
    ToolCallStart,
)
from gateway.wire.activities import LiveOutput
from gateway.wire.fields import items, json_text, non_empty, obj, present, text

Data = dict[str, Any]

NOISE = {
    "command_output": "what a call prints, again",
    "patch": "what a call changed, again",
    "usage": "tokens so far; the run's end tells them all",
    "approval": "what came of a question; the call tells it, too",
    "run_status": "a word for a status line",
    "execution": "likewise",
}
"""Streams without meaning for a client → why."""

ROWS = frozenset(("tool", "command", "patch", "search", "analysis"))
"""Kinds of items that are rows of a progress list: their calls come by themselves."""


@dataclass(slots=True)
class Call:
    id: str
    live: LiveOutput | None = None
    done: bool = False


class Speech:
    def __init__(self, own: Callable[[str], str]) -> None:
        self._own = own
        self.calls: dict[str, Call] = {}
        self._item: str | None = None
        self._said = ""
        self._thought = ""
        self._thinking = False
        self._told: set[str] = set()
        self.spoke = False
        """There was an answer in words."""

    def begin_run(self) -> None:
        self.calls.clear()
        self._told.clear()
        self._item, self._said, self._thought = None, "", ""
        self._thinking = self.spoke = False

    def read(self, stream: str, data: Data) -> list[Event] | None:
        match stream:
            case "assistant":
                return self._assistant(data)
            case "thinking":
                return self._think(data)
            case "tool":
                return self._call(data)
            case "item":
                return self._item_row(data)
            case "plan":
                return [self._plan(data)]
            case "compaction":
                return [Custom("openclaw.compaction", data)]
            case "acp":
                return [Custom("openclaw.acp", data)]
            case _:
                return [] if stream in NOISE else None

    # -- words

    def _assistant(self, data: Data) -> list[Event] | None:
        found = self._grown(text(data.get("itemId")) or "", text(data.get("text")), text(data.get("delta")))
        self.spoke = self.spoke or bool(found)
        return found

    def _item_row(self, data: Data) -> list[Event] | None:
        if data.get("kind") != "preamble":
            return [] if text(data.get("kind")) in ROWS else None
        item_id = non_empty(data.get("itemId"))
        if item_id is None:
            return None
        if item_id in self._told:
            return []
        found = self._grown(item_id, text(data.get("progressText")) or "", None)
        if data.get("phase") == "end":
            self._told.add(item_id)
            return [*(found or []), *self.end_text()]
        return found

    def _grown(self, item_id: str, whole: str | None, delta: str | None) -> list[Event] | None:
        """What is new of a text; `whole`: all of it up to now."""
        if whole is None and delta is None:
            return None
        ended: list[Event] = []
        if item_id != self._item:
            ended = self.end_text()
            self._item, self._said = item_id, ""
        if whole is None:
            whole = self._said + (delta or "")
        if not whole.startswith(self._said):
            if self._said.startswith(whole):
                return ended  # it took back what was told: nothing can be unsaid
            ended += self.end_text()
            self._item, self._said = item_id, ""
        new, self._said = whole[len(self._said) :], whole
        return [*ended, *self._end_thought(), TextMessageContent(new)] if new else ended

    def _think(self, data: Data) -> list[Event] | None:
        whole, delta = text(data.get("text")), text(data.get("delta"))
        if whole is None and delta is None:
            return None
        ended = [] if self._thinking else self.end_text()
        if whole is None or not self._thinking or not whole.startswith(self._thought):
            new = delta if delta is not None else whole or ""
        else:
            new = whole[len(self._thought) :]
        self._thought = whole if whole is not None else self._thought + new
        if not new:
            return ended
        self._thinking = True
        return [*ended, ReasoningMessageContent(new)]

    def whole(self, words: str) -> list[Event]:
        """An answer that did not stream."""
        return [*self.end_text(), TextMessageContent(words), TextMessageEnd()]

    def end_text(self) -> list[Event]:
        found = self._end_thought()
        if self._item is not None and self._said:
            found.append(TextMessageEnd())
        self._item, self._said = None, ""
        return found

    def _end_thought(self) -> list[Event]:
        if not self._thinking:
            return []
        self._thinking = False
        return [ReasoningMessageEnd()]

    # -- calls

    def _call(self, data: Data) -> list[Event] | None:
        call_id, phase = non_empty(data.get("toolCallId")), data.get("phase")
        if call_id is None or phase not in ("start", "update", "result"):
            return None
        call = self.calls.get(call_id)
        began: list[Event] = []
        if call is None:
            call = self.calls[call_id] = Call(self._own(call_id))
            began = self._began(call, data)
        if call.done:
            return []
        if phase == "update":
            began += _printed(call, data)
        elif phase == "result":
            began.append(_result(call, data))
        return began

    def _began(self, call: Call, data: Data) -> list[Event]:
        args = data.get("args")
        told = json_text(args if isinstance(args, dict) else {} if args is None else {"input": args})
        name = non_empty(data.get("name")) or "tool"
        return [*self.end_text(), ToolCallStart(call.id, name), ToolCallArgs(call.id, told), ToolCallEnd(call.id)]

    def _plan(self, data: Data) -> Event:
        steps = data.get("steps")
        told = steps if isinstance(steps, list) else []
        entries = [{"step": step} if isinstance(step, str) else obj(step) for step in told]
        shown = [present({"content": text(one.get("step")), "status": text(one.get("status"))}) for one in entries]
        content = {"entries": [entry for entry in shown if entry], "explanation": text(data.get("explanation"))}
        return ActivitySnapshot(self._own("plan"), "plan", present(content))


def _printed(call: Call, data: Data) -> list[Event]:
    """What it prints while it runs, all of it every time."""
    words = _texts(obj(data.get("partialResult")))
    if not words:
        return []
    if call.live is None:
        call.live = LiveOutput(f"{call.id}:output", "tool_output", None, {"toolCallId": call.id})
    return call.live.replace(words)


def _result(call: Call, data: Data) -> ToolCallResult:
    call.done = True
    given = data.get("result")
    details = obj(obj(given).get("details"))
    shown = present(
        {
            "isError": True if data.get("isError") is True else None,
            "title": text(data.get("meta")),
            "exitCode": details.get("exitCode"),
            "durationMs": details.get("durationMs"),
        }
    )
    words = given if isinstance(given, str) else _texts(obj(given))
    content = words if words is not None else json_text(given)
    return ToolCallResult(call.id, content, metadata={"openclaw": shown} if shown else None)


def _texts(result: Data) -> str | None:
    """None: it holds something else than text."""
    parts = result.get("content")
    if not isinstance(parts, list) or any(obj(part).get("type") != "text" for part in parts):
        return None
    return "\n".join(text(part.get("text")) or "" for part in items(parts))
