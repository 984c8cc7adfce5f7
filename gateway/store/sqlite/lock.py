"""One gateway per store: a lock file beside the database, held for as long as the process lives.

In: the database's path. Out: a file descriptor to close at the end, or a refusal that names the holder. The file stays
where it is: removing it would let a third gateway lock a new file while a second waits on the old one.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from gateway.errors import ConfigError


def take(database: Path) -> int:
    """Lock `<database>.lock` and write our pid into it. The kernel gives the lock back however the process ends."""
    # Python's descriptors are closed at exec, so agents that the gateway starts do not keep the lock.
    descriptor = os.open(f"{database}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        holder = _holder(descriptor)
        os.close(descriptor)
        raise ConfigError(
            f"the store {database} is in use by another agui-gateway ({holder}); give this one its own with --store"
        ) from None
    except OSError:
        os.close(descriptor)
        raise
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor


def release(descriptor: int) -> None:
    os.close(descriptor)


def _holder(descriptor: int) -> str:
    pid = os.pread(descriptor, 32, 0).strip()
    # Empty for the instant between the other's lock and its first write.
    return f"pid {pid.decode()}" if pid.isdigit() else "pid unknown"
