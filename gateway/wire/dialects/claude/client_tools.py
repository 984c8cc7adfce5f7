"""Client tools as an MCP server of Claude Code's host.

Claude Code reaches such a server through `mcp_message` requests. The server is registered, without a restart, right
before the first prompt that offers tools (`mcp_set_servers`), and notified when they change
(`notifications/tools/list_changed`); Claude lists the tools again before it continues with the prompt. A call of a
tool is not replied to at once: it waits for the client's result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gateway.turn import Answer
from gateway.wire.client_tools import Tool
from gateway.wire.fields import obj, text
from gateway.wire.jsonrpc import METHOD_NOT_FOUND
from gateway.wire.mcp_server import NOT_OFFERED_RESULT, SERVER, Offer, call_result, result_of

PREFIX = f"mcp__{SERVER}__"
CALL_TIMEOUT_MS = 7 * 86_400_000
"""Claude's own limit for a call. The gateway's limit is shorter, and is the one that applies."""
REGISTER = {
    "subtype": "mcp_set_servers",
    # Otherwise a slow call would continue in the background, and the model without its result.
    "servers": {SERVER: {"type": "sdk", "name": SERVER, "timeout": CALL_TIMEOUT_MS, "disableAutoBackground": True}},
}
TOOLS_CHANGED = {
    "subtype": "mcp_message",
    "server_name": SERVER,
    "message": {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"},
}

Json = dict[str, Any]


class ClientTools:
    """The tools that a session offers."""

    def __init__(self) -> None:
        self._offer = Offer()
        self.is_registered = False

    def start_process(self) -> None:
        """A new process knows no tools."""
        self._offer = Offer()
        self.is_registered = False

    def offer(self, tools: Sequence[Tool]) -> Json | None:
        """The request to send before a prompt that offers these tools; None: Claude knows them."""
        has_changed = self._offer.change(tools)
        if not self.is_registered:
            self.is_registered = bool(tools)
            return REGISTER if tools else None
        return TOOLS_CHANGED if has_changed else None

    @property
    def names(self) -> dict[str, str]:
        """Claude's name of a tool → the client's name."""
        return {f"{PREFIX}{name}": tool["name"] for name, tool in self._offer.tools.items()}

    def read_call(self, message: Json) -> str | None:
        """Claude's name of the client tool that a message calls. None: any other message."""
        name = text(obj(message.get("params")).get("name"))
        return f"{PREFIX}{name}" if message.get("method") == "tools/call" and name in self._offer.tools else None

    def reply(self, message: Json) -> Json:
        """The response to any message that calls no client tool. The request around a notification needs one, too."""
        method = text(message.get("method")) or ""
        result = result_of(method, message.get("params"), self._offer)
        if method == "tools/call":
            result = NOT_OFFERED_RESULT
        elif method.startswith("notifications/"):
            result = {}
        if result is not None:
            return _response(message, result)
        error = {"code": METHOD_NOT_FOUND, "message": f"{method} is not served here"}
        return {"mcp_response": {"jsonrpc": "2.0", "id": message.get("id"), "error": error}}


def call_response(message: Json, answer: Answer) -> Json:
    """The response to a call, with the client's result."""
    return _response(message, call_result(answer))


def _response(message: Json, result: Json) -> Json:
    return {"mcp_response": {"jsonrpc": "2.0", "id": message.get("id", 0), "result": result}}
