"""The client's own tools, served to Claude Code as an MCP server of its host's: messages in, replies out, no IO.

Claude reaches such a server by `mcp_message` requests. It is registered, without a restart, right before the first
prompt that offers tools (`mcp_set_servers`), and told when they are others (`notifications/tools/list_changed`); Claude
asks for the list again before it goes on with the prompt. A call of a tool is not replied to here: it waits.
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
LONGEST_MS = 7 * 86_400_000
"""Claude's own bound for a call. The gateway's is shorter, and is the one that counts."""
REGISTER = {
    "subtype": "mcp_set_servers",
    # Else a call that takes its time would go on in the background, and the model without its result.
    "servers": {SERVER: {"type": "sdk", "name": SERVER, "timeout": LONGEST_MS, "disableAutoBackground": True}},
}
CHANGED = {
    "subtype": "mcp_message",
    "server_name": SERVER,
    "message": {"jsonrpc": "2.0", "method": "notifications/tools/list_changed"},
}
ABOUT = {"capabilities": {"tools": {"listChanged": True}}, "serverInfo": {"name": SERVER, "version": "1"}}
VERSION = "2025-06-18"

Json = dict[str, Any]


class Served:
    def __init__(self) -> None:
        self.forget()

    def forget(self) -> None:
        """A new process knows of nothing."""
        self.registered = False
        self._tools: dict[str, Tool] = {}

    def offer(self, tools: Sequence[Tool]) -> Json | None:
        """What Claude is to be told before a prompt that offers these; None: it knows."""
        before, self._tools = self._tools, by_safe_name(tools)
        if not self.registered:
            self.registered = bool(tools)
            return REGISTER if tools else None
        return CHANGED if self._tools != before else None

    @property
    def names(self) -> dict[str, str]:
        """Claude's name for a tool → the client's own."""
        return {f"{PREFIX}{name}": tool["name"] for name, tool in self._tools.items()}

    def holds(self, message: Json) -> bool:
        """It is a call that the client has to answer."""
        return message.get("method") == "tools/call" and obj(message.get("params")).get("name") in self._tools

    def reply(self, message: Json) -> Json:
        """To everything but a call. A notification, too, is replied to: that is how its request is."""
        match message.get("method"):
            case "initialize":
                version = non_empty(obj(message.get("params")).get("protocolVersion")) or VERSION
                return replied(message, {"protocolVersion": version, **ABOUT})
            case "tools/list":
                return replied(message, {"tools": [_listed(name, tool) for name, tool in self._tools.items()]})
            case "tools/call":
                return replied(message, {"content": [{"type": "text", "text": NOT_OFFERED}], "isError": True})
            case "ping":
                return replied(message, {})
            case str(method) if method.startswith("notifications/"):
                return replied(message, {})
            case method:
                error = {"code": METHOD_NOT_FOUND, "message": f"{method} is not served here"}
                return {"jsonrpc": "2.0", "id": message.get("id"), "error": error}


def result(message: Json, answer: Answer) -> Json:
    """The reply to a call."""
    content, failed = result_blocks(answer)
    return replied(message, {"content": content, **({"isError": True} if failed else {})})


def replied(message: Json, value: Json) -> Json:
    return {"jsonrpc": "2.0", "id": message.get("id", 0), "result": value}


def called_id(message: Json) -> str | None:
    """Claude's own id of the call in its conversation."""
    return non_empty(obj(obj(message.get("params")).get("_meta")).get("claudecode/toolUseId"))


def _listed(name: str, tool: Tool) -> Json:
    always = {"anthropic/alwaysLoad": True}  # else the model has to search for it first
    return {"name": name, "description": tool_description(tool), "inputSchema": input_schema(tool), "_meta": always}
