"""The client's own tools, as an agent tells of calling them, and as it calls them: one call, heard of twice.

In: what an agent shows of a tool call, in whichever words it has for the tool of an MCP server, and the calls that have
reached that server. Out: which belong together. Neither comes first for certain, for they come by different ways; and
not every agent tells of them at all. Arguments are taken from the call itself, for of these agents tell what they like.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gateway.wire.client_tools import by_safe_name
from gateway.wire.fields import non_empty, obj
from gateway.wire.mcp_server import SERVER

Arguments = dict[str, Any]

SHOWN = 200
"""A longer title is no tool's name."""
TOOL_KEYS, ARGUMENT_KEYS = ("tool", "tool_name"), ("arguments", "tool_input")
"""codex: `{"server", "tool", "arguments"}`; grok: `{"tool_name", "tool_input"}`."""
_GAP = re.compile(r"[^0-9A-Za-z]+")


@dataclass(frozen=True, slots=True)
class Untold:
    """A call that has come, of which the agent has told nothing yet. The client knows it by this id."""

    id: str
    tool: str
    arguments: Arguments
    agents_id: str | None


class ClientToolCalls:
    """Of one session."""

    def __init__(self) -> None:
        self.server = SERVER
        self._own: dict[str, str] = {}
        """Names that agents are told → the client's own."""
        self._spelled: dict[str, str] = {}
        """What agents write → the names they were told."""
        self.untold: list[Untold] = []
        self._count = 0

    def offer(self, tools: Sequence[Mapping[str, Any]], server: str) -> None:
        """These, under a server of this name. One that is gone keeps its name: a call of it may be told of again."""
        self.server = server
        self._own |= {name: tool["name"] for name, tool in by_safe_name(tools).items()}
        self._spelled = {text: name for name in self._own for text in _spellings(flat(server), flat(name))}

    @property
    def any(self) -> bool:
        return bool(self._own)

    def name(self, tool: str) -> str:
        """The client's own."""
        return self._own.get(tool, tool)

    def find(self, name: str | None, title: str | None, raw_input: Any) -> str | None:
        """The tool that a call is of, by what the agent shows; None: one of its own. A mistake costs little: the call
        is told later. A title says what a tool is doing where there is a name, so then it does not count."""
        if not self._own:
            return None
        inside = next((told for key in TOOL_KEYS if (told := non_empty(obj(raw_input).get(key)))), None)
        texts = [text for text in (inside, name or title) if text is not None and len(text) <= SHOWN]
        spelled = (self._spelled.get(flat(part)) for text in texts for part in (text, text.partition(":")[0]))
        return next((found for found in spelled if found is not None), None)

    def arguments(self, raw_input: Any) -> Arguments | None:
        """As the agent shows them; None: it does not, or not yet. Some show them inside those of a tool of their own,
        by which they call it."""
        told = obj(raw_input)
        if any(key in told for key in TOOL_KEYS):
            told = next((inner for key in ARGUMENT_KEYS if isinstance(inner := told.get(key), dict)), told)
        return told or None

    # -- calls that came first

    def new_id(self, prefix: str) -> str:
        self._count += 1
        return f"{prefix}:page-{self._count}"

    def came(self, untold: Untold) -> None:
        self.untold.append(untold)

    def adopt(self, agents_id: str, tool: str | None, arguments: Arguments | None) -> Untold | None:
        """The call that this is; from now on it is told of."""
        alike = [one for one in self.untold if one.agents_id == agents_id]
        if not alike:
            alike = [one for one in self.untold if one.agents_id is None and one.tool == tool]
            alike.sort(key=lambda one: one.arguments != arguments)
        if not alike:
            return None
        self.untold.remove(alike[0])
        return alike[0]


def flat(text: str) -> str:
    return _GAP.sub("_", text).strip("_")


def _spellings(server: str, tool: str) -> Iterable[str]:
    """`mcp__agui__tool`, `mcp.agui.tool`, `agui_tool`, `agui/tool`, `tool (agui MCP Server)`, …; or just `tool`."""
    yield from (f"mcp_{server}_{tool}", f"{server}_{tool}", tool)
    yield from (f"{tool}_{server}{rest}" for rest in ("", "_MCP", "_MCP_Server", "_mcp", "_mcp_server"))
