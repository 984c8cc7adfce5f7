"""MCP servers for tests: as a session is given them, and as processes of their own."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.project import ROOT

FAKE = (sys.executable, "-m", "tests.fakes.mcp_server")


def pairs(told: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in told.items()]


def stdio(name: str, *flags: str, **env: str) -> dict[str, Any]:
    """As ACP writes one that is started."""
    command, *args = (*FAKE, *flags)
    return {"name": name, "command": command, "args": args, "env": pairs({"PYTHONPATH": str(ROOT), **env})}


def remote(name: str, url: str, kind: str = "http", **headers: str) -> dict[str, Any]:
    given = {header.replace("_", "-"): value for header, value in headers.items()}
    return {"type": kind, "name": name, "url": url, "headers": pairs(given)}


@contextmanager
def serving(*flags: str) -> Iterator[str]:
    """One that runs already: its URL."""
    with subprocess.Popen([*FAKE, *flags], stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def pids(note: Path) -> list[int]:
    """Of the servers that noted theirs there."""
    return [int(line.split()[1]) for line in lines(note) if line.startswith("pid ")]


def lines(note: Path) -> list[str]:
    return note.read_text("utf-8").splitlines() if note.exists() else []
