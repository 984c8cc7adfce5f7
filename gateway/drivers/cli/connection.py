"""A process of a command-line agent, and the sessions on it: reads, routes, writes.

Everything that came together is one call of a dialect. Reading never waits for writing: an agent that is not read
would not read either. A session that is slow to be read makes the agent wait, unless others share it.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any, Protocol

import anyio

from gateway.background import Tasks
from gateway.drivers.cli.transports.stdio import Transport
from gateway.errors import AgentFault
from gateway.wire.dialects import Dialect

log = logging.getLogger(__name__)

WRITE_LIMIT = 30.0
"""An agent that reads nothing for so long is taken for dead."""


class Listener(Protocol):
    """A session, as its link sees it."""

    dialect: Dialect
    tag: str

    def heard(self, messages: Sequence[bytes]) -> None: ...

    async def room(self) -> None:
        """Returns when it can take more."""

    def lost(self, error: AgentFault | None) -> None:
        """The process is gone; `error` where the gateway itself gave it up."""


class Connection:
    def __init__(self, transport: Transport, dialect: type[Dialect], tasks: Tasks) -> None:
        self.transport, self._dialect, self._tasks = transport, dialect, tasks
        self._sessions: list[Listener] = []
        self._waiting: list[bytes] = []
        self._written = anyio.Event()
        self._wake = anyio.Event()
        self._closing = False
        self._over = False
        self.full = False
        """It takes no further session."""
        self.uses = 0
        """How often a session came to it."""
        self.secrets: dict[str, Any] = {}
        """Made for this process: its port, its token; and of its environment what the dialect is to know."""

    @property
    def alive(self) -> bool:
        return not self._over

    @property
    def unused(self) -> bool:
        return not self._sessions

    @property
    def connected(self) -> bool:
        """Some session has been ready on it."""
        return any(session.dialect.is_ready for session in self._sessions)

    def start(self) -> None:
        self._tasks.start_soon(self._read)
        self._tasks.start_soon(self._write)

    def attach(self, session: Listener) -> None:
        self.uses += 1
        self._sessions.append(session)

    def detach(self, session: Listener) -> None:
        if session in self._sessions:
            self._sessions.remove(session)

    # -- to the agent

    def send(self, messages: Sequence[bytes]) -> None:
        if messages and not self._over:
            self._waiting += messages
            self._wake.set()

    def close_input(self) -> None:
        """After what waits to be written."""
        self._closing = True
        self._wake.set()

    async def _write(self) -> None:
        try:
            while not self._over:
                await self._wake.wait()
                self._wake = anyio.Event()
                messages, self._waiting = self._waiting, []
                if messages:
                    with anyio.fail_after(WRITE_LIMIT):
                        await self.transport.write(messages)
                if self._closing and not self._waiting:
                    return self.transport.close_input()
        except AgentFault as exc:
            log.info("the agent took no more: %s", exc.detail)  # its end is seen by whoever reads
        except TimeoutError:
            self.transport.process.kill()
            self._lose(AgentFault(f"the agent has read nothing for {WRITE_LIMIT:g} seconds", code="AGENT_STALLED"))
        return None

    # -- from the agent

    async def _read(self) -> None:
        error: AgentFault | None = None
        try:
            while messages := await self.transport.read():
                for session, told in self._routed(messages):
                    self._tell(session, told)
                await self._room()
        except AgentFault as exc:
            error = exc
        self._lose(error)
        await self.transport.aclose()

    def _tell(self, session: Listener, messages: Sequence[bytes]) -> None:
        try:
            session.heard(messages)
        except Exception:  # a defect here must not take every session of the process along
            log.exception("what the agent said could not be read")
            self.detach(session)
            session.lost(AgentFault("the gateway itself failed; its log says how", code="INTERNAL_ERROR"))

    def _routed(self, messages: list[bytes]) -> list[tuple[Listener, list[bytes]]]:
        if len(self._sessions) == 1:
            return [(self._sessions[0], messages)]
        told: list[tuple[Listener, list[bytes]]] = [(session, []) for session in self._sessions]
        names = {name for session in self._sessions for name in (session.tag, session.dialect.session_id)}
        for message in messages:
            owner = self._dialect.read_owner(message)
            everybody = owner is None or (self._dialect.has_unlisted_sessions and owner not in names)
            for session, own in told:
                if everybody or owner in (session.tag, session.dialect.session_id):
                    own.append(message)
        return [(session, own) for session, own in told if own]

    async def _room(self) -> None:
        """One session alone holds its agent up. Several do not hold each other up: what waits is bounded there."""
        if len(self._sessions) == 1:
            await self._sessions[0].room()

    # -- the end

    def _lose(self, error: AgentFault | None) -> None:
        if self._over:
            return
        self._over = True
        self._wake.set()
        for session in list(self._sessions):
            session.lost(error)

    async def aclose(self) -> None:
        self._lose(None)
        await self.transport.aclose()
