"""How a thread gets its session: resumed by whatever the agent offers for it, else a new one.

In: a connection, the agent's handshake, the parameters of the session. Out: the session gets its id before the first of
its updates is read, and learns whether the agent knows the conversation so far. Never: prompts.
https://agentclientprotocol.com/protocol/v2/session-setup#creating-a-session
"""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Protocol

from gateway.drivers.acp.connection import Connection, Listener
from gateway.drivers.acp.minute_file import MinuteFile
from gateway.drivers.base import Opening
from gateway.errors import AgentFault, NotCapable
from gateway.wire.acp.initialize import Handshake
from gateway.wire.acp.session import SessionReader

log = logging.getLogger(__name__)

OPEN_TIMEOUT_SECONDS = 120.0
"""Agents start their MCP servers before they answer `session/new`."""
FORK = "custom.acp.forkSession"
LOAD = "session/load"

NO_MINUTE_FILE = MinuteFile(None)

Authenticate = Callable[[Connection, AgentFault], Awaitable[None]]


class NewSession(Listener, Protocol):
    """A session that has no id yet."""

    @property
    def reader(self) -> SessionReader: ...

    def attach(self, session_id: str) -> None:
        """The session has this id; from now on it gets its updates."""


class SessionSetup:
    def __init__(
        self,
        connection: Connection,
        handshake: Handshake,
        opening: Opening,
        session: NewSession,
        source_of: Callable[[str], str],
        meta: Mapping[str, Any] | None = None,
        minute_file: MinuteFile = NO_MINUTE_FILE,
    ) -> None:
        """`source_of`: who denies a path of the handshake. `meta`: `_meta` of the requests."""
        self._connection = connection
        self._handshake = handshake
        self._opening = opening
        self._session = session
        self._source_of = source_of
        self._has_lost_history = False
        self._meta = meta
        self._minute_file = minute_file

    async def open(self, authenticate: Authenticate) -> bool:
        """False: the session is new though the thread had another, so the agent does not know the conversation."""
        try:
            return await self._open()
        except AgentFault as exc:
            if exc.code != "AUTH_REQUIRED":
                raise
            await authenticate(self._connection, exc)
            return await self._open()

    async def _open(self) -> bool:
        session_id = self._opening.session_id
        if session_id is not None and await self._resume_or_fork(session_id):
            return not self._has_lost_history
        if self._opening.names_session:
            raise AgentFault(
                f"the agent has no session {session_id!r} that it can go on with", code="SESSION_NOT_FOUND"
            )
        params = location_params(self._opening, self._handshake, self._meta)
        result = await self._connection.call("session/new", params, OPEN_TIMEOUT_SECONDS)
        self._session.attach(read_session_id(result, "opened a session"))
        self._session.reader.state.read_result(result)
        return session_id is None and not self._opening.known

    async def _adopt(self, session_id: str) -> bool:
        """Take up a session that is open at the agent and has no thread yet. False: there is none; or it was opened
        with other parameters, and is closed, to be resumed with these."""
        held = self._connection.take_held(session_id)
        if held is None:
            return False
        if held.location != location_params(self._opening, self._handshake, self._meta):
            await close_session(self._connection, self._handshake, session_id)
            return False
        self._session.reader.begin_replay()
        self._session.attach(session_id)
        self._session.reader.end_replay()
        self._session.reader.state.read_result(held.result)
        return True

    async def _resume_or_fork(self, session_id: str) -> bool:
        if not self._opening.fork and await self._adopt(session_id):
            return True
        for method in self._resume_methods():
            self._session.reader.begin_replay()  # also for resume and fork, which should not replay: some agents do
            try:
                if self._opening.fork:
                    result = await self._fork(session_id)
                else:
                    result = await self._resume(method, session_id)
                self._session.reader.state.read_result(result)
                self._check_replay(method, session_id)
                return True
            except AgentFault as exc:
                if exc.code == "AUTH_REQUIRED" or self._opening.fork:
                    raise
                log.info("%s of %s failed: %s", method, session_id, exc.detail)
            finally:
                self._session.reader.end_replay()
        return False

    def _check_replay(self, method: str, session_id: str) -> None:
        """A session that is loaded must be replayed. Of one that has a history and sends none, the history is lost: it
        was seen with fast-agent after many sessions, and with gemini-cli."""
        history = self._session.reader.end_replay()
        if method == LOAD and self._opening.known and not history:
            log.info("the agent loaded session %s without its history", session_id)
            self._has_lost_history = True

    def _resume_methods(self) -> list[str]:
        if not self._opening.fork:
            methods = {"session/resume": self._handshake.resume, LOAD: self._handshake.load}
            return [method for method, is_offered in methods.items() if is_offered]
        if not self._handshake.fork:
            source = self._source_of(FORK)
            detail = f"the agent cannot fork a session: {FORK} is false, stated by {source}"
            raise NotCapable(detail, capability=FORK, source=source)
        return ["session/fork"]

    async def _fork(self, session_id: str) -> Any:
        result = await self._call("session/fork", session_id)
        # What the agent replayed before its answer is read now.
        self._session.attach(read_session_id(result, "forked a session"))
        return result

    async def _resume(self, method: str, session_id: str) -> Any:
        await self._minute_file.wait_until_free(session_id)
        self._session.attach(session_id)
        try:
            return await self._call(method, session_id)
        except BaseException:
            self._connection.detach(session_id, self._session)
            raise

    async def _call(self, method: str, session_id: str) -> Any:
        params = {"sessionId": session_id, **location_params(self._opening, self._handshake, self._meta)}
        return await self._connection.call(method, params, OPEN_TIMEOUT_SECONDS)


def location_params(opening: Opening, handshake: Handshake, meta: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """The parameters that every request which opens a session has: directories, MCP servers, `_meta`."""
    params: dict[str, Any] = {"cwd": str(opening.cwd), "mcpServers": list(opening.mcp_servers)}
    if opening.additional_directories and handshake.additional_directories:
        params["additionalDirectories"] = [str(folder) for folder in opening.additional_directories]
    if meta:
        params["_meta"] = dict(meta)
    return params


def read_session_id(result: Any, action: str) -> str:
    """`action`: what the agent did, for the error: "opened a session"."""
    if not isinstance(result, dict) or not isinstance(result.get("sessionId"), str):
        raise AgentFault(f"the agent {action} without an id", code="AGENT_PROTOCOL_ERROR")
    session_id: str = result["sessionId"]
    return session_id


async def close_session(connection: Connection, handshake: Handshake, session_id: str, *, cancel: bool = False) -> None:
    """Where the agent offers it; its conversation can be resumed. `cancel`: it may be in a turn."""
    try:
        if cancel and connection.is_alive:
            await connection.notify("session/cancel", {"sessionId": session_id})
        if handshake.close and connection.is_alive:
            await connection.call("session/close", {"sessionId": session_id})
    except AgentFault as exc:
        log.info("session %s could not be closed: %s", session_id, exc.detail)
