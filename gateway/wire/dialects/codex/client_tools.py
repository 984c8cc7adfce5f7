"""The client's own tools, as Codex takes them: with the start of a thread, and never again.

In: what a run offers, and `item/tool/call` requests. Out: the parameter of `thread/start`, and the answers. A thread
that lacks a tool cannot be given it, not even when it comes back: another must be begun, and told what was said before.
Which tools a thread has that was begun by an earlier gateway, nobody knows: those that it is offered now, it is hoped.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gateway.turn import NO_RESULT, Answer
from gateway.wire.client_tools import NOT_OFFERED, Tool, by_safe_name, input_schema, result_blocks, tool_description

Json = dict[str, Any]


class Served:
    def __init__(self) -> None:
        self._offered: dict[str, Tool] = {}
        self._begun: dict[str, dict[str, Tool]] = {}
        """Threads → what they were begun with."""
        self.calls: dict[str, int | str] = {}
        """Calls that wait, by AG-UI's ids → the server's requests."""

    def offer(self, tools: Sequence[Tool]) -> None:
        self._offered = by_safe_name(tools)

    def find(self, name: Any) -> Tool | None:
        return self._offered.get(name) if isinstance(name, str) else None

    @property
    def names(self) -> dict[str, str]:
        """Codex's name for a tool → the client's own."""
        return {name: tool["name"] for name, tool in self._offered.items()}

    @property
    def params(self) -> Json:
        told = [
            {"type": "function", "name": name, "description": tool_description(tool), "inputSchema": input_schema(tool)}
            for name, tool in self._offered.items()
        ]
        return {"dynamicTools": told} if told else {}

    def begun(self, thread_id: str) -> None:
        self._begun[thread_id] = self._offered

    def lacks(self, thread_id: str) -> bool:
        """It was begun without some tool that is offered now."""
        has = self._begun.get(thread_id)
        return has is not None and any(has.get(name) != tool for name, tool in self._offered.items())

    def resolved(self, request_id: Any) -> None:
        for name, number in list(self.calls.items()):
            if number == request_id and type(number) is type(request_id):
                del self.calls[name]


def result(answer: Answer) -> Json:
    content, failed = result_blocks(answer)
    return {"contentItems": [_item(block) for block in content], "success": not failed}


def refused(*, offered: bool) -> Json:
    words = NO_RESULT if offered else NOT_OFFERED
    return {"contentItems": [{"type": "inputText", "text": words}], "success": False}


def _item(block: Json) -> Json:
    if block["type"] == "image":
        return {"type": "inputImage", "imageUrl": f"data:{block['mimeType']};base64,{block['data']}"}
    return {"type": "inputText", "text": block["text"]}
