"""ACP's tool calls of one agent or subagent in one turn → start, arguments, end, live output, result.

In: `tool_call`, `tool_call_update`, `tool_call_content_chunk`, and the call inside a permission request
(https://agentclientprotocol.com/protocol/tool-calls). The first that names an id creates the call, because agents
differ in which that is. Out: events, each call closed exactly once. An agent's id is unique per turn at best, so
AG-UI's id has the turn in it. The display title never serves as a name: it changes.

A call of the client's own tools is not sent until it has reached the server of these tools, or the user is asked about
it, or it is over: the client acts on it, so it must be the call as it is.

Title, kind, status and locations of a call are in `metadata.acp`. If they change and no other event is due, CUSTOM
`acp.tool_call` carries them.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from gateway.events import Custom, Event, ToolCallArgs, ToolCallEnd, ToolCallStart
from gateway.turn import CANCELLED, UNREPORTED
from gateway.wire.acp.arguments import Arguments
from gateway.wire.acp.client_tools import ClientToolCalls
from gateway.wire.acp.results import live_text, read_result
from gateway.wire.acp.terminals import Terminals
from gateway.wire.acp.vendor_fields import read_parent_call, read_tool_name
from gateway.wire.fields import if_small, integer, items, json_text, non_empty, obj, parse_json, present
from gateway.wire.tool_calls import ToolCall
from gateway.wire.tool_calls import ToolCalls as CallTable

FINAL_INPUT_STATUSES = ("in_progress", "completed", "failed", "cancelled")
"""From these on the input does not change any more: before, it may still stream, or wait for approval."""
DONE_STATUSES = ("completed", "failed", "cancelled")
RAW_MAX_CHARS = 4_000
"""Raw input and output are repeated in metadata up to this size."""


@dataclass(slots=True)
class AcpToolCall(ToolCall):
    title: str | None = None
    kind: str | None = None
    reported_name: str | None = None
    status: str = "pending"
    locations: list[dict[str, Any]] = field(default_factory=list)
    parent_id: str | None = None
    """The agent's id of the call that made this one."""
    content: list[dict[str, Any]] = field(default_factory=list)
    raw_input: Any = None
    raw_output: Any = None
    arguments: Arguments = field(default_factory=Arguments)
    ended_input: Any = None
    """The input as it was when it was declared complete."""
    sent_metadata: dict[str, Any] = field(default_factory=dict)
    """What was last sent of the call's display fields."""
    client_tool: str | None = None
    """The client's own tool that it is a call of."""
    content_input: Any = None
    """A JSON object in its content that may be its arguments: some agents show them nowhere else."""
    has_reached_server: bool = False
    """It has reached the server of the client's own tools."""
    permission: str | None = None
    """What was decided when the agent asked for permission."""
    result_text: str = ""
    live_text: str = ""


class ToolCalls:
    def __init__(
        self, prefix: str, subagent: str | None, terminals: Terminals, client_tools: ClientToolCalls | None = None
    ) -> None:
        self._prefix = prefix
        self._subagent = subagent
        self._terminals = terminals
        self._client_tools = client_tools if client_tools is not None else ClientToolCalls()
        self._calls = CallTable(lambda agent_id: f"{prefix}:{agent_id}", AcpToolCall, reuses_ids=False)

    def get(self, agent_id: Any) -> AcpToolCall | None:
        return self._calls.get(agent_id)

    @property
    def open_calls(self) -> list[AcpToolCall]:
        """The client has seen them begin, and the agent has not reported their end."""
        return [call for call in self._calls.open_calls if call.is_started]

    def update(self, update: dict[str, Any]) -> list[Event] | None:
        """A call created or changed. None: it has no id."""
        agent_id = non_empty(update.get("toolCallId"))
        if agent_id is None:
            return None
        call = self._calls.add(agent_id, subagent=self._subagent)
        self._apply(call, update)
        is_new = not call.is_started
        events: list[Event] = []
        if is_new and not self._adopt_unreported(call):
            if self._must_wait(call, obj(update.get("_meta"))):
                return []
            events += self._start(call)
        events += self._read_input(call, update)
        events += self._terminals.read_meta(update.get("_meta"), call.id)
        if not is_new and call.is_open and call.status == "in_progress" and "content" in update:
            events += self._show_output(call)
        if is_new:
            call.live_text = live_text(call.content)
        if call.status in DONE_STATUSES and call.is_open:
            events += self._answer(call)
        return events or self._report_change(call)

    def content_chunk(self, update: dict[str, Any]) -> list[Event] | None:
        """Version 2: one more content item. None: no id, or no item."""
        agent_id = non_empty(update.get("toolCallId"))
        item = update.get("content")
        if agent_id is None or not isinstance(item, dict):
            return None
        known = self._calls.get(agent_id)
        content = [*(known.content if known else []), item]
        events = self.update({"toolCallId": agent_id, "content": content}) or []
        call = self._calls.add(agent_id)
        is_shown = call.is_answered or call.status == "in_progress"
        return events if is_shown else [*events, *self._show_output(call)]

    def end_input(self, call: AcpToolCall) -> list[Event]:
        """The input is complete: the call runs, or the user is asked about it."""
        return self._end(call)

    def park(self) -> list[Event]:
        """The run ends while the turn waits: calls that are open at the client end now."""
        return [event for call in self._calls if call.is_started for event in self._end(call)]

    # -- calls at the server of the client's own tools

    def match_call(
        self, tool: str, arguments: dict[str, Any], agent_call_id: str | None
    ) -> tuple[list[Event], str] | None:
        """The events still due of a call that has reached the server, and its id. None: it is none of these."""
        waiting = (call for call in self._calls if not call.has_reached_server and call.is_open)
        candidates = [call for call in waiting if self._agrees(call, tool, arguments)]
        if agent_call_id is not None:
            candidates = [call for call in candidates if call.agent_id == agent_call_id]
        else:
            candidates = [call for call in candidates if call.client_tool == tool]
            # Of several, the one that shows these arguments; else the first: not every agent shows them as they are.
            candidates.sort(key=lambda call: self._shown_arguments(call) != arguments)
        if not candidates:
            return None
        call = candidates[0]
        call.has_reached_server = True
        call.client_tool = tool
        call.raw_input = arguments
        return self._end(call), call.id

    def add_unreported(
        self, tool: str, arguments: dict[str, Any], agent_call_id: str | None
    ) -> tuple[list[Event], str]:
        """All events of a call that has reached the server before the agent reported it, and its id."""
        call = self._client_tools.add_unreported(self._prefix, tool, arguments, agent_call_id)
        start = ToolCallStart(call.id, self._client_tools.client_name(tool), subagent=self._subagent)
        return [start, ToolCallArgs(call.id, json_text(arguments)), ToolCallEnd(call.id)], call.id

    def close(self, *, cancelled: bool) -> list[Event]:
        """The turn is over: a call that is still open gets a result that says so."""
        events: list[Event] = []
        for call in self._calls.open_calls:
            events += self._end(call)
            content = CANCELLED if cancelled else UNREPORTED
            if call.permission is not None:
                content += f" Permission: {call.permission}."
            state = {"status": "cancelled" if cancelled else "unknown", "lastStatus": call.status}
            events += call.answer(content, {"acp": self._display_fields(call) | state})
        return events

    # -- what an update changes

    def _apply(self, call: AcpToolCall, update: dict[str, Any]) -> None:
        meta = update.get("_meta")
        call.title = non_empty(update.get("title")) or call.title
        call.kind = non_empty(update.get("kind")) or call.kind
        call.reported_name = non_empty(update.get("name")) or read_tool_name(meta) or call.reported_name
        call.status = non_empty(update.get("status")) or call.status
        call.parent_id = read_parent_call(meta) or call.parent_id
        if isinstance(update.get("locations"), list):
            call.locations = _locations(update["locations"])
        if update.get("rawInput") is not None:
            call.raw_input = _parse_input(update["rawInput"])
        if isinstance(update.get("content"), list):
            self._apply_content(call, items(update["content"]))
        if update.get("rawOutput") is not None:
            call.raw_output = update["rawOutput"]
        if not call.is_started and self._client_tools.has_tools:
            call.client_tool = self._client_tools.find_tool(call.reported_name, call.title, call.raw_input)

    def _apply_content(self, call: AcpToolCall, content: list[dict[str, Any]]) -> None:
        call.content = content
        if self._client_tools.has_tools:
            call.content_input = obj(parse_json(live_text(content))) or call.content_input
        for item in content:
            if item.get("type") == "terminal":
                self._terminals.link(item.get("terminalId"), call.id)

    # -- the client's own tools

    def _must_wait(self, call: AcpToolCall, meta: dict[str, Any]) -> bool:
        """qwen-code reports what a call is of only after it has begun to prepare it."""
        is_prepared = self._client_tools.has_tools and meta.get("phase") == "preparing"
        return call.status not in DONE_STATUSES and (call.client_tool is not None or is_prepared)

    def _adopt_unreported(self, call: AcpToolCall) -> bool:
        """Whether it has reached the server already, and is known to the client."""
        arguments = self._shown_arguments(call)
        known = self._client_tools.take_unreported(call.agent_id, call.client_tool, arguments)
        if known is None:
            return False
        call.id = known.id
        call.client_tool = known.tool
        call.raw_input = call.ended_input = known.arguments
        call.is_started = call.is_ended = call.has_reached_server = True
        return True

    def _shown_arguments(self, call: AcpToolCall) -> dict[str, Any] | None:
        arguments = self._client_tools.read_arguments(call.raw_input)
        return call.content_input if arguments is None else arguments

    def _agrees(self, call: AcpToolCall, tool: str, arguments: dict[str, Any]) -> bool:
        """Whether the events that were sent of it are true of the call at the server."""
        return not call.is_started or (call.client_tool == tool and call.ended_input == arguments)

    # -- events

    def _start(self, call: AcpToolCall) -> list[Event]:
        if call.client_tool is not None:
            call.name = self._client_tools.client_name(call.client_tool)
        elif call.reported_name is not None:
            call.name = call.reported_name
        elif call.kind not in (None, "other"):
            call.name = str(call.kind)
        return call.start({"acp": self._update_metadata(call)})

    def _read_input(self, call: AcpToolCall, update: dict[str, Any]) -> list[Event]:
        events: list[Event] = []
        if update.get("rawInput") is not None and not call.is_ended and call.client_tool is None:
            events += call.add_arguments(call.arguments.grow(call.raw_input))
        return [*events, *self._end(call)] if call.status in FINAL_INPUT_STATUSES else events

    def _end(self, call: AcpToolCall) -> list[Event]:
        if call.is_ended:
            return []
        events = [] if call.is_started else self._start(call)
        if call.client_tool is not None:
            call.raw_input = self._shown_arguments(call) or {}
            call.arguments.grow(call.raw_input)
        call.ended_input = call.raw_input
        rest, is_right = call.arguments.finish()
        events += call.add_arguments(rest)
        before = call.sent_metadata
        metadata = self._update_metadata(call)
        if not is_right:
            # What was streamed cannot be taken back; the true input is here.
            metadata = metadata | {"rawInput": call.raw_input}
        return [*events, *call.end(metadata={"acp": metadata} if metadata != before else None)]

    def _show_output(self, call: AcpToolCall) -> list[Event]:
        output = live_text(call.content)
        if output == call.live_text:
            return []
        call.live_text = output
        return call.replace_output(output)

    def _answer(self, call: AcpToolCall) -> list[Event]:
        result = read_result(call.content, call.raw_output, self._terminals)
        call.result_text = result.text
        content = result.content
        if not content and call.status != "completed":
            content = f"The agent reports: {call.status}."
        extra = present({"diffs": result.diffs, "rawOutput": _if_small(call.raw_output)}) | result.exit
        if call.raw_input != call.ended_input:
            extra["rawInput"] = _if_small(call.raw_input)
        metadata = {"acp": self._update_metadata(call) | extra}
        return call.answer(content, metadata, is_error=call.status != "completed")

    def _report_change(self, call: AcpToolCall) -> list[Event]:
        before = call.sent_metadata
        late = self._late_output(call)
        metadata = self._update_metadata(call)
        if metadata == before and not late:
            return []
        return [Custom("acp.tool_call", {"toolCallId": call.id, **metadata, **late}, subagent=self._subagent)]

    def _late_output(self, call: AcpToolCall) -> dict[str, Any]:
        """Output that came after the result: cline first reports that a call failed, then why."""
        if call.is_open:
            return {}
        before = call.result_text
        call.result_text = read_result(call.content, call.raw_output, self._terminals).text
        return {} if call.result_text == before else {"output": call.result_text}

    def _update_metadata(self, call: AcpToolCall) -> dict[str, Any]:
        call.sent_metadata = self._display_fields(call)
        return call.sent_metadata

    def _display_fields(self, call: AcpToolCall) -> dict[str, Any]:
        parent = self._calls.get(call.parent_id)
        return present(
            {
                "id": call.agent_id,
                "name": call.reported_name,
                "title": call.title,
                "kind": call.kind,
                "status": call.status,
                "locations": call.locations,
                "parentToolCallId": parent.id if parent else None,
            }
        )


def shown_call(call: AcpToolCall) -> dict[str, Any]:
    """The call in ACP's form, as a permission request would describe it."""
    fields = {"toolCallId": call.agent_id, "title": call.title, "kind": call.kind, "rawInput": call.raw_input}
    return present(fields | {"locations": call.locations})


def _locations(locations: list[Any]) -> list[dict[str, Any]]:
    return [
        present({"path": path, "line": integer(location.get("line"))})
        for location in items(locations)
        if (path := non_empty(location.get("path"))) is not None
    ]


def _parse_input(raw: Any) -> Any:
    """minion-code sends the arguments as the JSON text of an object."""
    parsed = parse_json(raw) if isinstance(raw, str) and raw.lstrip().startswith("{") else None
    return parsed if isinstance(parsed, dict) else raw


def _if_small(raw: Any) -> Any:
    return None if raw is None else if_small(raw, RAW_MAX_CHARS)
