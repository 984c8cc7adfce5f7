"""Small requests: capabilities a second, and how soon a run says its first word."""

from __future__ import annotations

from functools import partial
from statistics import quantiles

from tests.bench.figures import Figure, Report, Target, interleaved
from tests.bench.reader import hammer, read_each
from tests.bench.servers import Bench, get, post_run
from tests.support.gateway import run_input

CONNECTIONS = 4
TEXT = "the quick brown fox jumps over the lazy dog"


def measure_capabilities(bench: Bench) -> Report:
    plan = bench.plan
    ours = get(bench.port, "/agents/echo/capabilities", keep=True)
    constant = get(bench.peers.port, "/constant", keep=True)
    cases = {
        "gateway": partial(bench.read, hammer, ours, CONNECTIONS, plan.seconds),
        "Starlette route, the same bytes": partial(bench.read, hammer, constant, CONNECTIONS, plan.seconds),
    }
    results = interleaved(cases, plan.rounds, bench.say)
    figures = [Figure(name, "requests/s", values) for name, values in results.items()]
    target = Target("capabilities against a constant route", figures[0].median / figures[1].median, "≥", 0.5)
    return Report(f"capabilities, {CONNECTIONS} connections", figures, [target])


def measure_first_event(bench: Bench) -> Report:
    runs = bench.plan.runs
    requests = [post_run(bench.port, "echo", run_input(TEXT)) for _ in range(runs + 10)]
    bench.say(f"first event, {runs} runs")
    results = bench.read(read_each, requests)[10:]
    first = [1000 * got.first for got in results]
    total = [1000 * got.seconds for got in results]
    figures = [
        Figure("first event", "ms", first, {"p95": p95(first)}),
        Figure("whole run", "ms", total, {"p95": p95(total)}),
    ]
    return Report(f"echo, {runs} runs one after the other", figures)


def p95(values: list[float]) -> float:
    return quantiles(values, n=20)[-1]
