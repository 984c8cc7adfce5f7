"""The seam between runs and agents. One small protocol; everything an agent does comes as batches of events.

A **turn** is the agent's own unit of work, from prompt to end. An AG-UI **run** is what a client sees of it: a turn
that asks a question outlives its run, parked, and goes on in the run that answers.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol

from gateway.events import Event, Layer
from gateway.turn import Answer, Turn


class LiveTurn(Protocol):
    """One turn under way. Calls come from one task at a time, but for `cancel`."""

    async def next(self) -> list[Event]:
        """What has come since the last call, at least one event; an empty list when the turn is over.
        Raises `AgentFault` when the agent failed. Bounded inside: an agent that is not read is made to wait."""

    async def answer(self, answers: Mapping[str, Answer]) -> None:
        """The answers to all that was asked."""

    async def cancel(self) -> None:
        """Ask the agent to stop; what it still says comes by `next`, then the end."""

    async def aclose(self) -> None:
        """Stop at once, bounded, and let go of everything. May be called twice."""


class Session(Protocol):
    """One thread's conversation with an agent."""

    async def start(self, turn: Turn) -> LiveTurn: ...

    async def aclose(self) -> None: ...


class Driver(Protocol):
    """One agent, however it is reached."""

    async def announced(self) -> Layer:
        """The handshake layer: what the agent itself says now. Must be quick: it is asked for every snapshot."""

    async def open(self, thread_id: str) -> Session: ...

    async def aclose(self) -> None: ...
