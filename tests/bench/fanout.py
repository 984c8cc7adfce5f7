"""One run, many readers: one posts it, the others attach by its id as soon as it has begun."""

from __future__ import annotations

from functools import partial

from tests.bench.figures import Figure, Report, Target, interleaved
from tests.bench.reader import read_many
from tests.bench.servers import Bench, get, post_run, words_input
from tests.bench.stream import AROUND, whole

READERS = (1, 10, 100)
SHARE = 4
"""A quarter of the stream's deltas: a hundred readers take gigabytes otherwise."""


def measure(bench: Bench) -> Report:
    size = bench.plan.size // SHARE
    cases = {f"{readers} reader{'s' * (readers > 1)}": partial(seconds, bench, readers, size) for readers in READERS}
    bench.say("readers, warming up")
    seconds(bench, READERS[-1], size)
    results = interleaved(cases, bench.plan.rounds, bench.say)
    plain = {name: Figure(name, "ms", [1000 * value for value in values]) for name, values in results.items()}
    one, *_, most = plain.values()
    figures = [Figure(name, "ms", at.values, {"× one reader": at.median / one.median}) for name, at in plain.items()]
    target = Target(f"{READERS[-1]} readers against one, in time", most.median / one.median, "≤", 15)
    return Report(f"{size:,} deltas, no merging, to many readers", figures, [target])


def seconds(bench: Bench, readers: int, size: int) -> float:
    body = words_input(size, merge=False)
    attached = [get(bench.port, f"/runs/{body['runId']}/events") for _ in range(readers - 1)]
    results = bench.read(read_many, post_run(bench.port, "words", body), attached)
    return max(whole(got, at_least=size + AROUND).seconds for got in results)
