"""Tool calls of one session → start, arguments, end, live output, result.

In: the data of `assistant.tool_call_delta`, of a message's `toolRequests`, and of the `tool.*` events, whichever names
a call first. Out: events; each call ends once and has one result. The ids come from model providers, and some repeat
in every answer: an id that comes again after its result is another call. Free text in place of arguments
(`apply_patch`) becomes `{"input": …}`, because AG-UI's arguments are JSON.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gateway.events import Custom, Event
from gateway.wire.acp.content import to_part
from gateway.wire.fields import integer, items, json_text, non_empty, obj, present, text, value_at
from gateway.wire.tool_calls import Content, Metadata, ToolCall, ToolCalls

MAX_DETAIL_CHARS = 20_000
"""A longer `detailedContent` (a diff) is left out of the metadata: the result itself is there."""
MAX_PAST_CALLS = 200
"""Calls of earlier turns that are kept: a command in the background continues to print."""


@dataclass(slots=True)
class CopilotToolCall(ToolCall):
    is_free_text: bool = False
    output_event: str | None = None
    """Which of two kinds of events reports its output: the kind that came first."""

    def answer(self, content: Content, metadata: Metadata = None, is_error: bool | None = None) -> list[Event]:
        """The live output stays: a command in the background prints after its result."""
        output = self.output
        events = ToolCall.answer(self, content, metadata, is_error)
        self.output = output
        return events


class CopilotToolCalls:
    def __init__(self, qualify_id: Callable[[str], str]) -> None:
        self._calls = ToolCalls(qualify_id, CopilotToolCall)
        self._past_calls: dict[str, CopilotToolCall] = {}

    def start_turn(self) -> None:
        calls = self._past_calls | {call.agent_id: call for call in self._calls}
        self._past_calls = dict(list(calls.items())[-MAX_PAST_CALLS:])
        self._calls.begin_turn()

    def offer(self, client_tools: Mapping[str, str]) -> None:
        """Names that Copilot uses for the client's tools → the client's names."""
        self._calls.offer(client_tools)

    def is_client_tool(self, name: Any) -> bool:
        return isinstance(name, str) and name in self._calls.client_tools

    def find(self, call_id: Any) -> CopilotToolCall | None:
        return self._calls.get(call_id) or (self._past_calls.get(call_id) if isinstance(call_id, str) else None)

    def read_delta(self, data: dict[str, Any], subagent: str | None) -> list[Event] | None:
        """A piece of the input. None: it belongs to no call."""
        call_id = non_empty(data.get("toolCallId"))
        delta = text(data.get("inputDelta"))
        if call_id is None or delta is None:
            return None
        call = self._calls.add(call_id, non_empty(data.get("toolName")), subagent)
        if not call.is_started:
            call.is_free_text = data.get("toolType") == "custom"
        events = call.start()
        if call.is_free_text and delta:
            delta = ("" if call.pieces else '{"input":"') + _escape(delta)
        return [*events, *call.add_arguments(delta)]

    def read_call(self, data: dict[str, Any], subagent: str | None) -> list[Event] | None:
        """The whole call, with its complete input. None: it has no id."""
        call_id = non_empty(data.get("toolCallId"))
        if call_id is None:
            return None
        call = self._calls.add(call_id, non_empty(data.get("toolName")) or non_empty(data.get("name")), subagent)
        return [*call.start(), *_end(call, data)]

    def read_result(self, data: dict[str, Any], subagent: str | None) -> list[Event] | None:
        call_id = non_empty(data.get("toolCallId"))
        if call_id is None:
            return None
        call = self.find(call_id) or self._calls.add(call_id, None, subagent)
        ended = [*call.start(), *_end(call, {})]
        metadata = {"copilot": _result_metadata(data)}
        return ended + call.answer(_result_content(data), metadata, is_error=data.get("success") is not True)

    def read_output_delta(self, data: dict[str, Any]) -> list[Event] | None:
        """`tool.shell_output`: new output."""
        return self._read_output("shell_output", data, text(data.get("text")))

    def read_whole_output(self, data: dict[str, Any]) -> list[Event] | None:
        """`tool.execution_partial_result`: all output so far."""
        return self._read_output("partial_result", data, text(data.get("partialOutput")))

    def read_progress(self, data: dict[str, Any]) -> list[Event] | None:
        call = self.find(data.get("toolCallId"))
        message = text(data.get("progressMessage"))
        if call is None or message is None:
            return None
        return [Custom("copilot.progress", {"toolCallId": call.id, "message": message}, subagent=call.subagent)]

    def _read_output(self, kind: str, data: dict[str, Any], output: str | None) -> list[Event] | None:
        call = self.find(data.get("toolCallId"))
        if call is None or output is None:
            return None
        if not output or call.output_event not in (None, kind):
            return []
        call.output_event = kind
        return call.append_output(output) if kind == "shell_output" else call.replace_output(output)


def _end(call: CopilotToolCall, data: dict[str, Any]) -> list[Event]:
    """The input is complete."""
    if call.is_ended:
        return []
    arguments = data.get("arguments")
    metadata = _call_metadata(data)
    if call.is_free_text and call.pieces:
        return [*call.add_arguments('"}'), *call.end(metadata={"copilot": metadata} if metadata else None)]
    if arguments is not None and call.has_streamed_other(arguments):
        metadata["arguments"] = arguments
    if not isinstance(arguments, dict):
        arguments = {} if arguments is None else {"input": arguments}
    return call.end(arguments, {"copilot": metadata} if metadata else None)


def _escape(content: str) -> str:
    return json_text(content)[1:-1]


def _call_metadata(data: dict[str, Any]) -> dict[str, Any]:
    return present(
        {
            "title": text(data.get("toolTitle")),
            "intention": text(data.get("intentionSummary")),
            "mcpServer": text(data.get("mcpServerName")),
            "mcpTool": text(data.get("mcpToolName")),
        }
    )


def _result_content(data: dict[str, Any]) -> str | list[dict[str, Any]]:
    result = obj(data.get("result"))
    content = text(result.get("content")) or text(obj(data.get("error")).get("message")) or ""
    parts = [part for item in items(result.get("contents")) if item.get("type") != "text" and (part := to_part(item))]
    if parts:
        return [*([{"type": "text", "text": content}] if content else []), *parts]
    return content or ("" if data.get("success") is True else "The agent reports that the call failed.")


def _result_metadata(data: dict[str, Any]) -> dict[str, Any]:
    result = obj(data.get("result"))
    detail = text(result.get("detailedContent"))
    if detail == result.get("content") or (detail is not None and len(detail) > MAX_DETAIL_CHARS):
        detail = None
    edits = [present({key: text(edit.get(key)) for key in ("path", "kind")}) for edit in items(data.get("fileEdits"))]
    return present(
        {
            "success": data.get("success") is True,
            "code": text(obj(data.get("error")).get("code")),
            "exitCode": integer(value_at(data, "shellExecution", "exitCode")),
            "detail": detail,
            "fileEdits": edits,
        }
    )
