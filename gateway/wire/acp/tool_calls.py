"""Tool calls of one lane in one turn → start, arguments, end, result, and what is seen in between.

In: `tool_call`, `tool_call_update`, `tool_call_content_chunk`, and the call inside a permission request: whichever
names an id first creates the call, for agents differ in that. Out: events, each call closed exactly once. An agent's
id is unique per turn at best, so AG-UI's is made of both. The display title never serves as a name: it changes.

A call of the client's own tools (`hosted`) is held back until it has reached the server that they are at, or until
somebody is asked about it, or it is over: the client acts on what it is told, so that must be the call as it is.

What shows on a call (title, kind, status, locations) is in `metadata.acp`; where it changes and no other event is due
it is told as CUSTOM `acp.tool_call`.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from gateway.errors import NotJson
from gateway.events import Custom, Event, ToolCallArgs, ToolCallEnd, ToolCallResult, ToolCallStart
from gateway.jsonio import loads
from gateway.turn import CANCELLED, UNREPORTED
from gateway.wire.acp.arguments import Arguments
from gateway.wire.acp.client_tools import ClientToolCalls, Untold
from gateway.wire.acp.results import live_text, outcome
from gateway.wire.acp.terminals import Terminals
from gateway.wire.activities import LiveOutput
from gateway.wire.fields import items, json_text, non_empty, obj, present

INPUT_FINAL = ("in_progress", "completed", "failed", "cancelled")
"""From these on the input does not change any more: before, it may still stream, or wait for approval."""
DONE = ("completed", "failed", "cancelled")
RAW_CHARS = 4_000
"""Raw input and output are repeated in metadata up to this size."""


@dataclass(slots=True)
class Call:
    id: str
    acp_id: str
    title: str | None = None
    kind: str | None = None
    name: str | None = None
    status: str = "pending"
    locations: list[dict[str, Any]] = field(default_factory=list)
    parent: str | None = None
    content: list[dict[str, Any]] = field(default_factory=list)
    raw_input: Any = None
    raw_output: Any = None
    arguments: Arguments = field(default_factory=Arguments)
    told_input: Any = None
    """The input as it was when it was declared complete."""
    told: dict[str, Any] = field(default_factory=dict)
    """What was last shown of the call."""
    tool: str | None = None
    """The client's own that it is of."""
    shown_input: Any = None
    """What was shown as its content that may be its arguments: some agents show them nowhere else."""
    started: bool = False
    ended: bool = False
    arrived: bool = False
    """It has reached the server of the client's own tools."""
    answered: bool = False
    permission: str | None = None
    """What came of asking for permission."""
    result: str = ""
    live: LiveOutput | None = None
    printed: str = ""


class ToolCalls:
    def __init__(
        self, prefix: str, subagent: str | None, terminals: Terminals, hosted: ClientToolCalls | None = None
    ) -> None:
        self._prefix, self._subagent, self._terminals = prefix, subagent, terminals
        self._hosted = hosted if hosted is not None else ClientToolCalls()
        self._calls: dict[str, Call] = {}

    def known(self, acp_id: Any) -> Call | None:
        return self._calls.get(acp_id) if isinstance(acp_id, str) else None

    def update(self, update: dict[str, Any]) -> list[Event] | None:
        """A call created or changed. None: it has no id."""
        acp_id = non_empty(update.get("toolCallId"))
        if acp_id is None:
            return None
        call = self._calls.setdefault(acp_id, Call(f"{self._prefix}:{acp_id}", acp_id))
        self._apply(call, update)
        fresh, found = not call.started, list[Event]()
        if fresh and not self._adopted(call):
            if self._held_back(call, obj(update.get("_meta"))):
                return []
            found.append(self._start(call))
        found += self._input(call, update)
        found += self._terminals.meta(update.get("_meta"), call.id)
        if not fresh and not call.answered and call.status == "in_progress" and "content" in update:
            found += self._live(call)
        if fresh:
            call.printed = live_text(call.content)
        if call.status in DONE and not call.answered:
            found.append(self._result(call))
        return found or self._shown(call)

    def content_chunk(self, update: dict[str, Any]) -> list[Event] | None:
        """Version 2: one more content item. None: no id."""
        acp_id, item = non_empty(update.get("toolCallId")), update.get("content")
        if acp_id is None or not isinstance(item, dict):
            return None
        known = self._calls.get(acp_id)
        content = [*(known.content if known else []), item]
        found = self.update({"toolCallId": acp_id, "content": content}) or []
        call = self._calls[acp_id]
        return found if call.answered or call.status == "in_progress" else [*found, *self._live(call)]

    def settle(self, call: Call) -> list[Event]:
        """The input is complete: the call runs, or somebody is asked about it."""
        return list(self._end(call))

    def park(self) -> list[Event]:
        """The run ends while the turn waits: whatever is open is closed for the client, so it is closed here too."""
        return [event for call in self._calls.values() if call.started for event in self._end(call)]

    def arrived(self, tool: str, arguments: dict[str, Any], agents_id: str | None) -> tuple[list[Event], str] | None:
        """The call of a client's own tool that has come, if it is one of these: what is still to be told of it, and its
        id."""
        open_ones = (call for call in self._calls.values() if not call.arrived and not call.answered)
        known = [call for call in open_ones if self._agrees(call, tool, arguments)]
        if agents_id is not None:
            same = [call for call in known if call.acp_id == agents_id]
        else:
            same = [call for call in known if call.tool == tool]
            # Of several, the one that shows these arguments; else the first: not every agent shows them as they are.
            same.sort(key=lambda call: self._arguments(call) != arguments)
        if not same:
            return None
        call = same[0]
        call.arrived, call.tool, call.raw_input = True, tool, arguments
        return list(self._end(call)), call.id

    def arrived_untold(self, tool: str, arguments: dict[str, Any], agents_id: str | None) -> tuple[list[Event], str]:
        """…if it is none of them: the whole of it."""
        call_id = self._hosted.new_id(self._prefix)
        self._hosted.came(Untold(call_id, tool, arguments, agents_id))
        start = ToolCallStart(call_id, self._hosted.name(tool), subagent=self._subagent)
        return [start, ToolCallArgs(call_id, json_text(arguments)), ToolCallEnd(call_id)], call_id

    def close(self, *, cancelled: bool) -> list[Event]:
        """The turn is over. What became of a call that is still open, nobody said."""
        found: list[Event] = []
        for call in self._calls.values():
            if call.answered:
                continue
            found += self._end(call)
            call.answered = True
            words = CANCELLED if cancelled else UNREPORTED
            if call.permission is not None:
                words += f" Permission: {call.permission}."
            state = {"status": "cancelled" if cancelled else "unknown", "lastStatus": call.status}
            metadata = {"acp": self._showing(call) | state}
            found.append(ToolCallResult(call.id, words, subagent=self._subagent, metadata=metadata))
        return found

    # -- one call

    def _apply(self, call: Call, update: dict[str, Any]) -> None:
        meta = obj(update.get("_meta"))
        vendor = obj(meta.get("claudeCode"))
        call.title = non_empty(update.get("title")) or call.title
        call.kind = non_empty(update.get("kind")) or call.kind
        name = non_empty(update.get("name")) or non_empty(vendor.get("toolName")) or non_empty(meta.get("toolName"))
        call.name = name or call.name
        call.status = non_empty(update.get("status")) or call.status
        call.parent = non_empty(vendor.get("parentToolUseId")) or call.parent
        if isinstance(update.get("locations"), list):
            call.locations = _locations(update["locations"])
        if update.get("rawInput") is not None:
            call.raw_input = update["rawInput"]
        if isinstance(update.get("content"), list):
            call.content = items(update["content"])
            call.shown_input = _object(live_text(call.content)) or call.shown_input if self._hosted.any else None
            for item in call.content:
                if item.get("type") == "terminal":
                    self._terminals.link(item.get("terminalId"), call.id)
        if update.get("rawOutput") is not None:
            call.raw_output = update["rawOutput"]
        if not call.started and self._hosted.any:
            call.tool = self._hosted.find(call.name, call.title, call.raw_input)

    # -- the client's own

    def _held_back(self, call: Call, meta: dict[str, Any]) -> bool:
        """qwen-code says what a call is of only after it has begun to prepare it."""
        preparing = self._hosted.any and meta.get("phase") == "preparing"
        return call.status not in DONE and (call.tool is not None or preparing)

    def _adopted(self, call: Call) -> bool:
        """It has come already, and is known to the client."""
        told = self._hosted.adopt(call.acp_id, call.tool, self._arguments(call)) if self._hosted.untold else None
        if told is None:
            return False
        call.id, call.tool, call.raw_input = told.id, told.tool, told.arguments
        call.started = call.ended = call.arrived = True
        call.told_input = call.raw_input
        return True

    def _arguments(self, call: Call) -> dict[str, Any] | None:
        told = self._hosted.arguments(call.raw_input)
        return call.shown_input if told is None else told

    def _agrees(self, call: Call, tool: str, arguments: dict[str, Any]) -> bool:
        """What the client was told of it is true of the one that has come."""
        return not call.started or (call.tool == tool and call.told_input == arguments)

    # -- telling

    def _start(self, call: Call) -> ToolCallStart:
        call.started = True
        if call.tool is not None:
            name = self._hosted.name(call.tool)
            return ToolCallStart(call.id, name, subagent=self._subagent, metadata={"acp": self._tell(call)})
        name = call.name or (call.kind if call.kind not in (None, "other") else None) or "tool"
        return ToolCallStart(call.id, name, subagent=self._subagent, metadata={"acp": self._tell(call)})

    def _input(self, call: Call, update: dict[str, Any]) -> Iterator[Event]:
        news = update.get("rawInput") is not None and not call.ended and call.tool is None
        if news and (delta := call.arguments.grow(call.raw_input)):
            yield ToolCallArgs(call.id, delta)
        if call.status in INPUT_FINAL:
            yield from self._end(call)

    def _end(self, call: Call) -> Iterator[Event]:
        if call.ended:
            return
        if not call.started:
            yield self._start(call)
        if call.tool is not None:
            call.raw_input = self._arguments(call) or {}
            call.arguments.grow(call.raw_input)
        call.ended, call.told_input = True, call.raw_input
        rest, right = call.arguments.finish()
        if rest:
            yield ToolCallArgs(call.id, rest)
        before = call.told
        shown = self._tell(call)
        if not right:
            # What was streamed cannot be taken back; who wants the truth finds it here.
            shown = shown | {"rawInput": call.raw_input}
        yield ToolCallEnd(call.id, {"acp": shown} if shown != before else None)

    def _live(self, call: Call) -> list[Event]:
        words = live_text(call.content)
        if words == call.printed:
            return []
        call.printed = words
        if call.live is None:
            call.live = LiveOutput(f"{call.id}:output", "tool_output", self._subagent, {"toolCallId": call.id})
        return call.live.replace(words)

    def _result(self, call: Call) -> ToolCallResult:
        call.answered = True
        given = outcome(call.content, call.raw_output, self._terminals)
        content, call.result = given.content, given.text
        if not content and call.status != "completed":
            content = f"The agent reports: {call.status}."
        extra = present({"diffs": given.diffs, "rawOutput": _small(call.raw_output)}) | given.exit
        if call.raw_input != call.told_input:
            extra["rawInput"] = _small(call.raw_input)
        return ToolCallResult(call.id, content, subagent=self._subagent, metadata={"acp": self._tell(call) | extra})

    def _shown(self, call: Call) -> list[Event]:
        before, late = call.told, self._late(call)
        shown = self._tell(call)
        if shown == before and not late:
            return []
        return [Custom("acp.tool_call", {"toolCallId": call.id, **shown, **late}, subagent=self._subagent)]

    def _late(self, call: Call) -> dict[str, Any]:
        """LiveOutput that came after the result: cline says that a call failed first, and why next."""
        if not call.answered:
            return {}
        words = outcome(call.content, call.raw_output, self._terminals).text
        before, call.result = call.result, words
        return {} if words == before else {"output": words}

    def _tell(self, call: Call) -> dict[str, Any]:
        call.told = self._showing(call)
        return call.told

    def _showing(self, call: Call) -> dict[str, Any]:
        parent = self._calls.get(call.parent or "")
        return present(
            {
                "id": call.acp_id,
                "name": call.name,
                "title": call.title,
                "kind": call.kind,
                "status": call.status,
                "locations": call.locations,
                "parentToolCallId": parent.id if parent else None,
            }
        )


def _locations(told: list[Any]) -> list[dict[str, Any]]:
    found = ({"path": non_empty(place.get("path")), "line": _line(place.get("line"))} for place in items(told))
    return [present(place) for place in found if place["path"]]


def _line(value: Any) -> int | None:
    return value if isinstance(value, int) and not isinstance(value, bool) else None


def _object(words: str) -> dict[str, Any] | None:
    """What is shown, if that is a JSON object."""
    try:
        return obj(loads(words.encode())) if words.startswith("{") else None
    except NotJson:
        return None


def _small(raw: Any) -> Any:
    if raw is None or (isinstance(raw, str) and len(raw) > RAW_CHARS):
        return None
    return raw if len(json_text(raw)) <= RAW_CHARS else None
