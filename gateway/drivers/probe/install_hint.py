"""How an agent is installed on this platform: the method to suggest, its command, its prerequisites.

In: `[[install]]` and `[manifest]` of an agent's file. Out: text for people. Nothing is installed here.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.install import COMMANDS, command_line
from gateway.catalog.sections import Install
from gateway.drivers.probe.executable import companion_program, locate
from gateway.errors import Refused


def supports_platform(definition: AgentDefinition) -> bool:
    platforms = definition.manifest.supported_platforms
    return platforms is None or sys.platform in platforms


def choose_method(methods: Sequence[Install], env: Mapping[str, str]) -> Install | None:
    """The first method for this platform whose installer exists here; else the first method for it."""
    usable = [method for method in methods if method.platform in ("all", sys.platform)]
    with_installer = (
        method for method in usable if method.kind not in COMMANDS or locate(COMMANDS[method.kind].split()[0], env)
    )
    return next(with_installer, usable[0] if usable else None)


def find_install(definition: AgentDefinition, env: Mapping[str, str]) -> tuple[str, str | None]:
    """The command that installs the agent on this system, and what a person should know before. Raises `Refused` where
    its file has none."""
    method = choose_method(definition.install, env)
    line = install_command(definition, method)
    if method is None or line is None or method.kind == "manual":
        hint = f": {method.package}" if method is not None else ""
        detail = f"the file of {definition.id!r} has no command that installs it on this system{hint}"
        raise Refused(detail, code="NO_INSTALL_COMMAND", agent=definition.id)
    return line, method.notes


def install_command(definition: AgentDefinition, method: Install | None) -> str | None:
    """The command to type. An agent of two programs, an adapter and its agent, needs both packages."""
    if method is None:
        return None
    has_companion = definition.command is not None and companion_program(definition.command) is not None
    methods = [each for each in definition.install if each.kind == method.kind] if has_companion else [method]
    return " && ".join(map(command_line, methods))
