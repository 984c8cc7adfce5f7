"""Entries of `mcpServers` with the launcher in front of their command, and their variables in a private file."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from gateway.drivers.base import Opening
from gateway.drivers.mcp_entry import to_config_entry
from gateway.errors import BadInput

LAUNCHER = Path(__file__).with_name("launcher.py")
NO_FILE = "-"

SaveFile = Callable[[str, bytes], str]
"""(name, content) → the path of a file with it, which only this user can read."""


def hide_secrets(opening: Opening, save: SaveFile) -> Opening:
    """The opening as the agent gets it. The gateway's own connection to a server does not need this: it starts the
    command with a trimmed environment. Blocks if there are variables to save."""
    servers = tuple(_wrap_command(server, number, save) for number, server in enumerate(opening.mcp_servers))
    return replace(opening, mcp_servers=servers)


def _wrap_command(server: Mapping[str, Any], number: int, save: SaveFile) -> Mapping[str, Any]:
    """An entry that is not as ACP writes it is left to the agent, which refuses it."""
    command, args = server.get("command"), server.get("args", [])
    if not isinstance(command, str) or not isinstance(args, list | tuple):
        return server
    try:
        variables = to_config_entry(server)[1].get("env", {})
    except BadInput:
        return server
    path = save(f"mcp-{number}.env", _to_bytes(variables)) if variables else NO_FILE
    wrapped = {"command": sys.executable, "args": ["-I", "-S", str(LAUNCHER), path, command, *args]}
    return {**server, **wrapped, "env": []} if "env" in server else {**server, **wrapped}


def _to_bytes(variables: Mapping[str, str]) -> bytes:
    """As the kernel keeps an environment: `NAME=value`, each ended by a NUL. One that no environment can hold is left
    out."""
    pairs = (f"{name}={value}" for name, value in variables.items() if name and "=" not in name)
    return b"".join(pair.encode("utf-8", "replace") + b"\0" for pair in pairs if "\0" not in pair)
