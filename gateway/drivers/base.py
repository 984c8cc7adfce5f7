"""The seam between runs and agents. One small protocol; everything an agent does comes as batches of events.

A **turn** is the agent's own unit of work, from prompt to end. An AG-UI **run** is what a client sees of it: a turn
that asks a question outlives its run, parked, and goes on in the run that answers.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from gateway.drivers.probe import Availability
from gateway.events import Event, Layer
from gateway.turn import Answer, Options, Turn


@dataclass(frozen=True, slots=True)
class Opening:
    """What a thread's session is opened with."""

    thread_id: str
    cwd: Path = Path()
    additional_directories: tuple[Path, ...] = ()
    mcp_servers: tuple[Mapping[str, Any], ...] = ()
    session_id: str | None = None
    """The agent's own id of the session to come back to."""
    fork: bool = False
    """Come back to a copy of it."""
    known: frozenset[str] = frozenset()
    """Messages, and tool calls, that that session has seen."""
    options: Options = field(default_factory=Options)
    """The wishes of the run that it is opened for."""
    tools: tuple[Mapping[str, Any], ...] = ()
    """The client's own that this run offers, as AG-UI writes them."""


class LiveTurn(Protocol):
    """One turn under way. Calls come from one task at a time, but for `steer` and `cancel`."""

    async def next(self) -> list[Event]:
        """What has come since the last call, at least one event; an empty list when the turn is over.
        Raises `AgentFault` when the agent failed. Bounded inside: an agent that is not read is made to wait."""

    async def answer(self, answers: Mapping[str, Answer]) -> None:
        """The answers to all that was asked (`Asked`), and what the client's own tools gave back (`ClientToolsCalled`):
        under the call's id, with AG-UI's `tool` message as the payload; `cancelled` where there is none."""

    async def steer(self, message_id: str, text: str) -> bool:
        """One more message of the user's while the turn is under way: for the agent's next step, after the tools that
        run now. `UserMessageAccepted` comes by `next` when the agent has taken it up; a turn that ends without it has
        not, and will not. False: the agent has no way for it, or this turn is past it; then nothing was said. Only
        where the handshake layer has `custom.gateway.steering`."""

    async def cancel(self) -> None:
        """Ask the agent to stop; what it still says comes by `next`, then the end."""

    async def aclose(self) -> None:
        """Stop at once, bounded, and let go of everything. May be called twice."""


class Controls(Protocol):
    """What can be set on a session, and done with it, between turns. `NotCapable` for what the agent does not offer."""

    async def set_mode(self, mode: str) -> None: ...

    async def set_model(self, model: str) -> None: ...

    async def set_config(self, option: str, value: str | bool) -> None: ...

    async def fork(self) -> str:
        """A copy of the conversation so far: its id."""

    async def delete(self) -> None:
        """At the agent, for good."""

    async def call(self, method: str, params: Mapping[str, Any]) -> Any:
        """Any further method of the agent's own protocol."""


class Session(Protocol):
    """One thread's conversation with an agent."""

    @property
    def id(self) -> str | None:
        """The agent's own id of it, to come back to; None: there is no coming back."""

    @property
    def kept(self) -> bool:
        """Worth keeping between turns."""

    @property
    def alive(self) -> bool:
        """It can take another turn."""

    @property
    def session_layer(self) -> Layer:
        """The session layer: what this session has and is set to, now."""

    @property
    def controls(self) -> Controls | None:
        """None: there is nothing to set."""

    async def start(self, turn: Turn) -> LiveTurn: ...

    async def aclose(self) -> None: ...


class RemoteProxy(Protocol):
    """Another gateway, as one of its agents is asked about there."""

    async def asked(self, path: Sequence[str], query: str, method: str) -> tuple[int, str, bytes]:
        """What it answers below the agent's own address: status, content type, body. `path`: its steps, as they are
        meant; none leads out of there. Raises `AgentFault`."""


class Driver(Protocol):
    """One agent, however it is reached."""

    question_window: float
    """Seconds in which the questions of parallel calls follow each other; 0: all come as one `Asked`."""
    local: bool
    """It works in this machine's folders, so they are held against the workspace; else they are the far side's."""

    @property
    def remote_proxy(self) -> RemoteProxy | None:
        """Who knows more of this agent than can be told here; None: nobody."""

    async def handshake_layer(self) -> Mapping[str, Any]:
        """The handshake layer: what the agent itself says now, as AG-UI's object. Must be quick: it is asked for every
        snapshot."""

    @property
    def probed(self) -> bool:
        """The agent has said what it can do."""

    async def probe(self) -> None:
        """Makes it say so. Raises `AgentFault` when it cannot be started."""

    async def availability(self) -> Availability: ...

    async def models(self) -> list[Mapping[str, Any]] | None:
        """What the agent lists now, each with its `id` at least; None: it has no way to tell."""

    async def open(self, opening: Opening) -> Session:
        """Raises `AgentFault` when the agent cannot be started or will not."""

    async def aclose(self) -> None: ...
