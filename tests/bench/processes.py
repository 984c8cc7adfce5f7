"""What the system tells of a process: memory and processor time. Linux only; elsewhere both are NaN."""

from __future__ import annotations

from math import nan
from pathlib import Path


def resident(pid: int) -> float:
    """KB in memory."""
    try:
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
    except FileNotFoundError:
        return nan
    return next(float(line.split()[1]) for line in lines if line.startswith("VmRSS:"))


def processor_seconds(pid: int) -> float:
    """Of all its threads that are still there. What other processes take of the machine does not show in it."""
    found = list(Path(f"/proc/{pid}/task").glob("*/schedstat"))
    return sum(int(file.read_text().split()[0]) for file in found) / 1e9 if found else nan
