"""The client's own tools in one ACP session: offered through an MCP server of the gateway's, called, answered.

In: what each run offers, and the calls that reach the server. Out: an entry for `mcpServers`, and to the turn a call
that the client has to answer. A session that was opened without the server is opened anew when a run first offers
tools, and so is one whose agent does not ask for tools that have changed; each time at a socket of its own. Never a
yes: whether an agent asks before it calls such a tool is for the agent to decide, and its question is put to people as
any other.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, Protocol

from gateway.background import Tasks
from gateway.catalog.definition import AgentDefinition
from gateway.drivers.acp.turn import AcpTurn
from gateway.drivers.base import Opening
from gateway.drivers.client_tools import ClientToolServer, SocketDirectory
from gateway.drivers.prompt_builder import PromptBuilder
from gateway.events import Warning
from gateway.turn import Answer
from gateway.wire.acp.initialize import Handshake
from gateway.wire.acp.session import SessionReader
from gateway.wire.mcp_server import SERVER, ToolCall

ASKS_WITHIN = 3.0
"""How long an agent that is told of other tools may take to ask for them: a busy machine needs one of it."""
LATE = "the agent takes tools only when its session begins, and cannot come back to it: it was not told of these"

Tools = Sequence[Mapping[str, Any]]


class ClientToolHost(Protocol):
    """The session, as it is seen here."""

    reader: SessionReader

    @property
    def turn(self) -> AcpTurn | None: ...


def serves_tools(definition: AgentDefinition, handshake: Handshake) -> bool:
    """Every agent takes servers that it starts itself, unless it says otherwise; some take them and leave them be."""
    said: object = definition.capabilities.get("tools", {}).get("clientProvided")
    return handshake.probe_mcp_stdio and said is not False


class ClientTools:
    def __init__(
        self,
        host: ClientToolHost,
        telling: PromptBuilder,
        folder: SocketDirectory,
        tasks: Tasks,
        *,
        serves: bool,
        follows: bool,
    ) -> None:
        """`follows`: the agent's model sees tools that change while the session is open."""
        self._host, self._telling, self._folder, self._tasks = host, telling, folder, tasks
        self._serves, self._follows = serves, follows
        self._offered: list[Mapping[str, Any]] = []
        self._server: ClientToolServer | None = None
        self._warned = False

    async def opening(self, opening: Opening, handshake: Handshake, tools: Tools) -> Opening:
        """With the server among the others, if these tools are to be offered by it."""
        if not self._serves or not tools:
            return opening
        self._server = await ClientToolServer.opened(self._folder, self._called, self._tasks)
        self._offered = list(tools)
        name = _free_name(opening.mcp_servers)
        self._host.reader.hosted.offer(tools, name)
        await self._server.offer(tools, 0.0)
        entry = self._server.entry(name, typed=handshake.protocol_version == 2)
        return replace(opening, mcp_servers=(*opening.mcp_servers, entry))

    async def offer(self, tools: Tools) -> bool:
        """What this run offers. False: the agent will not see it in the session as it is."""
        if not self._serves or not (tools or self._server):
            return True
        hosted = self._host.reader.hosted
        hosted.offer(tools, hosted.server)
        if self._server is None or (not self._follows and list(tools) != self._offered):
            return False
        return await self._server.offer(tools, ASKS_WITHIN)

    def too_late(self) -> None:
        """There is no way to open the session anew. Said once."""
        if not self._warned:
            self._warned = True
            self._telling.warned.append(Warning("CLIENT_TOOLS_DEFERRED", LATE, {"pointer": "/tools"}))

    async def aclose(self) -> None:
        server, self._server = self._server, None
        if server is not None:
            await server.aclose()

    async def _called(self, call: ToolCall) -> Answer:
        turn = self._host.turn
        if turn is None or not turn.takes_calls:
            return Answer("", "cancelled")  # nobody is there to answer it
        reader = self._host.reader
        events, known = reader.client_call(call.name, call.arguments, call.agent_call_id)
        turn.put([*events, *reader.park()])
        # Until it is answered a result is news to the agent, should it come after all.
        self._telling.owed.add(known.id)
        answer = await turn.call(known)
        if answer.status == "resolved":
            self._telling.owed.discard(known.id)
        return answer


def _free_name(servers: Sequence[Mapping[str, Any]]) -> str:
    """One that no server of the client's has: agents tell servers apart by it."""
    taken, name, count = {server.get("name") for server in servers}, SERVER, 1
    while name in taken:
        count += 1
        name = f"{SERVER}{count}"
    return name
