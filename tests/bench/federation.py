"""A gateway behind a gateway: the same run through one, and through two, to one reader."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import median

from tests.bench.figures import Figure, Report, Target
from tests.bench.processes import processor_seconds
from tests.bench.reader import read_one
from tests.bench.servers import Bench, port_of, post_run, words_input
from tests.bench.stream import AROUND, Sample, sample, taken, whole
from tests.support.gateway import Gateway

ONE, ONE_BINARY = "one gateway, SSE", "one gateway, protobuf"
TWO, TWO_BINARY = "gateway over gateway, SSE", "gateway over gateway, protobuf"
TWO_MIXED = "gateway over gateway, protobuf between, SSE out"
ENOUGH = 0.5
"""Of a single gateway's events: what two must keep."""
MIXED = 0.3
"""…with protobuf between: every frame is read and written anew, for its bytes are not those of any client's line."""


def measure(bench: Bench) -> Report:
    agents = bench.home / "federated"
    agents.mkdir(exist_ok=True)
    for name, wire in (("lines", "sse"), ("binary", "protobuf")):
        told = f'id = "{name}"\ndriver = "remote"\noptions = ["merge"]\nidentity.name = "{name}"\n[remote]\n'
        text = f'{told}url = "{bench.gateway.url}/agents/words"\nformat = "{wire}"\n'
        (agents / f"{name}.toml").write_text(text)
    with Gateway(bench.home / "near", "--agents", str(agents)) as near:
        near.run("lines", "1")
        cases: dict[str, Callable[[], Sample]] = {
            ONE: partial(of_one, bench, bench.gateway, "words", binary=False),
            TWO: partial(of_one, bench, near, "lines", binary=False),
            TWO_MIXED: partial(of_one, bench, near, "binary", binary=False),
            ONE_BINARY: partial(of_one, bench, bench.gateway, "words", binary=True),
            TWO_BINARY: partial(of_one, bench, near, "lines", binary=True),
        }
        samples = taken(cases, bench)
    rates = {name: median(one.rate for one in each) for name, each in samples.items()}
    return Report(
        f"a gateway over a gateway, {bench.plan.size:,} deltas, not merged",
        [figure(name, each, rates) for name, each in samples.items()],
        [
            Target("two gateways against one, SSE", rates[TWO] / rates[ONE], "≥", ENOUGH),
            Target("two gateways against one, protobuf", rates[TWO_BINARY] / rates[ONE_BINARY], "≥", ENOUGH),
            Target("two gateways against one, protobuf between", rates[TWO_MIXED] / rates[ONE], "≥", MIXED),
        ],
    )


def figure(name: str, samples: list[Sample], rates: dict[str, float]) -> Figure:
    notes = {
        "× one\ngateway": rates[name] / rates[ONE],
        "bytes/\ndelta": samples[-1].width,
        "CPU µs/\ndelta": median(one.work for one in samples),
    }
    return Figure(name, "deltas/s", [one.rate for one in samples], notes)


def of_one(bench: Bench, gateway: Gateway, agent: str, *, binary: bool) -> Sample:
    """Processor time is that of the gateway that is asked, the nearest."""
    body = words_input(bench.plan.size, merge=False)
    spent = processor_seconds(gateway.pid)
    got = bench.read(read_one, post_run(port_of(gateway), agent, body, binary=binary))
    if body["runId"].encode() not in got.tail:
        raise RuntimeError(f"the run did not finish: {got}")
    whole(got, at_least=bench.plan.size + AROUND)
    return sample(got, bench.plan.size, processor_seconds(gateway.pid) - spent)
