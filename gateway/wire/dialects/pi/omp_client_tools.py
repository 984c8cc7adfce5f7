"""The client's tools as omp's host tools: `set_host_tools`, at any time, and `host_tool_call`.

In: the tools of a run, calls, and their results. Out: the command and the results for omp. The events of a call are the
dialect's.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gateway.turn import Answer
from gateway.wire.client_tools import NOT_OFFERED, Tool, by_safe_name, input_schema, result_blocks, tool_description

Json = dict[str, Any]


class HostTools:
    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        self._request_ids: dict[str, Any] = {}
        """AG-UI's id of a call that waits for its result → omp's id of the request."""

    def clear(self) -> None:
        """A new process has no tools."""
        self._tools = {}
        self._request_ids = {}

    @property
    def names(self) -> dict[str, str]:
        """omp's name of a tool → the client's."""
        return {name: tool["name"] for name, tool in self._tools.items()}

    def offer(self, tools: Sequence[Tool]) -> Json | None:
        """The command that must come before a prompt with these tools; None: omp has them."""
        before = self._tools
        self._tools = by_safe_name(tools)
        if self._tools == before:
            return None
        return {"type": "set_host_tools", "tools": [_to_host_tool(name, tool) for name, tool in self._tools.items()]}

    def add_call(self, call_id: str, request_id: Any) -> None:
        self._request_ids[call_id] = request_id

    def withdraw_call(self, request_id: Any) -> None:
        """omp no longer waits for the result."""
        self._request_ids = {key: value for key, value in self._request_ids.items() if value != request_id}

    def answer(self, call_id: str, answer: Answer) -> Json | None:
        """The result to send; None: no such call waits."""
        request_id = self._request_ids.pop(call_id, None)
        if request_id is None:
            return None
        content, is_error = result_blocks(answer)
        result = {"type": "host_tool_result", "id": request_id, "result": {"content": content}}
        return result | ({"isError": True} if is_error else {})


def refuse_call(request_id: Any) -> Json:
    """omp waits for a result of every call, also of a tool that is not offered."""
    content = [{"type": "text", "text": NOT_OFFERED}]
    return {"type": "host_tool_result", "id": request_id, "result": {"content": content}, "isError": True}


def _to_host_tool(name: str, tool: Tool) -> Json:
    return {
        "name": name,
        "label": tool["name"],
        "description": tool_description(tool),
        "parameters": input_schema(tool),
        "loadMode": "essential",  # otherwise the model only learns how to search for the tool
    }
