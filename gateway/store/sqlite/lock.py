"""One gateway per store: a lock file next to the database, locked as long as the process lives.

In: the database's path. Out: a file descriptor to close at the end, or an error that names the other process. The file
is never removed: otherwise a third gateway could lock a new file while a second waits for the old one.
"""

from __future__ import annotations

import fcntl
import os
from pathlib import Path

from gateway.errors import ConfigError


def acquire(database: Path) -> int:
    """Locks `<database>.lock` and writes our pid into it. The kernel releases the lock when the process ends."""
    # Python closes descriptors at exec, so agents do not inherit the lock.
    descriptor = os.open(f"{database}.lock", os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        owner = _read_owner(descriptor)
        os.close(descriptor)
        raise ConfigError(
            f"the store {database} is in use by another agui-gateway ({owner}); choose another store with --store"
        ) from None
    except OSError:
        os.close(descriptor)
        raise
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, f"{os.getpid()}\n".encode(), 0)
    return descriptor


def release(descriptor: int) -> None:
    os.close(descriptor)


def _read_owner(descriptor: int) -> str:
    pid = os.pread(descriptor, 32, 0).strip()
    # Empty between the other process's lock and its first write.
    return f"pid {pid.decode()}" if pid.isdigit() else "pid unknown"
