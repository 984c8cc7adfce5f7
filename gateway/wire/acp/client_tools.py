"""Calls of the client's own tools, which the gateway sees twice: as ACP's tool calls, and at its MCP server.

In: what an agent reports of a tool call, by whatever name it has for an MCP server's tool, and the calls that have
reached the server. Out: which of them are the same. Either may come first, because they come over different
connections, and some agents report none. Arguments are taken from the call at the server: what agents report of them
varies.
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

MAX_NAME_CHARS = 200
"""A longer title is no tool's name."""
TOOL_KEYS = ("tool", "tool_name")
ARGUMENT_KEYS = ("arguments", "tool_input")
"""codex: `{"server", "tool", "arguments"}`; grok: `{"tool_name", "tool_input"}`."""
_SEPARATORS = re.compile(r"[^0-9A-Za-z]+")


@dataclass(frozen=True, slots=True)
class UnreportedCall:
    """A call that has reached the server, and that the agent has not reported yet. The client knows it by this id."""

    id: str
    tool: str
    arguments: Arguments
    agent_call_id: str | None


class ClientToolCalls:
    """The client's own tools in one session, and the calls of them that the agent has not reported."""

    def __init__(self) -> None:
        self.server = SERVER
        self._client_names: dict[str, str] = {}
        """Names that agents are offered → the client's own."""
        self._spellings: dict[str, str] = {}
        """What agents write → the names they were offered."""
        self._unreported: list[UnreportedCall] = []
        self._count = 0

    def offer(self, tools: Sequence[Mapping[str, Any]], server: str) -> None:
        """Offer these tools, under a server of this name. A tool that is no longer offered keeps its name: an agent may
        still report a call of it."""
        self.server = server
        self._client_names |= {name: tool["name"] for name, tool in by_safe_name(tools).items()}
        self._spellings = {text: name for name in self._client_names for text in _spell(flat(server), flat(name))}

    @property
    def has_tools(self) -> bool:
        return bool(self._client_names)

    def client_name(self, tool: str) -> str:
        return self._client_names.get(tool, tool)

    def find_tool(self, name: str | None, title: str | None, raw_input: Any) -> str | None:
        """The tool that a reported call is of; None: one of the agent's own. A mistake costs little: the call is
        reported later. Where there is a name, the title only says what the tool is doing, and does not count."""
        if not self._client_names:
            return None
        inner = next((tool for key in TOOL_KEYS if (tool := non_empty(obj(raw_input).get(key)))), None)
        texts = [text for text in (inner, name or title) if text is not None and len(text) <= MAX_NAME_CHARS]
        matches = (self._spellings.get(flat(part)) for text in texts for part in (text, text.partition(":")[0]))
        return next((tool for tool in matches if tool is not None), None)

    def read_arguments(self, raw_input: Any) -> Arguments | None:
        """The arguments as the agent reports them; None: not, or not yet. Some agents report them inside the arguments
        of a tool of their own, by which they call it."""
        arguments = obj(raw_input)
        if any(key in arguments for key in TOOL_KEYS):
            inner = (value for key in ARGUMENT_KEYS if isinstance(value := arguments.get(key), dict))
            arguments = next(inner, arguments)
        return arguments or None

    # -- calls that reached the server first

    def begin_turn(self) -> None:
        self._unreported.clear()

    def add_unreported(self, prefix: str, tool: str, arguments: Arguments, agent_call_id: str | None) -> UnreportedCall:
        self._count += 1
        call = UnreportedCall(f"{prefix}:page-{self._count}", tool, arguments, agent_call_id)
        self._unreported.append(call)
        return call

    def take_unreported(
        self, agent_call_id: str, tool: str | None, arguments: Arguments | None
    ) -> UnreportedCall | None:
        """The call that the agent now reports. From here on it counts as reported."""
        candidates = [call for call in self._unreported if call.agent_call_id == agent_call_id]
        if not candidates:
            candidates = [call for call in self._unreported if call.agent_call_id is None and call.tool == tool]
            candidates.sort(key=lambda call: call.arguments != arguments)
        if not candidates:
            return None
        self._unreported.remove(candidates[0])
        return candidates[0]


def flat(text: str) -> str:
    return _SEPARATORS.sub("_", text).strip("_")


def _spell(server: str, tool: str) -> Iterable[str]:
    """`mcp__agui__tool`, `mcp.agui.tool`, `agui_tool`, `agui/tool`, `tool (agui MCP Server)`, …; or just `tool`."""
    yield from (f"mcp_{server}_{tool}", f"{server}_{tool}", tool)
    yield from (f"{tool}_{server}{rest}" for rest in ("", "_MCP", "_MCP_Server", "_mcp", "_mcp_server"))
