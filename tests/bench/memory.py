"""What a thread costs when nothing happens on it any more."""

from __future__ import annotations

from math import isnan
from threading import Event

from tests.bench.figures import Figure, Report
from tests.bench.processes import resident
from tests.bench.reader import read_each
from tests.bench.servers import Bench, open_gateway, port_of, post_run
from tests.support.gateway import run_input

AT_ONCE = 8
LOOKS = 20
PAUSE = 0.25
"""Seconds between two looks at memory; it has settled when two are alike."""


def measure(bench: Bench) -> Report:
    """In a gateway of its own: memory that others left free would hide the growth."""
    threads, name = bench.plan.threads, "each thread"
    title = f"memory, {threads:,} idle threads"
    if isnan(resident(bench.gateway.pid)):
        return Report(title, [Figure(name, "KB", skipped="skipped: needs /proc")])
    with open_gateway(bench.home / "memory") as gateway:
        port = port_of(gateway)
        bench.say("idle threads, warming up")
        run_threads(bench, port, threads // 2)
        before = settled(gateway.pid)
        bench.say(f"idle threads, {threads:,} runs")
        run_threads(bench, port, threads)
        after = settled(gateway.pid)
    figures = [
        Figure("gateway before", "MB", [before / 1024]),
        Figure("gateway after", "MB", [after / 1024]),
        Figure(name, "KB", [(after - before) / threads]),
    ]
    return Report(title, figures)


def run_threads(bench: Bench, port: int, count: int) -> None:
    bench.read(read_each, [post_run(port, "echo", run_input()) for _ in range(count)], AT_ONCE)


def settled(pid: int) -> float:
    """KB in memory, once that has stopped changing."""
    known, clock = resident(pid), Event()
    for _ in range(LOOKS):
        clock.wait(PAUSE)
        known, last = resident(pid), known
        if known == last:
            break
    return known
