"""One process of a command-line agent, and the sessions on it: reads, routes, writes.

In: messages of sessions. Out: to each session the messages for it; all that were read together are one call of its
dialect. Reading never waits for writing: an agent whose output is not read would not read its input either. A session
whose run reads slowly makes the agent wait, unless other sessions share the process.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import anyio

from gateway.background import Tasks
from gateway.drivers.cli.command import LaunchArguments
from gateway.drivers.cli.transports import Transport
from gateway.drivers.confinement import UNTRUSTED, Confinement
from gateway.drivers.process import Process
from gateway.errors import AgentFault, Conflict
from gateway.wire.dialects import Dialect

log = logging.getLogger(__name__)

WRITE_TIMEOUT_SECONDS = 30.0
"""An agent that reads nothing for so long counts as dead."""


class Listener(Protocol):
    """A session, as its connection sees it."""

    @property
    def dialect(self) -> Dialect: ...

    @property
    def tag(self) -> str:
        """Identifies the session among those of the process."""

    def receive(self, messages: Sequence[bytes]) -> None: ...

    async def wait_for_room(self) -> None:
        """Until the session can take more events."""

    def connection_lost(self, error: AgentFault | None) -> None:
        """The process is gone. `error`: why the gateway itself ended it."""


class Connection:
    def __init__(
        self,
        transport: Transport,
        dialect: type[Dialect],
        tasks: Tasks,
        params: Mapping[str, Any],
        confinement: Confinement = UNTRUSTED,
        arguments: LaunchArguments | None = None,
    ) -> None:
        """`params`: values of this process for the dialect: its port, its token, variables of its environment.
        `arguments`: what its command was started with beyond the agent's file."""
        self.params = params
        self.confinement = confinement
        self.arguments = arguments or LaunchArguments()
        self._transport = transport
        self._dialect = dialect
        self._tasks = tasks
        self._sessions: list[Listener] = []
        self._unwritten: list[bytes] = []
        self._wake_writer = anyio.Event()
        self._is_closing_input = False
        self._is_over = False
        self._is_full = False
        self.uses = 0
        """How often a session was attached to it."""

    @property
    def process(self) -> Process:
        return self._transport.process

    @property
    def is_alive(self) -> bool:
        return not self._is_over

    @property
    def is_unused(self) -> bool:
        return not self._sessions

    @property
    def is_full(self) -> bool:
        """It takes no further session."""
        return self._is_full

    @property
    def is_ready(self) -> bool:
        """The dialect of a session on it is ready."""
        return any(session.dialect.is_ready for session in self._sessions)

    def start(self) -> None:
        self._tasks.start_soon(self._read)
        self._tasks.start_soon(self._write)

    async def subscribe(self, cwd: str) -> None:
        """A session in this directory is about to begin."""
        await self._transport.subscribe(cwd)

    def require_free(self, session: Listener) -> None:
        """Raises `Conflict` where another session object has the same session of the agent: both would get its
        messages."""
        session_id = session.dialect.session_id
        if session_id is not None and any(
            other is not session and other.dialect.session_id == session_id for other in self._sessions
        ):
            raise Conflict(f"the session {session_id!r} is open already: close it first", code="SESSION_OPEN")

    def attach(self, session: Listener) -> None:
        """Raises `Conflict`."""
        self.require_free(session)
        self.uses += 1
        self._sessions.append(session)

    def detach(self, session: Listener) -> None:
        if session in self._sessions:
            self._sessions.remove(session)

    def mark_full(self) -> None:
        self._is_full = True

    # -- to the agent

    def send(self, messages: Sequence[bytes]) -> None:
        if messages and not self._is_over:
            self._unwritten += messages
            self._wake_writer.set()

    def close_input(self) -> None:
        """After the messages that are not written yet."""
        self._is_closing_input = True
        self._wake_writer.set()

    async def _write(self) -> None:
        try:
            while not self._is_over:
                await self._wake_writer.wait()
                self._wake_writer = anyio.Event()
                messages, self._unwritten = self._unwritten, []
                if messages:
                    with anyio.fail_after(WRITE_TIMEOUT_SECONDS):
                        await self._transport.write(messages)
                if self._is_closing_input and not self._unwritten:
                    return self._transport.close_input()
        except AgentFault as exc:
            log.info("the agent reads no more: %s", exc.detail)  # the reader sees its end
        except TimeoutError:
            self.process.kill()
            error = f"the agent has read nothing for {WRITE_TIMEOUT_SECONDS:g} seconds"
            self._end(AgentFault(error, code="AGENT_STALLED"))
        return None

    # -- from the agent

    async def _read(self) -> None:
        error: AgentFault | None = None
        try:
            while messages := await self._transport.read():
                for session, own_messages in self._route(messages):
                    self._deliver(session, own_messages)
                await self._wait_for_room()
        except AgentFault as exc:
            error = exc
        self._end(error)
        await self._transport.aclose()

    def _deliver(self, session: Listener, messages: Sequence[bytes]) -> None:
        try:
            session.receive(messages)
        except Exception:  # a defect here must not end every session of the process
            log.exception("messages of the agent could not be read")
            self.detach(session)
            error = AgentFault("the gateway itself failed; its log has the reason", code="INTERNAL_ERROR")
            session.connection_lost(error)

    def _route(self, messages: list[bytes]) -> list[tuple[Listener, list[bytes]]]:
        if len(self._sessions) == 1:
            return [(self._sessions[0], messages)]
        routes: list[tuple[Listener, list[bytes]]] = [(session, []) for session in self._sessions]
        names = {name for session in self._sessions for name in (session.tag, session.dialect.session_id)}
        for message in messages:
            owner = self._dialect.read_owner(message)
            is_for_all = owner is None or (self._dialect.has_unlisted_sessions and owner not in names)
            for session, own_messages in routes:
                if is_for_all or owner in (session.tag, session.dialect.session_id):
                    own_messages.append(message)
        return [(session, own_messages) for session, own_messages in routes if own_messages]

    async def _wait_for_room(self) -> None:
        """A session that is alone on the process makes it wait. Several sessions do not delay each other: each bounds
        the events that wait."""
        if len(self._sessions) == 1:
            await self._sessions[0].wait_for_room()

    # -- the end

    def _end(self, error: AgentFault | None) -> None:
        if self._is_over:
            return
        self._is_over = True
        self._wake_writer.set()
        for session in list(self._sessions):
            session.connection_lost(error)

    async def aclose(self) -> None:
        self._end(None)
        await self._transport.aclose()
