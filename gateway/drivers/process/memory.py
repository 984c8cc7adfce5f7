"""How much memory the processes of agents use. Linux only; elsewhere nothing is known, and 0 is returned. Blocks."""

from __future__ import annotations

import os
from contextlib import suppress

from gateway.drivers.process.leftovers import descendants, read_table

PAGE_BYTES = os.sysconf("SC_PAGE_SIZE") if hasattr(os, "sysconf") else 4096


def read_memory(ancestor: int) -> int:
    """Bytes that the descendants of a process have for themselves: without what they share with each other."""
    return sum(_read_own_bytes(pid) for pid in descendants(read_table(), ancestor))


def machine_memory() -> int:
    """Bytes; 0: unknown."""
    with suppress(ValueError, OSError, AttributeError):
        return os.sysconf("SC_PHYS_PAGES") * PAGE_BYTES
    return 0


def _read_own_bytes(pid: int) -> int:
    with suppress(OSError, ValueError, IndexError), open(f"/proc/{pid}/statm", "rb") as file:
        _, resident, shared, *_ = file.read().split()
        return max(0, int(resident) - int(shared)) * PAGE_BYTES
    return 0
