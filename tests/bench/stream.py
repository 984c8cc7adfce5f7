"""One run, one reader: how many of the agent's deltas reach the client in a second."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from statistics import median

from tests.bench.figures import Figure, Report, Target, interleaved
from tests.bench.processes import processor_seconds
from tests.bench.reader import Got, read_one
from tests.bench.servers import Bench, get, post_run, words_input

SSE, SSE_MERGED = "gateway, SSE", "gateway, SSE, merging"
BINARY, BINARY_MERGED = "gateway, protobuf", "gateway, protobuf, merging"
CHUNKS, WRITES = "ready bytes, 64 a write", "ready bytes, one a write"
OFFICIAL = "official encoder"
AROUND = 4
"""Events of a run that are not deltas: it starts and ends, and so does its message."""
OFFICIAL_SHARE = 5
"""A fifth of the deltas does for the slowest: its rate is steady, and half a minute is saved."""
APART_SHARE = 20


@dataclass(frozen=True, slots=True)
class Sample:
    rate: float
    """Deltas a second."""
    width: float
    """Bytes a delta."""
    work: float
    """Microseconds of the server's processor a delta."""


def measure(bench: Bench) -> Report:
    cases: dict[str, Callable[[], Sample]] = {
        SSE: partial(of_gateway, bench, merge=False, binary=False),
        SSE_MERGED: partial(of_gateway, bench, merge=True, binary=False),
        BINARY: partial(of_gateway, bench, merge=False, binary=True),
        BINARY_MERGED: partial(of_gateway, bench, merge=True, binary=True),
        CHUNKS: partial(of_peer, bench, "chunks"),
        WRITES: partial(of_peer, bench, "writes"),
        OFFICIAL: partial(of_peer, bench, "official", share=OFFICIAL_SHARE),
    }
    samples = taken(cases, bench)
    rates = {name: median(sample.rate for sample in samples[name]) for name in cases}
    widths = {name: samples[name][-1].width for name in cases}
    return Report(f"one reader, {bench.plan.size:,} deltas", figures(samples), targets(rates, widths))


def measure_apart(bench: Bench) -> Report:
    size = bench.plan.size // APART_SHARE
    small = replace(bench, plan=replace(bench.plan, size=size))
    cases: dict[str, Callable[[], Sample]] = {
        SSE: partial(of_gateway, small, merge=False, binary=False, agent="words-apart"),
        WRITES: partial(of_peer, small, "writes"),
        OFFICIAL: partial(of_peer, small, "official"),
    }
    return Report(f"{size:,} deltas, a pause after each", figures(taken(cases, small)))


def taken(cases: dict[str, Callable[[], Sample]], bench: Bench) -> dict[str, list[Sample]]:
    """One round more than asked for: in the first, things are imported and bytes made ready."""
    return {name: samples[1:] for name, samples in interleaved(cases, bench.plan.rounds + 1, bench.say).items()}


def figures(samples: dict[str, list[Sample]]) -> list[Figure]:
    rates = {name: median(sample.rate for sample in of_one) for name, of_one in samples.items()}
    return [
        Figure(
            name,
            "deltas/s",
            [sample.rate for sample in of_one],
            {
                "× official": rates[name] / rates[OFFICIAL],
                "× one\na write": rates[name] / rates[WRITES],
                "bytes/\ndelta": of_one[-1].width,
                "CPU µs/\ndelta": median(sample.work for sample in of_one),
            },
        )
        for name, of_one in samples.items()
    ]


def targets(rates: dict[str, float], widths: dict[str, float]) -> list[Target]:
    return [
        Target("SSE against one a write", rates[SSE] / rates[WRITES], "≥", 1.5),
        Target("SSE against the official encoder", rates[SSE] / rates[OFFICIAL], "≥", 5),
        Target("SSE, merging, against one a write", rates[SSE_MERGED] / rates[WRITES], "≥", 2.5),
        Target("protobuf's speed against SSE's", rates[BINARY] / rates[SSE], "≥", 1),
        Target("protobuf's bytes against SSE's", widths[BINARY] / widths[SSE], "≤", 0.5),
    ]


def of_gateway(bench: Bench, *, merge: bool, binary: bool, agent: str = "words") -> Sample:
    body = words_input(bench.plan.size, merge)
    spent = processor_seconds(bench.gateway.pid)
    got = bench.read(read_one, post_run(bench.port, agent, body, binary=binary))
    if body["runId"].encode() not in got.tail:  # only RUN_FINISHED names it there
        raise RuntimeError(f"the run did not finish: {got}")
    whole(got, at_least=AROUND if merge else bench.plan.size + AROUND)
    return sample(got, bench.plan.size, processor_seconds(bench.gateway.pid) - spent)


def of_peer(bench: Bench, name: str, share: int = 1) -> Sample:
    size = bench.plan.size // share
    spent = processor_seconds(bench.peers.pid)
    got = whole(bench.read(read_one, get(bench.peers.port, f"/{name}/{size}")), at_least=size)
    return sample(got, size, processor_seconds(bench.peers.pid) - spent)


def sample(got: Got, size: int, spent: float) -> Sample:
    return Sample(size / got.seconds, got.size / size, 1_000_000 * spent / size)


def whole(got: Got, *, at_least: int) -> Got:
    if got.frames < at_least:
        raise RuntimeError(f"{at_least} events were to come: {got}")
    return got
