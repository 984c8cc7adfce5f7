"""Commands of an agent that change this machine: its installation, and the operations on its plugins.

In: a definition and what is wanted. Out: an `AgentCommand`, as text for a person to confirm and as arguments to run.
Never: a start. A name from a client is one argument and never an option. Pure.
"""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, get_args

from gateway.catalog.definition import AgentDefinition
from gateway.errors import BadInput, NotCapable

PluginOperation = Literal["list", "search", "install", "uninstall"]
PLUGIN_OPERATIONS: tuple[PluginOperation, ...] = get_args(PluginOperation)
PLUGIN_FIELDS: Mapping[PluginOperation, str] = {
    "list": "plugin_list_cmd",
    "search": "plugin_search_cmd",
    "install": "plugin_install_cmd",
    "uninstall": "plugin_uninstall_cmd",
}
"""Operation → the key of `[manifest]` that has its command."""

NAME = re.compile(r"[\w@][\w@.:/+~#=-]{0,199}", re.ASCII)
"""Of a plugin: a package, a path of a registry, a URL. What begins with a dash would be an option."""
SEARCH_MAX_CHARS = 200


@dataclass(frozen=True, slots=True)
class AgentCommand:
    line: str
    """As a person would type it."""
    args: tuple[str, ...]
    """What is run. Both streams of the command are one."""


def shell_command(line: str) -> AgentCommand:
    """A line of the agent's file, which may join several commands."""
    return AgentCommand(line, ("/bin/sh", "-c", f"exec 2>&1\n{line}"))


def plugin_command(definition: AgentDefinition, operation: PluginOperation, name: str | None) -> AgentCommand:
    """Raises `NotCapable` where the agent has no such command, `BadInput` for a name that cannot be one."""
    field = PLUGIN_FIELDS[operation]
    line: str | None = getattr(definition.manifest, field)
    if line is None:
        known = [each for each in PLUGIN_OPERATIONS if getattr(definition.manifest, PLUGIN_FIELDS[each]) is not None]
        raise NotCapable(
            f"Agent '{definition.id}' has no command to {operation} plugins, stated by profile "
            f"({definition.source.name}). It has: {', '.join(known) or 'none'}.",
            agent=definition.id,
            capability="custom.mux.supportsPlugins",
            source=f"profile ({definition.source.name})",
        )
    args = shlex.split(line)
    if operation != "list":
        args.append(_check_name(name, operation))
    return AgentCommand(shlex.join(args), ("/bin/sh", "-c", 'exec 2>&1; exec "$@"', "sh", *args))


def _check_name(name: str | None, operation: PluginOperation) -> str:
    if name is None or not name.strip():
        raise BadInput(f"which plugin? {operation} needs a name", pointer="/name")
    is_valid = NAME.fullmatch(name) is not None
    if operation == "search":
        is_valid = len(name) <= SEARCH_MAX_CHARS and name.isprintable() and not name.startswith("-")
    if not is_valid:
        raise BadInput(f"{name[:80]!r} cannot be the name of a plugin", pointer="/name")
    return name
