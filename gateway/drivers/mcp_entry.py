"""An MCP server as ACP lists it → as the configuration files of most command-line agents have it. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.errors import BadInput


def to_config_entry(server: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """(name, entry of `mcpServers`). Raises `BadInput` for a server without a name."""
    name = server.get("name")
    if not isinstance(name, str) or not name:
        raise BadInput("an MCP server needs a name", pointer="/forwardedProps/gateway/mcpServers")
    if "command" in server:
        entry = {"command": server["command"], "args": server.get("args", []), "env": _to_object(server.get("env"))}
    else:
        kind = server.get("type", "http")
        entry = {"type": kind, "url": server.get("url"), "headers": _to_object(server.get("headers"))}
    return name, {key: value for key, value in entry.items() if value not in ({}, [], None)}


def _to_object(pairs: Any) -> dict[str, str]:
    """`[{"name", "value"}]`, or an object already, → an object."""
    if isinstance(pairs, Mapping):
        return {str(name): str(value) for name, value in pairs.items()}
    entries = pairs if isinstance(pairs, list | tuple) else ()
    return {
        str(pair["name"]): str(pair["value"])
        for pair in entries
        if isinstance(pair, Mapping) and "name" in pair and "value" in pair
    }
