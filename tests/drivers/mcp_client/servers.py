"""MCP servers for tests: as a client configures them, and as running processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from tests.support.project import ROOT

FAKE = (sys.executable, "-m", "tests.fakes.mcp_server")


def pairs(values: dict[str, str]) -> list[dict[str, str]]:
    return [{"name": name, "value": value} for name, value in values.items()]


def stdio(name: str, *flags: str, **env: str) -> dict[str, Any]:
    """A server that is started, as ACP writes it."""
    command, *args = (*FAKE, *flags)
    return {"name": name, "command": command, "args": args, "env": pairs({"PYTHONPATH": str(ROOT), **env})}


def remote(name: str, url: str, kind: str = "http", **headers: str) -> dict[str, Any]:
    header_values = {header.replace("_", "-"): value for header, value in headers.items()}
    return {"type": kind, "name": name, "url": url, "headers": pairs(header_values)}


@contextmanager
def serving(*flags: str) -> Iterator[str]:
    """A server that runs already: its URL."""
    with subprocess.Popen([*FAKE, *flags], stdout=subprocess.PIPE, text=True, cwd=ROOT) as process:
        try:
            assert process.stdout is not None
            yield process.stdout.readline().strip()
        finally:
            process.kill()


def pids(note: Path) -> list[int]:
    """Of the servers that wrote them to this file."""
    return [int(line.split()[1]) for line in lines(note) if line.startswith("pid ")]


def lines(note: Path) -> list[str]:
    return note.read_text("utf-8").splitlines() if note.exists() else []
