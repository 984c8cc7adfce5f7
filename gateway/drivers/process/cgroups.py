"""A cgroup (version 2) for each agent process, where the operator has given the gateway a cgroup of its own.

In: the gateway's own cgroup, as `/proc/self/cgroup` names it. Out: new cgroups below it, with limits. The gateway has
one of its own if it may write there and the controllers `memory` and `pids` are available, as with systemd's
`Delegate=yes` or in a container. A cgroup with controllers for its children holds no processes itself
(https://docs.kernel.org/admin-guide/cgroup-v2.html#no-internal-process-constraint), so the gateway moves into a child.
"""

from __future__ import annotations

import logging
import os
from contextlib import suppress
from pathlib import Path
from uuid import uuid4

log = logging.getLogger(__name__)

MOUNT = Path("/sys/fs/cgroup")
CONTROLLERS = ("memory", "pids")
OWN_NAME = "agui-gateway"


class Cgroups:
    def __init__(self, folder: Path) -> None:
        """`folder`: the delegated cgroup. Raises `OSError` when it cannot be used."""
        self._folder = folder
        self.own = folder / OWN_NAME
        """Where the gateway itself and the agents' supervisors are."""
        available = (folder / "cgroup.controllers").read_text().split()
        if missing := [name for name in CONTROLLERS if name not in available]:
            raise OSError(f"{folder} lacks the controllers {', '.join(missing)}")
        pids = {int(pid) for pid in (folder / "cgroup.procs").read_text().split()}
        if foreign := pids - {os.getpid(), 1}:  # 1: the init process of a container
            raise OSError(f"{folder} has processes that are not the gateway's: {sorted(foreign)}")
        self.own.mkdir(exist_ok=True)
        for pid in pids:
            (self.own / "cgroup.procs").write_text(str(pid))
        (folder / "cgroup.subtree_control").write_text(" ".join(f"+{name}" for name in CONTROLLERS))

    def create(self, memory: int | None, processes: int | None) -> Path | None:
        """A cgroup with these limits; None: there is nothing to limit, or it cannot be created. The supervisor removes
        it when its last process is gone."""
        if memory is None and processes is None:
            return None
        path = self._folder / f"agent-{uuid4().hex[:12]}"
        try:
            path.mkdir()
            if memory is not None:
                (path / "memory.max").write_text(str(memory))
                with suppress(OSError):  # not every kernel limits swap
                    (path / "memory.swap.max").write_text("0")
            if processes is not None:
                (path / "pids.max").write_text(str(processes))
        except OSError as exc:
            log.warning("no cgroup for an agent: %s", exc)
            with suppress(OSError):
                path.rmdir()
            return None
        return path


def find_cgroups(proc: Path = Path("/proc/self/cgroup"), mount: Path = MOUNT) -> Cgroups | None:
    """None: the gateway has no cgroup of its own."""
    try:
        path = next(line for line in proc.read_text().splitlines() if line.startswith("0::/"))[4:]
    except (OSError, StopIteration):
        return None
    folder = mount / path
    if not (folder / "cgroup.type").exists() or not os.access(folder, os.W_OK):  # the machine's root has no type
        return None
    try:
        return Cgroups(folder)
    except OSError as exc:
        log.info("agents get no cgroups: %s", exc)
        return None
