"""An agent's program: that of the first transport whose program can be found.

In: a definition and an environment. Out: a `FoundProgram`, or None. Reads the file system; starts nothing.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.sections import Auth, Command
from gateway.catalog.transports import list_commands
from gateway.drivers.environment import agent_environment

MAX_SHEBANG_BYTES = 256
"""Linux reads no more of the line."""


@dataclass(frozen=True, slots=True)
class FoundProgram:
    command: Command
    path: str
    env: Mapping[str, str]
    """The environment that the agent will have; the commands that probe it get the same."""
    transport: str | None = None
    """The name of another transport; None: the agent's first."""
    auth: tuple[Auth, ...] = ()
    """The checks of whether the user is signed in, for this transport."""


def find(definition: AgentDefinition, environ: Mapping[str, str]) -> FoundProgram | None:
    for each in list_commands(definition):
        env = agent_environment(each.command.inherit_env, each.command.env, environ)
        if (path := locate(each.command.run[0], env)) is not None:
            return FoundProgram(each.command, path, env, each.transport, each.auth)
    return None


def locate(name: str, env: Mapping[str, str]) -> str | None:
    """The program's path, by the PATH of the agent's own environment."""
    return shutil.which(name, path=env.get("PATH", os.defpath))


def read_shebang(path: str) -> list[str]:
    """The interpreter line of a script, split at spaces; empty for what is no script."""
    try:
        with Path(path).open("rb") as file:
            first_line = file.read(MAX_SHEBANG_BYTES).split(b"\n", 1)[0]
    except OSError:
        return []
    return first_line[2:].decode("utf-8", "replace").split() if first_line.startswith(b"#!") else []


def missing_interpreter(program: FoundProgram) -> str | None:
    """The interpreter that a script names and that does not exist: such a script is found but cannot run."""
    line = read_shebang(program.path)
    if not line:
        return None
    if Path(line[0]).name == "env":
        name = next((part for part in line[1:] if not part.startswith("-") and "=" not in part), None)
        return name if name is not None and locate(name, program.env) is None else None
    return None if os.access(line[0], os.X_OK) else line[0]


def companion_program(command: Command) -> str | None:
    """The program whose version counts, where it is not the one that is started: an adapter is started, its agent has
    the version."""
    return command.version[0] if command.version and command.version[0] != command.run[0] else None
