"""The seam of a transport: `Transport`, and what one is opened with."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from gateway.background import Tasks
from gateway.catalog.sections import Cli
from gateway.drivers.process import Process

MAX_MESSAGE_BYTES = 64 * 1024 * 1024
"""Images and whole files make messages of megabytes. A longer one is dropped and logged; the agent goes on."""


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A process that was started, and how its definition reaches it."""

    process: Process
    cli: Cli
    values: Mapping[str, str]
    """For the placeholders of URLs: `port`, `token`, `cwd`."""
    source: str
    """The agent's file, for errors."""
    tasks: Tasks


class Transport(Protocol):
    """Messages to and from one process, whole and in order."""

    @property
    def process(self) -> Process: ...

    async def read(self) -> list[bytes]:
        """The messages that have come, at least one; [] at the end. Raises `AgentFault`."""

    async def write(self, messages: Sequence[bytes]) -> None:
        """Raises `AgentFault` when the agent is gone."""

    def close_input(self) -> None:
        """No further message will be written."""

    async def subscribe(self, cwd: str) -> None:
        """A session in this directory is about to begin: returns when its messages will be read."""

    async def aclose(self) -> None:
        """Ends the process, too."""


OpenTransport = Callable[[Endpoint], Awaitable[Transport]]
"""Raises `AgentFault` when the agent cannot be reached."""
