"""Can this agent run here? Its program, and the signs that somebody is signed in. Nothing is started but what a
definition names for it, bounded in time."""

from __future__ import annotations

import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import anyio

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.tables import Auth, Install

Status = Literal["ready", "not-installed", "needs-auth", "broken"]

COMMANDS: dict[str, str] = {
    "npm": "npm install -g {package}",
    "uv": "uv tool install {package}",
    "pip": "pip install {package}",
    "brew": "brew install {package}",
    "shell": "{package}",
    "manual": "{package}",
    "curl": "{package}",
    "nix": "{package}",
    "gh-extension": "gh extension install {package}",
    "winget": "winget install {package}",
    "scoop": "scoop install {package}",
}


@dataclass(frozen=True, slots=True)
class Availability:
    status: Status = "ready"
    reason: str | None = None
    hint: str | None = None
    """What to do about it."""


async def look(definition: AgentDefinition, environ: Mapping[str, str] | None = None) -> Availability:
    environ = os.environ if environ is None else environ
    command = definition.command
    if command is None:
        return Availability()
    path = command.env.get("PATH", environ.get("PATH"))
    if shutil.which(command.run[0], path=path) is None:
        hint = install_hint(definition.install)
        return Availability("not-installed", f"{command.run[0]!r} is not on the PATH", hint)
    if not definition.auth:
        return Availability()
    for sign in definition.auth:
        if await _holds(sign, environ):
            return Availability()
    hints = [sign.hint for sign in definition.auth if sign.hint]
    return Availability("needs-auth", "no sign of being signed in was found", hints[0] if hints else None)


def install_hint(ways: tuple[Install, ...]) -> str | None:
    if not ways:
        return None
    way = ways[0]
    return COMMANDS[way.kind].format(package=way.package)


async def _holds(sign: Auth, environ: Mapping[str, str]) -> bool:
    match sign.kind:
        case "none":
            return True
        case "env":
            return bool(sign.name and environ.get(sign.name))
        case "file":
            return sign.name is not None and await anyio.Path(await anyio.Path(sign.name).expanduser()).exists()
        case "command":
            return await _succeeds(sign)


async def _succeeds(sign: Auth) -> bool:
    try:
        with anyio.fail_after(sign.timeout):
            done = await anyio.run_process(list(sign.run), check=False)
    except (OSError, TimeoutError):
        return False
    return done.returncode == 0
