"""How an agent's process is confined: which configuration it reads, what it can reach, whose home directory it has.

In: the command of an agent's process as its driver made it, and the `Confinement` of the session that it is for. Out:
the process, started accordingly. Every process of an agent is started here; only probes of a program's version are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from anyio import to_thread

from gateway.background import Tasks
from gateway.catalog.definition import AgentDefinition
from gateway.drivers.homes import Home
from gateway.drivers.process import Process, spawn


@dataclass(frozen=True, slots=True)
class Confinement:
    """Decided for each session before its process starts. Sessions share a process only if theirs are equal."""

    is_trusted: bool = False
    """The working folder is trusted: the agent may read the project's own configuration."""
    home: Home | None = None
    """The home directory of the principal whose session it is; None: the gateway's own."""


UNTRUSTED = Confinement()
"""Of processes that are started for no thread: probes."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A command as it is to be started."""

    run: Sequence[str]
    env: Mapping[str, str]
    """The whole environment."""
    cwd: Path


async def start_confined(
    launch: Launch, definition: AgentDefinition, confinement: Confinement, tasks: Tasks
) -> Process:
    """Raises `AgentFault` when the command cannot be started as its confinement demands."""
    if confinement.home is not None:
        await to_thread.run_sync(confinement.home.prepare)
    return await spawn(launch.run, cwd=launch.cwd, env=launch.env, tasks=tasks)
