"""One `[[install]]` of an agent's file as the command that a user types."""

from __future__ import annotations

import shlex

from gateway.catalog.sections import Install

COMMANDS: dict[str, str] = {
    "npm": "npm install -g {package}",
    "uv": "uv tool install {package}",
    "pip": "pip install {package}",
    "brew": "brew install {package}",
    "gh-extension": "gh extension install {package}",
    "winget": "winget install {package}",
    "scoop": "scoop install {package}",
}
"""For the other kinds `package` is the whole command."""


def command_line(method: Install) -> str:
    """`npm install -g @openai/codex`."""
    if method.kind not in COMMANDS:
        return method.package
    return COMMANDS[method.kind].format(package=shlex.quote(method.package))
