"""Client tools for Codex, which takes them only when a thread is started.

In: the tools that a run offers, and `item/tool/call` requests. Out: the parameter of `thread/start`, and the responses.
A thread that lacks a tool cannot be given it later, not even when it is resumed: another thread must be started with
the conversation so far. The tools of a thread that an earlier gateway process started are unknown; they are assumed to
be those that the run offers.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gateway.turn import NO_RESULT, Answer
from gateway.wire.client_tools import NOT_OFFERED, Tool, by_safe_name, input_schema, result_blocks, tool_description

Json = dict[str, Any]


class ClientTools:
    """The tools that a session offers, and the calls that wait for the client."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        self._tools_by_thread: dict[str, dict[str, Tool]] = {}
        """The tools that a thread was started with."""
        self._open: dict[str, int | str] = {}
        """AG-UI's id of a call → the id of Codex's request."""

    def offer(self, tools: Sequence[Tool]) -> None:
        """The tools of a new turn or thread. Calls of the turn before no longer wait."""
        self._tools = by_safe_name(tools)
        self._open.clear()

    def find(self, name: Any) -> Tool | None:
        return self._tools.get(name) if isinstance(name, str) else None

    def client_name(self, name: str) -> str:
        """The client's name of a tool that Codex calls by `name`."""
        tool = self.find(name)
        return name if tool is None else tool["name"]

    @property
    def params(self) -> Json:
        tools = [
            {"type": "function", "name": name, "description": tool_description(tool), "inputSchema": input_schema(tool)}
            for name, tool in self._tools.items()
        ]
        return {"dynamicTools": tools} if tools else {}

    def set_started(self, thread_id: str) -> None:
        """The thread was started with the tools on offer."""
        self._tools_by_thread[thread_id] = self._tools

    def is_missing_tools(self, thread_id: str) -> bool:
        """The thread was started without a tool that is on offer now."""
        tools = self._tools_by_thread.get(thread_id)
        return tools is not None and any(tools.get(name) != tool for name, tool in self._tools.items())

    # -- calls

    def add_call(self, call_id: str, request_id: int | str) -> None:
        self._open[call_id] = request_id

    def pop_call(self, call_id: str) -> int | str | None:
        """The id of Codex's request. None: the call is not open."""
        return self._open.pop(call_id, None)

    def drop_request(self, request_id: Any) -> None:
        """Codex no longer waits for a response to this request."""
        for call_id, open_id in list(self._open.items()):
            if open_id == request_id and type(open_id) is type(request_id):
                del self._open[call_id]


def call_result(answer: Answer) -> Json:
    content, is_error = result_blocks(answer)
    return {"contentItems": [_to_content_item(block) for block in content], "success": not is_error}


def refused_call_result(*, is_offered: bool) -> Json:
    message = NO_RESULT if is_offered else NOT_OFFERED
    return {"contentItems": [{"type": "inputText", "text": message}], "success": False}


def _to_content_item(block: Json) -> Json:
    if block["type"] == "image":
        return {"type": "inputImage", "imageUrl": f"data:{block['mimeType']};base64,{block['data']}"}
    return {"type": "inputText", "text": block["text"]}
