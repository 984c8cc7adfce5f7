"""Client tools as an MCP server of Claude Code's host: messages in, replies out, no IO.

Claude Code reaches such a server through `mcp_message` requests. The server is registered, without a restart, right
before the first prompt that offers tools (`mcp_set_servers`), and notified when they change
(`notifications/tools/list_changed`); Claude lists the tools again before it continues with the prompt. A call of a
tool is not replied to at once: it waits for the client's result.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gateway.turn import Answer
from gateway.wire.client_tools import NOT_OFFERED, Tool, by_safe_name, input_schema, result_blocks, tool_description
from gateway.wire.fields import non_empty, obj
from gateway.wire.jsonrpc import METHOD_NOT_FOUND

SERVER = "agui"
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
SERVER_INFO = {"capabilities": {"tools": {"listChanged": True}}, "serverInfo": {"name": SERVER, "version": "1"}}
VERSION = "2025-06-18"

Json = dict[str, Any]


class ClientTools:
    """The tools that a session offers."""

    def __init__(self) -> None:
        self._tools: dict[str, Tool] = {}
        self.is_registered = False

    def start_process(self) -> None:
        """A new process knows no tools."""
        self._tools = {}
        self.is_registered = False

    def offer(self, tools: Sequence[Tool]) -> Json | None:
        """The request to send before a prompt that offers these tools; None: Claude knows them."""
        before, self._tools = self._tools, by_safe_name(tools)
        if not self.is_registered:
            self.is_registered = bool(tools)
            return REGISTER if tools else None
        return TOOLS_CHANGED if self._tools != before else None

    @property
    def names(self) -> dict[str, str]:
        """Claude's name of a tool → the client's name."""
        return {f"{PREFIX}{name}": tool["name"] for name, tool in self._tools.items()}

    def is_call(self, message: Json) -> bool:
        """The message calls a tool that the client runs."""
        return message.get("method") == "tools/call" and _tool_name(message) in self._tools

    def native_name(self, message: Json) -> str:
        return f"{PREFIX}{_tool_name(message)}"

    def reply(self, message: Json) -> Json:
        """The reply to any message that is no call. The request around a notification needs one, too."""
        match message.get("method"):
            case "initialize":
                version = non_empty(obj(message.get("params")).get("protocolVersion")) or VERSION
                return _reply(message, {"protocolVersion": version, **SERVER_INFO})
            case "tools/list":
                return _reply(message, {"tools": [_list_tool(name, tool) for name, tool in self._tools.items()]})
            case "tools/call":
                return _reply(message, {"content": [{"type": "text", "text": NOT_OFFERED}], "isError": True})
            case "ping":
                return _reply(message, {})
            case str(method) if method.startswith("notifications/"):
                return _reply(message, {})
            case method:
                error = {"code": METHOD_NOT_FOUND, "message": f"{method} is not served here"}
                return {"jsonrpc": "2.0", "id": message.get("id"), "error": error}

    def call_response(self, message: Json, answer: Answer) -> Json:
        """The response to a call, with the client's result."""
        content, is_error = blocks(answer)
        return {"mcp_response": _reply(message, {"content": content, "isError": is_error})}


def _tool_name(message: Json) -> str:
    return non_empty(obj(message.get("params")).get("name")) or ""


def _reply(message: Json, value: Json) -> Json:
    return {"jsonrpc": "2.0", "id": message.get("id", 0), "result": value}


def _list_tool(name: str, tool: Tool) -> Json:
    meta = {"anthropic/alwaysLoad": True}  # otherwise the model has to search for the tool first
    return {"name": name, "description": described(tool), "inputSchema": schema(tool), "_meta": meta}
