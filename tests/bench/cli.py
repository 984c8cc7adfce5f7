"""A command-line agent that prints deltas as fast as it can, in Claude Code's format, to one reader."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from statistics import median

from tests.bench.figures import Figure, Report, Target
from tests.bench.processes import processor_seconds
from tests.bench.reader import read_one
from tests.bench.servers import Bench, command_of, port_of, post_run
from tests.bench.stream import AROUND, WRITES, Sample, of_peer, sample, taken, whole
from tests.support.gateway import Gateway, run_input

CLI, CLI_MERGED = "gateway, command line", "gateway, command line, merging"
FAKE = ("-m", "tests.fakes.claude")


def measure(bench: Bench) -> Report:
    agents = bench.home / "cli-agents"
    agents.mkdir(exist_ok=True)
    identity = 'id = "deltas"\ndriver = "cli"\nidentity = { name = "Deltas" }\n'
    (agents / "deltas.toml").write_text(f'{identity}{command_of(*FAKE)}[cli]\ndialect = "claude"\n')
    with Gateway(bench.home / "cli", "--agents", str(agents)) as gateway:
        gateway.run("deltas", "hello")
        cases: dict[str, Callable[[], Sample]] = {
            CLI: partial(of_cli, bench, gateway, merge=False),
            CLI_MERGED: partial(of_cli, bench, gateway, merge=True),
            WRITES: partial(of_peer, bench, "writes"),
        }
        samples = taken(cases, bench)
    rates = {name: median(one.rate for one in of_one) for name, of_one in samples.items()}
    return Report(
        f"a command-line agent's process, {bench.plan.size:,} deltas",
        [figure(name, of_one, rates) for name, of_one in samples.items()],
        [
            Target("command line against one a write", rates[CLI] / rates[WRITES], "≥", 0.8),
            Target("command line, merging, against one a write", rates[CLI_MERGED] / rates[WRITES], "≥", 1.5),
        ],
    )


def figure(name: str, samples: list[Sample], rates: dict[str, float]) -> Figure:
    notes = {
        "× one\na write": rates[name] / rates[WRITES],
        "bytes/\ndelta": samples[-1].width,
        "CPU µs/\ndelta": median(one.work for one in samples),
    }
    return Figure(name, "deltas/s", [one.rate for one in samples], notes)


def of_cli(bench: Bench, gateway: Gateway, *, merge: bool) -> Sample:
    body = run_input(f"many {bench.plan.size}", forwardedProps={"gateway": {"merge": merge}})
    spent = processor_seconds(gateway.pid)
    got = bench.read(read_one, post_run(port_of(gateway), "deltas", body))
    whole(got, at_least=AROUND if merge else bench.plan.size + AROUND)
    return sample(got, bench.plan.size, processor_seconds(gateway.pid) - spent)
