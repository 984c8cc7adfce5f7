"""The official JavaScript client reads a run: the slowest part of the road, and what merging spares it."""

from __future__ import annotations

import shutil
import subprocess
from functools import partial
from pathlib import Path

import orjson

from tests.bench.agents.words import LENGTH
from tests.bench.figures import Figure, Report, Target, interleaved
from tests.bench.servers import JOB_LIMIT, Bench

HERE = Path(__file__).resolve().parent
CLIENTS = HERE.parent / "clients"
PLAIN, MERGED = "@ag-ui/client", "@ag-ui/client, merging"


def measure(bench: Bench) -> Report:
    size = bench.plan.client_size
    title = f"JavaScript client, {size:,} deltas"
    if why := missing():
        return Report(title, [Figure(name, "ms", skipped=why) for name in (PLAIN, MERGED)])
    cases = {PLAIN: partial(seconds, bench, size, merge=False), MERGED: partial(seconds, bench, size, merge=True)}
    results = interleaved(cases, max(1, bench.plan.rounds - 2), bench.say)  # a run without merging takes seconds
    figures = [Figure(name, "ms", [1000 * value for value in values]) for name, values in results.items()]
    ratio = figures[1].median / figures[0].median
    return Report(title, figures, [Target("JavaScript client, merging against none", ratio, "≤", 1 / 15)])


def missing() -> str:
    if shutil.which("node") is None:
        return "skipped: there is no node"
    return "" if (CLIENTS / "node_modules" / "@ag-ui" / "client").is_dir() else "skipped: run make test first"


def seconds(bench: Bench, size: int, *, merge: bool) -> float:
    command = ["node", str(HERE / "client.mjs"), str(CLIENTS), f"{bench.gateway.url}/agents/words", str(size)]
    done = subprocess.run([*command, str(merge).lower()], capture_output=True, text=True, timeout=JOB_LIMIT)
    if done.returncode:
        raise RuntimeError(f"the JavaScript client failed: {done.stderr}")
    result = orjson.loads(done.stdout)
    if result["characters"] != size * LENGTH:
        raise RuntimeError(f"the JavaScript client holds {result['characters']} characters")
    return float(result["seconds"])
