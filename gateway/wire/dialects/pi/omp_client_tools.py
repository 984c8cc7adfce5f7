"""The client's own tools, as omp's host offers them: `set_host_tools`, at any time, and `host_tool_call`.

In: what a run offers, calls, and what came of them. Out: the command and the results. Which call is shown how is the
dialect's affair.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gateway.turn import Answer
from gateway.wire.client_tools import NOT_OFFERED, Tool, by_safe_name, input_schema, result_blocks, tool_description

Json = dict[str, Any]


class Served:
    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """A new process knows of nothing."""
        self._offered: dict[str, Tool] = {}
        self.calls: dict[str, str] = {}
        """Calls that wait, by AG-UI's ids → omp's own."""

    @property
    def names(self) -> dict[str, str]:
        """omp's name for a tool → the client's own."""
        return {name: tool["name"] for name, tool in self._offered.items()}

    def offer(self, tools: Sequence[Tool]) -> Json | None:
        """The command that is to come before a prompt which offers these; None: omp knows."""
        before, self._offered = self._offered, by_safe_name(tools)
        if self._offered == before:
            return None
        return {"type": "set_host_tools", "tools": [_told(name, tool) for name, tool in self._offered.items()]}

    def called_off(self, omps: Any) -> None:
        for call_id in [call_id for call_id, number in self.calls.items() if number == omps]:
            del self.calls[call_id]


def _told(name: str, tool: Tool) -> Json:
    about = {
        "name": name,
        "label": tool["name"],
        "description": tool_description(tool),
        "parameters": input_schema(tool),
    }
    return {**about, "loadMode": "essential"}  # else the model is only told how to look for it


def result(omps: Any, answer: Answer) -> Json:
    content, failed = result_blocks(answer)
    told = {"type": "host_tool_result", "id": omps, "result": {"content": content}}
    return told | ({"isError": True} if failed else {})


def refused(omps: Any) -> Json:
    content = [{"type": "text", "text": NOT_OFFERED}]
    return {"type": "host_tool_result", "id": omps, "result": {"content": content}, "isError": True}
