"""What a server says its tools are → bounded JSON. Pure.

In: pages of MCP's `Tool` objects, as JSON. Out: for each tool its name, description and schema, and the marks that MCP
has for it. What is too much is left out, and that it was is told.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

import orjson

from gateway.errors import NotJson
from gateway.jsonio import loads

MOST_TOOLS = 512
MOST_BYTES = 512 * 1024
"""Of all tools of one server together."""
NAME, WORDS, SCHEMA = 256, 8 * 1024, 64 * 1024
"""Characters of a name and of a description, bytes of a schema."""


@dataclass(frozen=True, slots=True)
class Listing:
    """The tools of one server, in its own order, each name once."""

    tools: list[dict[str, Any]] = field(default_factory=list)
    """`name description`, and where told `parameters title annotations`."""
    complete: bool = True
    """False: it has more than are kept."""


class Gathering:
    """Pages, one after the other."""

    def __init__(self) -> None:
        self._found: dict[str, dict[str, Any]] = {}
        self._bytes = 0
        self.full = False

    def add(self, page: Iterable[Mapping[str, Any]]) -> None:
        for told in page:
            if self.full:
                return
            tool = _tool(told)
            if tool is None or tool["name"] in self._found:
                continue
            self._bytes += size(tool) or 0
            self.full = len(self._found) >= MOST_TOOLS or self._bytes > MOST_BYTES
            if not self.full:
                self._found[tool["name"]] = tool

    def listing(self, *, more: bool = False) -> Listing:
        """`more`: there are pages that nobody read."""
        return Listing(list(self._found.values()), not self.full and not more)


def cut(message: dict[str, Any]) -> dict[str, Any]:
    """A page of thousands, before the SDK spends its time on each: one more is left than is kept, so that it shows."""
    match message:
        case {"result": {"tools": list(tools)} as result} if len(tools) > MOST_TOOLS:
            return {**message, "result": {**result, "tools": tools[: MOST_TOOLS + 1]}}
        case _:
            return message


def _tool(told: Mapping[str, Any]) -> dict[str, Any] | None:
    name = told.get("name")
    if not isinstance(name, str) or not 0 < len(name) <= NAME:
        return None
    tool: dict[str, Any] = {"name": name, "description": _words(told.get("description")) or ""}
    schema, title, marks = told.get("inputSchema"), _words(told.get("title")), told.get("annotations")
    if isinstance(schema, Mapping) and (size(schema) or math.inf) <= SCHEMA:
        tool["parameters"] = schema
    if title:
        tool["title"] = title
    if isinstance(marks, Mapping) and marks:
        tool["annotations"] = {key: value for key, value in marks.items() if isinstance(value, bool)}
    return tool if size(tool) is not None else None


def size(value: Any) -> int | None:
    """In bytes; None: a snapshot cannot carry it (half a character, a number without end, nesting without end)."""
    try:
        data = orjson.dumps(value)
        loads(data)
    except (TypeError, NotJson):
        return None
    return len(data)


def _words(told: Any) -> str | None:
    return told[:WORDS] if isinstance(told, str) else None
