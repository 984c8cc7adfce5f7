"""What tests need to know of processes, and waiting for it: conditions with a bound, never a fixed time."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

FAKES = Path(__file__).parents[1] / "fakes"
LIMIT = 30.0
"""Far beyond what anything here takes on a busy machine."""
LOOK_AGAIN = 0.01


def child(mode: str, *arguments: str | int) -> list[str]:
    """The command of a fake agent."""
    return [sys.executable, "-I", "-S", str(FAKES / "child.py"), mode, *map(str, arguments)]


def alive(pid: int) -> bool:
    """A dead process that was not reaped yet does not count."""
    return _stat(pid)[0] not in "ZX"


def parent(pid: int) -> int:
    return int(_stat(pid)[1])


def running(pattern: str) -> list[int]:
    """The processes with this argument."""
    pids = [int(path.name) for path in Path("/proc").iterdir() if path.name.isdigit()]
    return [pid for pid in pids if pattern in _arguments(pid) and alive(pid)]


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline, "it did not come to pass"
        time.sleep(LOOK_AGAIN)


def _stat(pid: int) -> list[str]:
    """State, parent and so on."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except (FileNotFoundError, ProcessLookupError):
        return ["X", "0"]


def _arguments(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text(errors="replace").split("\0")
    except (FileNotFoundError, ProcessLookupError):
        return []
