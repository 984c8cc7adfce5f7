"""How an agent's process is confined: which configuration it reads, what it can reach, whose home directory it has.

In: the command of an agent's process as its driver made it, and the `Confinement` of the session that it is for. Out:
the process, started accordingly. Every process of an agent is started here; only probes of a program's version are not.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from anyio import to_thread

from gateway.background import Tasks
from gateway.catalog.definition import AgentDefinition
from gateway.drivers.homes import Home
from gateway.drivers.process import Process
from gateway.drivers.sandbox.launch import Program, start_program
from gateway.drivers.sandbox.policy import SandboxPolicy
from gateway.drivers.trust_flags import apply_flags, flags_of


@dataclass(frozen=True, slots=True)
class Confinement:
    """Decided for each session before its process starts. Sessions share a process only if theirs are equal."""

    is_trusted: bool = False
    """The working folder is trusted: the agent may read the project's own configuration."""
    sandbox: SandboxPolicy | None = None
    """What the process can reach, and how much it may use. None: no sandbox, and no limits."""
    home: Home | None = None
    """The home directory of the principal whose session it is; None: the gateway's own."""

    @property
    def exchange(self) -> Path | None:
        """Where the gateway must put files and sockets for the process, so that it sees them. None: anywhere."""
        return self.sandbox.exchange if self.sandbox is not None and self.sandbox.is_wrapped else None


UNTRUSTED = Confinement()
"""Of processes that are started for no thread: probes."""


@dataclass(frozen=True, slots=True)
class Launch:
    """A command as it is to be started."""

    run: Sequence[str]
    env: Mapping[str, str]
    """The whole environment."""
    cwd: Path
    port: int | None = None
    """The loopback port on which the process will listen for the gateway."""


async def start_confined(
    launch: Launch, definition: AgentDefinition, confinement: Confinement, tasks: Tasks
) -> Process:
    """Raises `AgentFault` when the command cannot be started as its confinement demands."""
    if confinement.home is not None:
        await to_thread.run_sync(confinement.home.prepare)
    launch = await to_thread.run_sync(_with_trust, launch, definition, confinement)
    program = Program(launch.run, launch.env, launch.cwd, launch.port, definition.id)
    return await start_program(program, confinement.sandbox, tasks)


def _with_trust(launch: Launch, definition: AgentDefinition, confinement: Confinement) -> Launch:
    flags = flags_of(definition, confinement.is_trusted)
    command = apply_flags(flags, tuple(launch.run), launch.env, launch.cwd)
    return replace(launch, run=command.run, env=command.env)
