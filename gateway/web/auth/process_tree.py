"""Whether a socket belongs to a process that this gateway started: an agent, or what an agent started (Linux).

In: the socket's inode. Out: a verdict. Every process that the gateway starts, and every process that those leave
behind, is a descendant of the gateway: the supervisor of an agent adopts its orphans. Blocks while it reads `/proc`; to
be called in a thread.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import suppress
from enum import Enum

MAX_PASSES = 5
"""A process that forks while its descendants are listed could be overlooked: new ones are looked for this often."""


class Holder(Enum):
    """Who holds a socket."""

    OTHER = "other"
    """No descendant of the gateway."""
    DESCENDANT = "descendant"
    UNKNOWN = "unknown"
    """It was found nowhere, and there is a descendant whose files cannot be read."""


def has_children() -> bool:
    """Whether the gateway has started any process that has not been waited for; asks the kernel, takes 1 µs."""
    try:
        os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)
    except ChildProcessError:
        return False
    return True


def is_descendant(pid: int) -> bool:
    return pid in _descendants(os.getpid())


def find_holder(inode: int) -> Holder:
    searched: set[int] = set()
    unreadable: set[int] = set()
    for _ in range(MAX_PASSES):
        new = _descendants(os.getpid()) - searched
        if not new:
            break
        searched |= new
        if _holds_any(new, inode, unreadable):
            return Holder.DESCENDANT
    if not unreadable:
        return Holder.OTHER
    # A process may make its files unreadable (prctl PR_SET_DUMPABLE). Then the socket must be found elsewhere.
    return Holder.OTHER if _holds_any(_all_processes() - searched, inode, set()) else Holder.UNKNOWN


def _holds_any(pids: Iterable[int], inode: int, unreadable: set[int]) -> bool:
    return any(_holds(pid, f"socket:[{inode}]", unreadable) for pid in pids)


def _holds(pid: int, name: str, unreadable: set[int]) -> bool:
    folder = f"/proc/{pid}/fd"
    try:
        for file in os.listdir(folder):
            with suppress(FileNotFoundError):  # closed meanwhile
                if os.readlink(f"{folder}/{file}") == name:
                    return True
    except PermissionError:
        unreadable.add(pid)
    except OSError:
        pass  # it has ended
    return False


def _descendants(root: int) -> set[int]:
    """From the table of all processes: the kernel's own list of a process's children may leave some out while others
    end (`proc_pid_task(5)`)."""
    children: dict[int, list[int]] = {}
    for pid in _all_processes():
        with suppress(OSError, ValueError), open(f"/proc/{pid}/stat", "rb", buffering=0) as file:  # it may have ended
            stat = file.read()
            # `pid (command) state ppid …`: the command may hold spaces and brackets.
            children.setdefault(int(stat[stat.rindex(b")") + 2 :].split(b" ", 2)[1]), []).append(pid)
    found: set[int] = set()
    ahead = [root]
    while ahead:
        new = [child for child in children.get(ahead.pop(), ()) if child not in found]
        found.update(new)
        ahead += new
    return found


def _all_processes() -> set[int]:
    return {int(name) for name in os.listdir("/proc") if name.isdigit()}
