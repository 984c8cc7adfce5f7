"""The client tools of one ACP session: offered through an MCP server of the gateway, called, answered.

In: the tools that each run offers, and the calls that reach the server. Out: an entry for `mcpServers`, and to the turn
a call that the client has to answer. A session that was opened without the server is opened again when a run first
offers tools, and so is a session whose agent does not request a changed list; each time with a socket of its own.
Never: an approval. The agent decides whether it requests a permission before such a call, and the request goes to the
user like any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from gateway.background import Tasks
from gateway.catalog.definition import AgentDefinition
from gateway.drivers.acp.turn import TurnHost
from gateway.drivers.base import Opening
from gateway.drivers.client_tools import ClientToolServer, SocketPaths
from gateway.drivers.prompt_builder import PromptBuilder
from gateway.events import Warning
from gateway.turn import Answer
from gateway.wire.acp.initialize import Handshake
from gateway.wire.mcp_server import SERVER, ToolCall

RELIST_TIMEOUT_SECONDS = 3.0
"""How long an agent that is notified of changed tools may take to list them: on a busy machine it needs one second."""
CLIENT_TOOLS_DEFERRED = Warning(
    "CLIENT_TOOLS_DEFERRED",
    "the agent takes tools only when its session begins, and cannot resume a session: it did not get these tools",
    {"pointer": "/tools"},
)

Tools = Sequence[Mapping[str, Any]]


def serves_tools(definition: AgentDefinition, handshake: Handshake) -> bool:
    """Every agent takes MCP servers that it starts itself, unless its handshake excludes them. Some agents take them
    and do not use them: then the definition has `tools.clientProvided = false`."""
    claim: object = definition.capabilities.get("tools", {}).get("clientProvided")
    return handshake.mcp_stdio and claim is not False


class ClientTools:
    def __init__(
        self,
        host: TurnHost,
        prompts: PromptBuilder,
        directory: SocketPaths,
        tasks: Tasks,
        *,
        serves: bool,
        follows: bool,
    ) -> None:
        """`serves`: the agent gets client tools. `follows`: its model sees tools that change during a session."""
        self._host = host
        self._prompts = prompts
        self._directory = directory
        self._tasks = tasks
        self._serves = serves
        self._follows = follows
        self._offered: list[Mapping[str, Any]] = []
        self._server: ClientToolServer | None = None
        self._has_warned = False

    async def add_server(self, opening: Opening, handshake: Handshake, tools: Tools) -> Opening:
        """The parameters of the session, with the server among its MCP servers if there are tools to offer."""
        if not self._serves or not tools:
            return opening
        self._server = await ClientToolServer.open(self._directory, self._call, self._tasks)
        self._offered = list(tools)
        name = _choose_name(opening.mcp_servers)
        self._host.reader.client_tools.offer(tools, name)
        await self._server.offer(tools, 0.0)
        entry = self._server.entry(name, typed=handshake.protocol_version == 2)
        return replace(opening, mcp_servers=(*opening.mcp_servers, entry))

    async def offer(self, tools: Tools) -> bool:
        """The tools of a run. False: the agent will not see them in the session as it is."""
        if not self._serves or not (tools or self._server):
            return True
        hosted = self._host.reader.client_tools
        hosted.offer(tools, hosted.server)
        if self._server is None or (not self._follows and list(tools) != self._offered):
            return False
        return await self._server.offer(tools, RELIST_TIMEOUT_SECONDS)

    def warn_deferred(self) -> None:
        """The session cannot be opened again. One warning for each session."""
        if not self._has_warned:
            self._has_warned = True
            self._prompts.add_warning(CLIENT_TOOLS_DEFERRED)

    async def aclose(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            await server.aclose()

    async def _call(self, call: ToolCall) -> Answer:
        turn = self._host.turn
        if turn is None or not turn.takes_calls:
            return Answer("", "cancelled")  # no run could put it to the client
        reader = self._host.reader
        events, client_call = reader.call_client_tool(call.name, call.arguments, call.agent_call_id)
        turn.put([*events, *reader.park()])
        # Until it is answered, a result that comes later is new to the agent.
        self._prompts.mark_unanswered(client_call.id)
        answer = await turn.request_tool_result(client_call)
        if answer.status == "resolved":
            self._prompts.mark_answered(client_call.id)
        return answer


def _choose_name(servers: Sequence[Mapping[str, Any]]) -> str:
    """A name that no server of the client has: agents distinguish servers by it."""
    names = {server.get("name") for server in servers}
    name, count = SERVER, 1
    while name in names:
        count += 1
        name = f"{SERVER}{count}"
    return name
