"""How a thread gets its session: back where it was, by whatever the agent offers; else a new one.

In: a connection, what the agent said it offers, what is wanted. Out: the session is told its id before the first of its
updates is read, and whether it knows what came before. Never: prompts.
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable
from typing import Any, Protocol

from gateway.drivers.acp.connection import Connection, Listener
from gateway.drivers.base import Opening
from gateway.errors import AgentFault, NotCapable
from gateway.wire.acp.initialize import Handshake
from gateway.wire.acp.session import SessionReader

log = logging.getLogger(__name__)

LIMIT = 120.0
"""Agents start their MCP servers before they answer `session/new`."""

Authenticate = Callable[[Connection, AgentFault], Awaitable[None]]


class SessionSetup(Listener, Protocol):
    """A session that has no id yet."""

    reader: SessionReader

    def attached(self, session_id: str) -> None: ...


class Opener:
    def __init__(self, connection: Connection, handshake: Handshake, opening: Opening, session: SessionSetup) -> None:
        self._connection, self._handshake, self._opening, self._session = connection, handshake, opening, session

    async def open(self, authenticate: Authenticate) -> bool:
        """False: it is a new session, though the thread had another."""
        try:
            return await self._open()
        except AgentFault as exc:
            if exc.code != "AUTH_REQUIRED":
                raise
            await authenticate(self._connection, exc)
            return await self._open()

    async def _open(self) -> bool:
        wanted = self._opening.session_id
        if wanted is not None and await self._come_back(wanted):
            return True
        result = await self._connection.call("session/new", where(self._opening, self._handshake), LIMIT)
        self._session.attached(named(result, "opened a session"))
        self._session.reader.state.read_result(result)
        return wanted is None and not self._opening.known

    async def _come_back(self, wanted: str) -> bool:
        for method in self._ways():
            self._session.reader.begin_replay()  # also for the two that should not replay: some agents do
            try:
                result = await self._fork(wanted) if self._opening.fork else await self._bring_back(method, wanted)
                self._session.reader.state.read_result(result)
                return True
            except AgentFault as exc:
                if exc.code == "AUTH_REQUIRED" or self._opening.fork:
                    raise
                log.info("%s of %s failed: %s", method, wanted, exc.detail)
            finally:
                self._session.reader.end_replay()
        return False

    def _ways(self) -> list[str]:
        if not self._opening.fork:
            ways = {"session/resume": self._handshake.resume, "session/load": self._handshake.load}
            return [method for method, offered in ways.items() if offered]
        if not self._handshake.fork:
            detail = "the agent cannot fork a session: custom.acp.forkSession is false, said by its handshake"
            raise NotCapable(detail, capability="custom.acp.forkSession", source="handshake")
        return ["session/fork"]

    async def _fork(self, wanted: str) -> Any:
        result = await self._ask("session/fork", wanted)
        self._session.attached(named(result, "forked a session"))  # what it replayed before its answer is read now
        return result

    async def _bring_back(self, method: str, wanted: str) -> Any:
        self._session.attached(wanted)
        try:
            return await self._ask(method, wanted)
        except BaseException:
            self._connection.detach(wanted, self._session)
            raise

    async def _ask(self, method: str, wanted: str) -> Any:
        params = {"sessionId": wanted, **where(self._opening, self._handshake)}
        return await self._connection.call(method, params, LIMIT)


def where(opening: Opening, handshake: Handshake) -> dict[str, Any]:
    """What every request that opens a session says of the place it works in."""
    place: dict[str, Any] = {"cwd": str(opening.cwd), "mcpServers": list(opening.mcp_servers)}
    if opening.additional_directories and handshake.additional_directories:
        place["additionalDirectories"] = [str(folder) for folder in opening.additional_directories]
    return place


def named(result: Any, did: str) -> str:
    if not isinstance(result, dict) or not isinstance(result.get("sessionId"), str):
        raise AgentFault(f"the agent {did} without an id", code="AGENT_PROTOCOL_ERROR")
    session_id: str = result["sessionId"]
    return session_id
