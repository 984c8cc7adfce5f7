"""What to type to get an agent: one `[[install]]` of its file as a command."""

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
"""The other kinds bring their whole command along."""


def typed(way: Install) -> str:
    if way.kind not in COMMANDS:
        return way.package
    return COMMANDS[way.kind].format(package=shlex.quote(way.package))
