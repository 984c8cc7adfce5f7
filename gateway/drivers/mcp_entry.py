"""An MCP server as ACP lists it → as the configuration files of most command-line agents have it. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, Literal

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


def check_literal(name: str, entry: Mapping[str, Any], reserved: Mapping[Literal["any", "headers"], str]) -> None:
    """`entry`: of `to_config_entry`. `reserved`: `any` and `headers` → a regular expression. Raises `BadInput` for a
    value that the agent would not take literally."""
    for kind, pattern in reserved.items():
        values = entry.get("headers", {}) if kind == "headers" else entry
        if any(re.search(pattern, value) for value in _list_texts(values)):
            where = "a header" if kind == "headers" else "a value"
            raise BadInput(
                f"the MCP server {name!r} has {where} that the agent would not take literally, but replace by a "
                "variable of its environment or run as a command. Write it differently, or choose another agent.",
                pointer="/forwardedProps/gateway/mcpServers",
            )


def _list_texts(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, Mapping):
        for item in value.values():
            yield from _list_texts(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from _list_texts(item)


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
