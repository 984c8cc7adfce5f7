"""The limits of an agent's process: how they are set, and which one ended it.

In: limits from the agent's file and the settings. Out: options for the supervisor. Memory and processes are limited by
a cgroup (version 2) where the gateway has one of its own with these controllers (`cgroups`). Otherwise memory is
limited by RLIMIT_DATA for each process, and processes are counted: by the forwarder inside a sandbox, else by the
supervisor.

RLIMIT_AS would end every JavaScript engine, which reserves far more address space than it uses. RLIMIT_NPROC does not
count an agent's processes: it counts all threads of the user, the gateway's own included, and none of root's.
"""

from __future__ import annotations

import resource
import signal
from dataclasses import asdict, dataclass, replace

from gateway.drivers.process.cgroups import Cgroups
from gateway.drivers.process.supervisor_client import SupervisorOptions

CPU_GRACE_SECONDS = 5
"""Between SIGXCPU, which says which limit it was, and SIGKILL."""

OUT_OF_MEMORY_TEXTS = ("out of memory", "MemoryError", "Cannot allocate memory", "bad_alloc", "memory allocation of")
"""What programs print that get no memory: V8 and JavaScriptCore, Python, the C library, C++, Rust."""


@dataclass(frozen=True, slots=True)
class ResourceLimits:
    """None: no limit."""

    memory: int | None = None
    """Bytes."""
    processes: int | None = None
    cpu_seconds: int | None = None
    file_bytes: int | None = None

    def to_json(self) -> dict[str, int]:
        return {name: value for name, value in asdict(self).items() if value is not None}


def supervisor_options(limits: ResourceLimits, cgroups: Cgroups | None, *, is_sandboxed: bool) -> SupervisorOptions:
    """For one process. Core dumps are off: they would hold whatever the agent has in memory."""
    cgroup = None if cgroups is None else cgroups.create(limits.memory, limits.processes)
    rlimits = [(resource.RLIMIT_CORE, 0, 0)]
    if limits.memory is not None and cgroup is None:
        rlimits.append((resource.RLIMIT_DATA, limits.memory, limits.memory))
    if limits.cpu_seconds is not None:
        rlimits.append((resource.RLIMIT_CPU, limits.cpu_seconds, limits.cpu_seconds + CPU_GRACE_SECONDS))
    if limits.file_bytes is not None:
        rlimits.append((resource.RLIMIT_FSIZE, limits.file_bytes, limits.file_bytes))
    options = SupervisorOptions(tuple(rlimits), limit_names=frozenset(limits.to_json()))
    if cgroup is not None and cgroups is not None:
        return replace(options, cgroup=(cgroup, cgroups.own))
    return options if is_sandboxed else replace(options, max_processes=limits.processes)


def find_limit(exit_code: int | None, limits: frozenset[str], stderr: str) -> str | None:
    """The limit that ended a process, by the traces that the kernel's limits leave. None: no limit did, as far as can
    be seen."""
    if exit_code == -signal.SIGXCPU and "cpu_seconds" in limits:
        return "cpu_seconds"
    if exit_code == -signal.SIGXFSZ and "file_bytes" in limits:
        return "file_bytes"
    if exit_code and "memory" in limits and any(text in stderr for text in OUT_OF_MEMORY_TEXTS):
        return "memory"
    return None
