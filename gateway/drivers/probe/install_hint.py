"""How an agent is got on this system: the way that is offered, its command, what it needs before.

In: `[[install]]` and `[manifest]` of an agent's file. Out: words for people. Nothing is installed here.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.install import COMMANDS, install_command
from gateway.catalog.sections import Install
from gateway.drivers.probe.executable import companion, where


def runs_here(definition: AgentDefinition) -> bool:
    platforms = definition.manifest.supported_platforms
    return platforms is None or sys.platform in platforms


def offered(ways: Sequence[Install], env: Mapping[str, str]) -> Install | None:
    """The first way for this system whose tool is there; else the first way."""
    here = [way for way in ways if way.platform in ("all", sys.platform)]
    with_tool = (way for way in here if way.kind not in COMMANDS or where(COMMANDS[way.kind].split()[0], env))
    return next(with_tool, here[0] if here else None)


def command_of(definition: AgentDefinition, way: Install | None) -> str | None:
    """What to type. An agent of two programs, an adapter and its agent, needs both packages."""
    if way is None:
        return None
    both = definition.command is not None and companion(definition.command) is not None
    ways = [other for other in definition.install if other.kind == way.kind] if both else [way]
    return " && ".join(map(install_command, ways))
