"""A real ACP agent that sends chunks as fast as it can, to one reader; beside it a client on the official SDK."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import median

from tests.bench.figures import Figure, Report, Target
from tests.bench.processes import processor_seconds
from tests.bench.reader import read_one
from tests.bench.sdk import FAKE
from tests.bench.servers import Bench, command_of, port_of, post_run
from tests.bench.stream import AROUND, WRITES, Sample, of_peer, sample, taken, whole
from tests.support.gateway import Gateway, run_input

ACP, ACP_MERGED = "gateway, ACP", "gateway, ACP, merging"
SDK = "official ACP SDK and encoder"
SDK_SHARE = 10
"""A tenth of the chunks does for the slowest: its rate is steady."""


def measure(bench: Bench) -> Report:
    agents = bench.home / "acp-agents"
    agents.mkdir(exist_ok=True)
    identity = 'id = "chunks"\ndriver = "acp"\nidentity = { name = "Chunks" }\n'
    (agents / "chunks.toml").write_text(identity + command_of(*FAKE))
    with Gateway(bench.home / "acp", "--agents", str(agents)) as gateway:
        gateway.run("chunks", "hello")  # the process is there, as for every thread but the first
        cases: dict[str, Callable[[], Sample]] = {
            ACP: partial(of_acp, bench, gateway, merge=False),
            ACP_MERGED: partial(of_acp, bench, gateway, merge=True),
            WRITES: partial(of_peer, bench, "writes"),
            SDK: partial(of_peer, bench, "acp-sdk", share=SDK_SHARE),
        }
        samples = taken(cases, bench)
    rates = {name: median(one.rate for one in of_one) for name, of_one in samples.items()}
    return Report(
        f"an ACP agent's process, {bench.plan.size:,} chunks",
        [figure(name, of_one, rates) for name, of_one in samples.items()],
        [
            Target("ACP against one a write", rates[ACP] / rates[WRITES], "≥", 1),
            Target("ACP against the official SDK", rates[ACP] / rates[SDK], "≥", 5),
            Target("ACP, merging, against one a write", rates[ACP_MERGED] / rates[WRITES], "≥", 2),
        ],
    )


def figure(name: str, samples: list[Sample], rates: dict[str, float]) -> Figure:
    notes = {
        "× SDK": rates[name] / rates[SDK],
        "× one\na write": rates[name] / rates[WRITES],
        "bytes/\nchunk": samples[-1].width,
        "CPU µs/\nchunk": median(one.work for one in samples),
    }
    return Figure(name, "chunks/s", [one.rate for one in samples], notes)


def of_acp(bench: Bench, gateway: Gateway, *, merge: bool) -> Sample:
    body = run_input(f"many {bench.plan.size}", forwardedProps={"gateway": {"merge": merge}})
    spent = processor_seconds(gateway.pid)
    got = bench.read(read_one, post_run(port_of(gateway), "chunks", body))
    whole(got, at_least=AROUND if merge else bench.plan.size + AROUND)
    return sample(got, bench.plan.size, processor_seconds(gateway.pid) - spent)
