"""How fast the gateway is, beside its peers, in one run on one machine: `python -m tests.bench`.

All servers are real processes on loopback (uvicorn, uvloop, httptools; the gateway with its SQLite store), the reader
is another process. Every figure is the median of rounds in which the cases take turns, so that noise hits all alike;
compare ratios, not figures of two machines.

\b
stream        Deltas that an in-process agent yields, each six characters, until the reader has the last one.
              × official    against Starlette + AG-UI's EventEncoder, each event built and encoded by itself
              × one a write against Starlette sending ready bytes, one event a write
              bytes/delta   on the wire, headers included
              CPU µs/delta  of the server's processor time, its store's thread included (Linux)
              "64 events a write" of ready bytes is the ceiling of this stack.
apart         The same when the agent pauses after each delta, as a model does: what an event costs by itself. The peers
              do not pause.
acp, cli      Deltas of an agent's process, as fast as it can print them: by ACP, and in Claude Code's format.
federation    The same run through one gateway, and through one that has it from another.
fanout        One run with 1, 10, 100 readers (one POST, the others attach), until all have its end.
capabilities  GET /agents/echo/capabilities beside a Starlette route that answers with the same bytes.
feed          A change of an agent's capabilities, until 1, 100, 1,000 watchers of its feed have it.
crowd         GET …/capabilities at a gateway with 100 more agents and 1,000 more threads, beside one without.
first         From connecting to the first event of a run, and to its end.
memory        What the gateway grew by for each thread whose run has ended.
sandbox       The start of an agent's process with the sandbox and without it, until its first byte.
client        The official JavaScript client reading a run, with merging and without.
fairness      A small run of one principal, alone and beside another one at its limits: 250 runs, 1,000 feeds, large
              bodies.
console       The page in Chromium: its longest task while words, Markdown, messages stream in; how a thread scrolls.

With AGUI_TEST_SANDBOX=bubblewrap the agents' processes run in the sandbox.

A target that is not met is marked BELOW; the exit code says only whether everything could be measured. Targets are
meant for the full size on a quiet machine: the shorter the runs, the more their beginnings weigh.
"""

from __future__ import annotations

import os
import platform
import signal
import sys
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import click
import orjson
from rich.console import Console

from tests.bench import (
    acp,
    calls,
    cli,
    client,
    console,
    fairness,
    fanout,
    federation,
    feed,
    latency,
    memory,
    sandbox,
    stream,
)
from tests.bench.figures import PIPED_WIDTH, Report, show, to_json
from tests.bench.servers import QUICK, Bench, Plan, open_bench
from tests.support.gateway import forced_sandbox

SUITES: dict[str, Callable[[Bench], Report]] = {
    "stream": stream.measure,
    "apart": stream.measure_apart,
    "acp": acp.measure,
    "cli": cli.measure,
    "federation": federation.measure,
    "latency": latency.measure,
    "fanout": fanout.measure,
    "capabilities": calls.measure_capabilities,
    "feed": feed.measure,
    "crowd": feed.measure_crowd,
    "first": calls.measure_first_event,
    "memory": memory.measure,
    "sandbox": sandbox.measure,
    "client": client.measure,
    "console": console.measure,
    "fairness": fairness.measure,
}


@click.command(help=__doc__, context_settings={"max_content_width": 120})
@click.option("--quick", is_flag=True, help="Smaller and fewer: about 25 seconds.")
@click.option("--only", type=click.Choice(list(SUITES)), multiple=True, help="Measure just this. Repeatable.")
@click.option("--size", type=click.IntRange(min=100), help="Deltas of a run.  [default: 200000, quick 40000]")
@click.option("--json", "file", type=click.Path(path_type=Path), metavar="FILE", help="Write all figures there too.")
def main(quick: bool, only: tuple[str, ...], size: int | None, file: Path | None) -> None:
    # Ended from outside, the servers must still be ended: so a signal becomes an exit.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(128 + signal.SIGTERM))
    plan = QUICK if quick else Plan()
    load = os.getloadavg()[0]
    reports = run(replace(plan, size=size) if size else plan, only or tuple(SUITES))
    console = Console() if sys.stdout.isatty() else Console(width=PIPED_WIDTH)
    show(reports, console)
    console.print(f"Python {platform.python_version()}, {os.cpu_count()} cores, load at the start {load:.1f}")
    if (kind := forced_sandbox()) is not None:
        console.print(f"Agents' processes ran with sandbox = {kind!r}", highlight=False)
    if file is not None:
        file.write_bytes(orjson.dumps(to_json(reports), option=orjson.OPT_INDENT_2))


def run(plan: Plan, names: Sequence[str]) -> list[Report]:
    console = Console(stderr=True)
    if not console.is_terminal:
        with open_bench(plan, lambda line: None) as bench:
            return [SUITES[name](bench) for name in names]
    with console.status("starting") as status, open_bench(plan, status.update) as bench:
        return [SUITES[name](bench) for name in names]


if __name__ == "__main__":
    main()
