"""The tools that a server lists → bounded JSON. Pure.

In: pages of MCP's `Tool` objects, as JSON (https://modelcontextprotocol.io/specification/2025-06-18/server/tools). Out:
for each tool its name, description and schema, and MCP's annotations. What is too large is left out, and the list is
marked as incomplete.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from gateway.errors import NotJson
from gateway.jsonio import loads

MAX_TOOLS = 512
MAX_LIST_BYTES = 512 * 1024
"""Of all tools of one server together."""
MAX_NAME_CHARS = 256
MAX_DESCRIPTION_CHARS = 8 * 1024
MAX_SCHEMA_BYTES = 64 * 1024


@dataclass(frozen=True, slots=True)
class ToolList:
    """The tools of one server, in its own order, each name once."""

    tools: list[dict[str, Any]] = field(default_factory=list)
    """`name` and `description`, and where the server has them `parameters`, `title`, `annotations`."""
    complete: bool = True
    """False: the server has more tools than are kept."""


class ToolCollector:
    """Collects the pages of a list, one after the other."""

    def __init__(self) -> None:
        self._tools: dict[str, dict[str, Any]] = {}
        self._size = 0
        self.is_full = False

    def add(self, page: Iterable[Mapping[str, Any]]) -> None:
        for entry in page:
            if self.is_full:
                return
            tool = _read_tool(entry)
            if tool is None or tool["name"] in self._tools:
                continue
            self._size += json_size(tool) or 0
            self.is_full = len(self._tools) >= MAX_TOOLS or self._size > MAX_LIST_BYTES
            if not self.is_full:
                self._tools[tool["name"]] = tool

    def to_list(self, *, has_more: bool = False) -> ToolList:
        """`has_more`: there are pages that were not read."""
        return ToolList(list(self._tools.values()), not self.is_full and not has_more)


def truncate_page(message: dict[str, Any]) -> dict[str, Any]:
    """A page of thousands of tools, cut before the SDK validates each: one more is left than is kept, so that the list
    still counts as incomplete."""
    match message:
        case {"result": {"tools": list(tools)} as result} if len(tools) > MAX_TOOLS:
            return {**message, "result": {**result, "tools": tools[: MAX_TOOLS + 1]}}
        case _:
            return message


def _read_tool(entry: Mapping[str, Any]) -> dict[str, Any] | None:
    name = entry.get("name")
    if not isinstance(name, str) or not 0 < len(name) <= MAX_NAME_CHARS:
        return None
    tool: dict[str, Any] = {"name": name, "description": _read_text(entry.get("description")) or ""}
    schema, title, annotations = entry.get("inputSchema"), _read_text(entry.get("title")), entry.get("annotations")
    if isinstance(schema, Mapping) and (json_size(schema) or math.inf) <= MAX_SCHEMA_BYTES:
        tool["parameters"] = schema
    if title:
        tool["title"] = title
    if isinstance(annotations, Mapping) and annotations:
        tool["annotations"] = {key: value for key, value in annotations.items() if isinstance(value, bool)}
    return tool if json_size(tool) is not None else None


def json_size(value: Any) -> int | None:
    """In bytes. None: a snapshot cannot hold it (half a surrogate pair, an infinite number, endless nesting)."""
    try:
        data = orjson.dumps(value)
        loads(data)
    except (TypeError, NotJson):
        return None
    return len(data)


def _read_text(value: Any) -> str | None:
    return value[:MAX_DESCRIPTION_CHARS] if isinstance(value, str) else None
