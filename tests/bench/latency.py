"""How long a chunk that comes alone is on its way from an agent's pipe to a client's socket, beside a bare relay's."""

from __future__ import annotations

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from functools import partial
from pathlib import Path

from tests.bench.calls import p95
from tests.bench.figures import Figure, Report, Target
from tests.bench.reader import SILENCE, Request
from tests.bench.servers import Bench, port_of, post_run
from tests.support.gateway import Gateway, run_input

STAMPS = Path(__file__).with_name("stamps.py")
STAMP = re.compile(rb"@(\d+)@")
WARM = 20


def measure(bench: Bench) -> Report:
    count = bench.plan.runs + WARM
    agents = bench.home / "stamp-agents"
    agents.mkdir(exist_ok=True)
    run = json.dumps([sys.executable, str(STAMPS), "acp"])
    (agents / "stamps.toml").write_text(
        f'id = "stamps"\ndriver = "acp"\nidentity = {{ name = "Stamps" }}\n[command]\nrun = {run}\n'
    )
    with Gateway(bench.home / "stamps", "--agents", str(agents)) as gateway:
        gateway.run("stamps", "hello")
        bench.say("a chunk's way through the gateway")
        request = post_run(port_of(gateway), "stamps", run_input(f"stamps {count}"))
        ours = bench.read(partial(delays, request))[WARM:]
    bench.say("a chunk's way through a bare relay")
    bare = bench.read(partial(relayed, count))[WARM:]
    figures = [
        Figure("gateway, ACP", "ms", ours, {"p95": p95(ours)}),
        Figure("bare pipe relay", "ms", bare, {"p95": p95(bare)}),
    ]
    target = Target("a chunk's way against a bare relay's", figures[0].median / figures[1].median, "≤", 6)
    return Report(f"one chunk on its way, {count - WARM} times", figures, [target])


def delays(request: Request) -> list[float]:
    """In the reader's process: milliseconds between a stamp and its arrival."""
    with socket.create_connection(("127.0.0.1", request.port), SILENCE) as sock:
        sock.sendall(request.data)
        return _arrivals(sock)


def relayed(count: int) -> list[float]:
    """The same lines from a pipe into a socket by the least code there is, read here."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        relay = threading.Thread(target=_relay, args=(server.getsockname()[1], count))
        relay.start()
        sock, _ = server.accept()
        with sock:
            found = _arrivals(sock)
        relay.join()
    return found


def _relay(port: int, count: int) -> None:
    with (
        socket.create_connection(("127.0.0.1", port)) as sock,
        subprocess.Popen([sys.executable, str(STAMPS), "raw", str(count)], stdout=subprocess.PIPE) as process,
    ):
        assert process.stdout is not None
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        while data := os.read(process.stdout.fileno(), 65536):
            sock.sendall(data)


def _arrivals(sock: socket.socket) -> list[float]:
    found: list[float] = []
    while data := sock.recv(65536):
        now = time.monotonic_ns()
        found += [(now - int(stamp)) / 1_000_000 for stamp in STAMP.findall(data)]
    return found
