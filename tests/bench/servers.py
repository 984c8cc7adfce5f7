"""The processes of a bench: a gateway, the peers, a reader. Each is ended by whoever started it, whatever happens."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing import get_context
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, ParamSpec, TypeVar
from urllib.parse import urlsplit

import orjson

from tests.bench.reader import Request
from tests.support.gateway import STOP_LIMIT, Gateway, run_input

AGENTS = Path(__file__).resolve().parent / "agents"
ROOT = Path(__file__).resolve().parents[2]
JOB_LIMIT = 300.0
"""No single measurement takes so long."""

P = ParamSpec("P")
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Plan:
    """How much is measured."""

    size: int = 200_000
    """Deltas of a run."""
    rounds: int = 5
    seconds: float = 2.0
    """Of one round of small requests."""
    runs: int = 200
    threads: int = 2_000
    client_size: int = 20_000
    """Deltas of a run that the official client reads."""


QUICK = Plan(size=40_000, rounds=3, seconds=0.5, runs=50, threads=300, client_size=10_000)


@dataclass(frozen=True, slots=True)
class Peers:
    pid: int
    port: int


@dataclass(frozen=True, slots=True)
class Bench:
    plan: Plan
    home: Path
    gateway: Gateway
    peers: Peers
    reader: ProcessPoolExecutor
    say: Callable[[str], None]

    @property
    def port(self) -> int:
        return port_of(self.gateway)

    def read(self, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """`work` in the reader's process."""
        return self.reader.submit(work, *args, **kwargs).result(JOB_LIMIT)


@contextmanager
def open_bench(plan: Plan, say: Callable[[str], None]) -> Iterator[Bench]:
    with TemporaryDirectory(prefix="bench-") as name, open_gateway(Path(name) / "main") as gateway:
        home = Path(name)
        constant = home / "constant.json"
        constant.write_bytes(gateway.client.get("/agents/echo/capabilities").content)
        with (
            open_peers(constant) as peers,
            ProcessPoolExecutor(1, mp_context=get_context("spawn")) as reader,
        ):
            yield Bench(plan, home, gateway, peers, reader, say)


def open_gateway(home: Path) -> Gateway:
    return Gateway(home, "--agents", str(AGENTS))


def command_of(*arguments: str) -> str:
    """The table `[command]` of a fake agent, a module of this repository, which is in its PATH: a sandbox
    (`AGUI_TEST_SANDBOX`) shows what is in PATH, and little else of the machine."""
    env = {"PYTHONPATH": str(ROOT), "PATH": os.pathsep.join([str(ROOT), os.environ.get("PATH", os.defpath)])}
    lines = [f"run = {json.dumps([sys.executable, *arguments])}", "[command.env]"]
    lines += [f"{name} = {json.dumps(value)}" for name, value in env.items()]
    return "\n".join(["[command]", *lines, ""])


def port_of(gateway: Gateway) -> int:
    port = urlsplit(gateway.url).port
    assert port is not None
    return port


@contextmanager
def open_peers(constant: Path) -> Iterator[Peers]:
    process = subprocess.Popen(
        [sys.executable, "-m", "tests.bench.peers", str(constant)], stdout=subprocess.PIPE, text=True, cwd=ROOT
    )
    assert process.stdout is not None
    try:
        yield Peers(process.pid, int(process.stdout.readline()))
    finally:
        process.terminate()
        try:
            process.wait(STOP_LIMIT)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        process.stdout.close()


def get(port: int, path: str, *, keep: bool = False) -> Request:
    head = f"GET {path} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: {'keep-alive' if keep else 'close'}\r\n\r\n"
    return Request(port, head.encode())


def post_run(port: int, agent: str, body: dict[str, Any], *, binary: bool = False) -> Request:
    data = orjson.dumps(body)
    accept = "application/vnd.ag-ui.event+proto" if binary else "text/event-stream"
    head = (
        f"POST /agents/{agent} HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nconnection: close\r\naccept: {accept}\r\n"
        f"content-type: application/json\r\ncontent-length: {len(data)}\r\n\r\n"
    )
    return Request(port, head.encode() + data, binary)


def words_input(size: int, merge: bool) -> dict[str, Any]:
    return run_input(str(size), forwardedProps={"gateway": {"merge": merge}})
