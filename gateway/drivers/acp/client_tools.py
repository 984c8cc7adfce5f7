"""The client tools of one ACP session: offered through an MCP server of the gateway, called, answered.

In: the tools that each run offers, and the calls that reach the server. Out: an entry for `mcpServers`, and to the turn
a call that the client has to answer. A session that was opened without the server is opened again when a run first
offers tools, and so is a session whose agent does not request a changed list; each time with a socket of its own. An
agent that never asks for the tools is reported (`TOOLS_DROPPED`): there is no other sign of it. Never: an approval. The
agent decides whether it requests a permission before such a call, and the request goes to the user like any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any
from uuid import uuid4

import anyio

from gateway.background import Tasks
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.sections import Acp
from gateway.drivers.acp.corrections import CLIENT_TOOLS
from gateway.drivers.acp.turn import TurnHost
from gateway.drivers.base import Opening
from gateway.drivers.client_tools import ClientToolServer, SocketPaths
from gateway.drivers.prompt_builder import TOOLS_DROPPED, PromptBuilder
from gateway.events import Event, Layer, Warning
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

LIST_TIMEOUT_SECONDS = 3.0
"""How long the first prompt of a session waits for the agent to ask for the tools."""
LIST_READ_SECONDS = 0.1
"""How long an agent that has asked for the tools only now may take to read the list: MCP has no sign of that."""
TOOLS_NOT_LISTED = Warning(
    TOOLS_DROPPED.code,
    "the agent was given the application's tools as an MCP server and did not ask for them: its model did not get them",
    {"pointer": "/tools"},
)

Tools = Sequence[Mapping[str, Any]]


def serves_tools(definition: AgentDefinition, handshake: Handshake) -> bool:
    """Every agent is offered the server, unless its handshake excludes servers that it starts itself, or its definition
    says that it does not use them (`tools.clientProvided = false`). Whether it uses the server shows when it asks for
    the tools."""
    claim: object = definition.capabilities.get("tools", {}).get("clientProvided")
    return handshake.mcp_stdio and claim is not False


class ListingHabit:
    """What is known of when an agent asks for the tools, over all its sessions."""

    def __init__(self) -> None:
        self.is_prompt = True
        """It asks when the session opens, so that the first prompt can wait for it."""


class ClientTools:
    def __init__(
        self,
        host: TurnHost,
        prompts: PromptBuilder,
        directory: SocketPaths,
        tasks: Tasks,
        *,
        settings: Acp,
        habit: ListingHabit,
        serves: bool,
    ) -> None:
        """`serves`: the agent gets client tools."""
        self._host = host
        self._prompts = prompts
        self._directory = directory
        self._tasks = tasks
        self._habit = habit
        self._serves = serves
        self._follows = settings.client_tools == "per-turn"
        """Its model sees tools that change during a session."""
        self._has_unique_name = settings.client_tools_server == "unique"
        self._offered: list[Mapping[str, Any]] = []
        self._server: ClientToolServer | None = None
        self._has_warned = False
        self._has_missed = False
        """A turn has ended, and the agent had not asked for the tools."""

    @property
    def layer(self) -> Layer:
        """Whether this session has shown that its agent uses client tools. Empty: not yet."""
        if self._server is None:
            return {}
        if self._server.was_listed:
            return {CLIENT_TOOLS: True}
        return {CLIENT_TOOLS: False} if self._has_missed else {}

    async def wait_until_listed(self) -> None:
        """Some agents start their servers beside the first prompt, whose model would not have the tools. They get a
        moment, unless the agent has let one pass before."""
        server = self._server
        if server is None or server.was_listed or not self._habit.is_prompt:
            return
        self._habit.is_prompt = await server.wait_until_listed(LIST_TIMEOUT_SECONDS)
        if self._habit.is_prompt:
            await anyio.sleep(LIST_READ_SECONDS)

    def end_turn(self) -> list[Event]:
        """The warning that is due at the end of a turn: the agent has not asked for the tools. Once for a session."""
        if self._server is None or self._server.was_listed or self._has_missed or not self._offered:
            return []
        self._has_missed = True
        return [TOOLS_NOT_LISTED]

    async def add_server(self, opening: Opening, handshake: Handshake, tools: Tools) -> Opening:
        """The parameters of the session, with the server among its MCP servers if there are tools to offer."""
        if not self._serves or not tools:
            return opening
        self._server = await ClientToolServer.open(self._directory, self._call, self._tasks)
        self._offered = list(tools)
        name = _choose_name(opening.mcp_servers, unique=self._has_unique_name)
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


def _choose_name(servers: Sequence[Mapping[str, Any]], *, unique: bool) -> str:
    """A name that no server of the client has: agents distinguish servers by it."""
    names = {server.get("name") for server in servers}
    name, count = f"{SERVER}{uuid4().hex[:8]}" if unique else SERVER, 1
    while name in names:
        count += 1
        name = f"{SERVER}{count}"
    return name
