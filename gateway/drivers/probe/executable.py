"""Where an agent's program is: the first of its ways in whose program can be found.

In: a definition and an environment. Out: a `Found`, or None. Reads the file system; starts nothing.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.sections import Command
from gateway.drivers.environment import trimmed

SHEBANG_BYTES = 256
"""Linux reads no more of it."""


@dataclass(frozen=True, slots=True)
class Found:
    command: Command
    path: str
    env: Mapping[str, str]
    """What the agent will see, and its probes with it."""
    transport: str | None = None


def commands(definition: AgentDefinition) -> Iterator[tuple[str | None, Command]]:
    """The ways in, best first; the first has no name."""
    if definition.command is not None:
        yield None, definition.command
    yield from ((transport.name, transport.command) for transport in definition.fallback)


def find(definition: AgentDefinition, environ: Mapping[str, str]) -> Found | None:
    for transport, command in commands(definition):
        env = trimmed(command.inherit_env, command.env, environ)
        if (path := where(command.run[0], env)) is not None:
            return Found(command, path, env, transport)
    return None


def where(name: str, env: Mapping[str, str]) -> str | None:
    """As the agent's own environment has it."""
    return shutil.which(name, path=env.get("PATH", os.defpath))


def shebang(path: str) -> list[str]:
    """The words of a script's first line; none for what is no script."""
    try:
        with Path(path).open("rb") as file:
            first = file.read(SHEBANG_BYTES).split(b"\n", 1)[0]
    except OSError:
        return []
    return first[2:].decode("utf-8", "replace").split() if first.startswith(b"#!") else []


def missing_interpreter(found: Found) -> str | None:
    """The program of a script's `#!/usr/bin/env` line that is not there: such a script is found and cannot run."""
    words = shebang(found.path)
    if not words:
        return None
    if Path(words[0]).name == "env":
        name = next((word for word in words[1:] if not word.startswith("-") and "=" not in word), None)
        return name if name is not None and where(name, found.env) is None else None
    return None if os.access(words[0], os.X_OK) else words[0]


def companion(command: Command) -> str | None:
    """A second program, where the version is another's than the one that is started: an adapter and its agent."""
    return command.version[0] if command.version and command.version[0] != command.run[0] else None
