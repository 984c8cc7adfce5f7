"""The seam between runs and agents: `Driver`, `Session`, `LiveTurn`, `Controls`.

A **driver** stands for one agent, however it is reached. It opens **sessions**: one per thread. A session starts
**turns**: a turn is the agent's own unit of work, from prompt to end, and everything the agent does in it comes as
batches of `gateway.events`. An AG-UI **run** is what a client sees of a turn. A turn that requests an interrupt
outlives its run: it is parked, and goes on in the run that resumes it.

A new kind of agent is a new package here with these four classes, and a line in `drivers.DRIVERS`. An ability that an
agent may lack is an object or None (`Session.controls`, `Driver.remote_proxy`), so an ability and the capability that
announces it cannot disagree. What fails because of the agent is an `AgentFault`; a session that is open
already is a `Conflict`; no other exception leaves a driver.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from gateway.drivers.confinement import UNTRUSTED, Confinement
from gateway.drivers.homes import Home
from gateway.drivers.probe import Availability
from gateway.events import Event, Layer
from gateway.turn import Answer, Options, Turn


@dataclass(frozen=True, slots=True)
class Opening:
    """The parameters of a thread's session."""

    thread_id: str
    cwd: Path = Path()
    additional_directories: tuple[Path, ...] = ()
    mcp_servers: tuple[Mapping[str, Any], ...] = ()
    session_id: str | None = None
    """The agent's own id of the session to resume."""
    fork: bool = False
    """Resume a copy of that session, and leave the session itself as it is."""
    known: frozenset[str] = frozenset()
    """Ids of the messages and tool calls that the resumed session has seen."""
    options: Options = field(default_factory=Options)
    """The options of the run that the session is opened for."""
    thinking: Mapping[str, Any] | None = None
    """The agent's own thinking parameters of that run; None: they were not translated."""
    config: Mapping[str, str | bool] = field(default_factory=dict)
    """The session's own options as they were set before it was closed, by id."""
    tools: tuple[Mapping[str, Any], ...] = ()
    """The client tools that the run offers, as AG-UI writes them."""
    is_exclusive: bool = False
    """The agent keeps the session: it must not be open in two threads at once."""
    withheld: tuple[Path, ...] = ()
    """Paths of the gateway's own, which the session must neither read nor write."""
    confinement: Confinement = UNTRUSTED
    """How the session's process is confined."""

    @property
    def home(self) -> Path | None:
        """The home directory that the agent has; None: the gateway's own."""
        return None if self.confinement.home is None else self.confinement.home.directory

    @property
    def names_session(self) -> bool:
        """The client itself has named the session: if the agent does not have it, a new one would be wrong."""
        return self.session_id is not None and self.session_id == self.options.session_id


class LiveTurn(Protocol):
    """One turn under way. All calls come from one task at a time, except `steer` and `cancel`, which may come from
    another."""

    async def next(self) -> list[Event]:
        """The events since the last call, at least one; an empty list when the turn is over. Raises `AgentFault` when
        the agent failed. The queue behind it is bounded: an agent whose turn is not read has to wait."""

    async def answer(self, answers: Mapping[str, Answer]) -> None:
        """The answers to the turn's pending interrupts (`InterruptRequested`), by interrupt id, and the results of its
        pending client tool calls (`ClientToolsCalled`), by tool call id. The payload of a result is AG-UI's `tool`
        message; a call without a result has the status `cancelled`."""

    async def steer(self, message_id: str, text: str) -> bool:
        """Give the agent another user message during the turn. The agent reads it at its next step, after the tool
        calls that run now. `UserMessageAccepted` comes by `next` when the agent has read it; a turn that ends without
        this event has not read the message, and will not. False: the agent cannot take it, or the turn is too far
        gone; then nothing was sent. Only where the handshake layer has `custom.gateway.steering`."""

    async def cancel(self) -> None:
        """Ask the agent to stop. Its remaining events come by `next`, then the end."""

    async def aclose(self) -> None:
        """Stop at once, in bounded time, and release everything. May be called twice."""


class Controls(Protocol):
    """The settings of a session and the operations on it, for use between turns. What the agent does not offer raises
    `NotCapable`."""

    async def set_mode(self, mode: str) -> None: ...

    async def set_model(self, model: str) -> None: ...

    async def set_config(self, option: str, value: str | bool) -> None: ...

    async def fork(self) -> str:
        """Copy the conversation so far. The copy's session id."""

    async def delete(self) -> None:
        """Delete the session at the agent. It cannot be resumed any more."""

    async def call(self, method: str, params: Mapping[str, Any]) -> Any:
        """Call another method of the agent's own protocol. Its result."""


class Session(Protocol):
    """One thread's conversation with an agent."""

    @property
    def id(self) -> str | None:
        """The agent's own id of the session, by which it is resumed. None: it cannot be resumed."""

    @property
    def reusable(self) -> bool:
        """Worth keeping open between turns."""

    @property
    def is_alive(self) -> bool:
        """It can take another turn."""

    @property
    def session_layer(self) -> Layer:
        """The session's layer of the capabilities: what it offers and is set to now."""

    @property
    def controls(self) -> Controls | None:
        """None: nothing can be set."""

    async def start(self, turn: Turn) -> LiveTurn:
        """Prompt the agent. Raises `AgentFault`, or `BadInput` when the input holds nothing new for the agent."""

    async def aclose(self) -> None:
        """Free the session at the agent. A session with an `id` can be resumed later."""


class RemoteProxy(Protocol):
    """The gateway that serves a mounted agent, for what this gateway has to fetch from there."""

    async def fetch(self, path: Sequence[str], query: str, method: str) -> tuple[int, str, bytes]:
        """Request a resource below the agent's own URL: (status, content type, body). `path` holds unescaped segments;
        none of them, `..` included, can lead out of the agent's URL. Raises `AgentFault`."""


class Driver(Protocol):
    """One agent, however it is reached."""

    question_window: float
    """Seconds in which the interrupts of parallel tool calls follow each other: a run waits so long for further ones
    before it ends. 0: the agent requests all of them in one `InterruptRequested`."""
    is_local: bool
    """The agent works in directories of this machine, so they are checked against the workspace. False: directories
    belong to the remote side, which checks them."""

    @property
    def transport_index(self) -> int:
        """Which of the agent's transports is in use now (`catalog.transports.list_transports`)."""

    @property
    def remote_proxy(self) -> RemoteProxy | None:
        """The gateway that this agent is mounted from; None for every other agent."""

    async def handshake_layer(self) -> Mapping[str, Any]:
        """The agent's own statement of its capabilities, as AG-UI's object. It is read for every snapshot, so it must
        be quick: it returns what is known now and waits for nothing."""

    @property
    def is_probed(self) -> bool:
        """The agent has stated its capabilities."""

    async def probe(self) -> None:
        """Make the agent state its capabilities, where it has not yet. Raises `AgentFault` when it cannot be
        started."""

    async def availability(self, home: Home | None = None) -> Availability:
        """Whether the agent can run: installed, signed in, reachable. `home`: for the principal that has it."""

    async def models(self) -> list[Mapping[str, Any]] | None:
        """The models that the agent lists now, each with at least its `id`. None: it cannot list any."""

    async def open(self, opening: Opening) -> Session:
        """Open a session. Raises `AgentFault` when the agent cannot be started or refuses."""

    async def aclose(self) -> None:
        """End every process and connection of the agent."""
