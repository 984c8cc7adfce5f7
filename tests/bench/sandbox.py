"""What the sandbox costs: the start of a process, with it and without it, until the process answers."""

from __future__ import annotations

import os
import shutil
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage
from statistics import median
from tempfile import mkdtemp
from time import perf_counter

import anyio

from gateway.drivers.process.resource_limits import ResourceLimits
from gateway.drivers.sandbox.bubblewrap import unusable_reason
from gateway.drivers.sandbox.launch import Program, start_program
from gateway.drivers.sandbox.policy import SandboxPolicy
from tests.bench.figures import Figure, Report, Target, interleaved
from tests.bench.servers import Bench

MAX_EXTRA_MS = 50.0
ROUNDS = 21
PLAIN, WRAPPED = "without", "with"


def measure(bench: Bench) -> Report:
    """Both in the same minutes, one after the other. Each has its processor time beside it, which other programs on the
    machine do not lengthen."""
    title = "Start of an agent's process, until its first byte"
    if (reason := unusable_reason()) is not None:
        return Report(title, [Figure("with the sandbox", "ms", skipped=reason)])
    folder = Path(mkdtemp(prefix="agui-bench-"))
    try:
        exchange = folder / "exchange"
        exchange.mkdir()
        limits = ResourceLimits(processes=2048)
        wrapped = SandboxPolicy("bubblewrap", folders=(folder,), exchange=exchange, limits=limits)
        policies = {PLAIN: SandboxPolicy("none", limits=limits), WRAPPED: wrapped}
        cases = {name: partial(anyio.run, _start, policy, folder) for name, policy in policies.items()}
        taken = interleaved(cases, ROUNDS, bench.say)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
    figures = {
        name: Figure(
            f"{name} the sandbox",
            "ms",
            [each.wall for each in values],
            {"CPU ms": median(each.processor for each in values)},
        )
        for name, values in taken.items()
    }
    extra = figures[WRAPPED].median - figures[PLAIN].median
    return Report(title, [*figures.values()], [Target("milliseconds more with the sandbox", extra, "≤", MAX_EXTRA_MS)])


@dataclass(frozen=True, slots=True)
class Start:
    """Milliseconds: until `cat` has returned a byte, and of processor time of all its processes, to their end."""

    wall: float
    processor: float


async def _start(policy: SandboxPolicy, folder: Path) -> Start:
    before = _children_milliseconds()
    async with anyio.create_task_group() as tasks:
        begin = perf_counter()
        program = Program(["cat"], dict(os.environ), folder, None, "bench")
        process = await start_program(program, policy, tasks)
        await process.write(b"x")
        await process.read()
        milliseconds = (perf_counter() - begin) * 1000
        await process.stop()
    return Start(milliseconds, _children_milliseconds() - before)


def _children_milliseconds() -> float:
    used = getrusage(RUSAGE_CHILDREN)
    return (used.ru_utime + used.ru_stime) * 1000
