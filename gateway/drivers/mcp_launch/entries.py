"""Entries of `mcpServers` with the launcher in front of their command. Pure."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gateway.drivers.base import Opening
from gateway.drivers.mcp_entry import to_config_entry
from gateway.errors import BadInput

LAUNCHER = Path(__file__).with_name("launcher.py")


def without_inherited_secrets(opening: Opening) -> Opening:
    """The opening as the agent gets it. The gateway's own connection to a server does not need this: it starts the
    command with a trimmed environment."""
    return replace(opening, mcp_servers=tuple(map(_wrap_command, opening.mcp_servers)))


def _wrap_command(server: Mapping[str, Any]) -> Mapping[str, Any]:
    """An entry that is not as ACP writes it is left to the agent, which refuses it."""
    command, args = server.get("command"), server.get("args", [])
    if not isinstance(command, str) or not isinstance(args, list | tuple):
        return server
    try:
        own_names = to_config_entry(server)[1].get("env", {})
    except BadInput:
        return server
    kept = ",".join(sorted(name for name in own_names if "," not in name))
    return {**server, "command": sys.executable, "args": ["-I", "-S", str(LAUNCHER), kept, command, *args]}
