"""What one principal at its limits costs another: the time of a small run, alone and beside the greedy one.

The greedy principal has as many live runs as it may have, each a word every tenth of a second; as many feeds of their
threads; and sends bodies as large as they may be, as often as it is let. It is a process of its own, with a low
priority: in use it is another machine.
"""

from __future__ import annotations

import asyncio
import os
import socket
import time
from contextlib import suppress
from multiprocessing import get_context
from multiprocessing.synchronize import Event
from pathlib import Path

import orjson

from tests.bench.figures import Figure, Report, Target
from tests.bench.reader import SILENCE
from tests.bench.servers import AGENTS, Bench, port_of
from tests.support.gateway import Gateway, run_input

RUNS, FEEDS = 250, 1000
SENDERS = 4
"""Clients that send large bodies, each one after the other."""
LARGE_BYTES = 4 * 1024 * 1024
MANY_VALUES = 2_000_000
WARM = 20
SETTLE_RUNS = 100
READY_SECONDS = 60.0
PRIORITY = 10
PAUSE_SECONDS = 0.05
"""Between two bodies of one sender: what it sends is refused faster than it can be read."""
NAMES = ("greedy", "other")
TOKEN = "{}-0123456789abcdef"
BOUND = 3.0


def measure(bench: Bench) -> Report:
    samples = max(400, bench.plan.runs * 2)  # of a hundred, the 99th percentile would be the slowest alone
    with open_limited(bench.home / "fairness") as gateway:
        port = port_of(gateway)
        bench.say("a small run, alone")
        alone = bench.read(small_runs, port, samples)
        context = get_context("spawn")
        ready, stop = context.Event(), context.Event()
        load = context.Process(target=be_greedy, args=(port, ready, stop), daemon=True)
        load.start()
        try:
            if not ready.wait(READY_SECONDS):
                raise RuntimeError("the greedy principal did not get what it may have")
            bench.say("a small run, beside a greedy principal")
            beside = bench.read(small_runs, port, samples)
        finally:
            stop.set()
            load.join(READY_SECONDS)
            load.kill()
        bench.say("a small run, alone again")
        bench.read(small_runs, port, SETTLE_RUNS)  # until the runs of the greedy principal have ended
        after = bench.read(small_runs, port, samples)
    figures = [
        Figure("alone", "ms", alone, {"p99": p99(alone)}),
        Figure("beside the greedy principal", "ms", beside, {"p99": p99(beside)}),
        Figure("alone again", "ms", after, {"p99": p99(after)}),
    ]
    growth = p99(beside) / p99([*alone, *after])
    target = Target("p99 beside the greedy principal against alone", growth, "≤", BOUND)
    return Report(
        f"a small run, {samples} times, beside {RUNS} runs, {FEEDS} feeds and large bodies", figures, [target]
    )


def open_limited(home: Path) -> Gateway:
    home.mkdir(parents=True, exist_ok=True)
    tokens = home / "tokens.txt"
    tokens.write_text("".join(f"{name}:{TOKEN.format(name)}\n" for name in NAMES), "utf-8")
    tokens.chmod(0o600)
    workspace = home / "workspace"
    workspace.mkdir(exist_ok=True)
    # A principal's share is a quarter.
    env = {"AGUI_GATEWAY_MAX_RUNS": str(4 * RUNS), "AGUI_GATEWAY_MAX_SESSIONS": str(4 * RUNS)}
    env["AGUI_GATEWAY_MAX_THREAD_FEEDS"] = str(4 * FEEDS)
    folders = ("--agents", str(AGENTS), "--workspace", str(workspace))
    return Gateway(home, "--token-file", str(tokens), *folders, env=env)


def p99(values: list[float]) -> float:
    return sorted(values)[min(len(values) - 1, len(values) * 99 // 100)]


def to_request(name: str, target: str, body: bytes | None = None) -> bytes:
    lines = [f"{'GET' if body is None else 'POST'} {target} HTTP/1.1", "host: localhost", "connection: close"]
    lines += [f"authorization: Bearer {TOKEN.format(name)}", "accept: text/event-stream"]
    if body is not None:
        lines += ["content-type: application/json", f"content-length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + (body or b"")


def small_runs(port: int, count: int) -> list[float]:
    """In the reader's process: milliseconds of whole runs of the other principal, one after the other."""
    times = []
    for _ in range(count + WARM):
        request = to_request("other", "/agents/ticks", orjson.dumps(run_input("once")))
        started = time.perf_counter()
        with socket.create_connection(("127.0.0.1", port), SILENCE) as sock:
            sock.sendall(request)
            came = b""
            while piece := sock.recv(65536):
                came += piece
        times.append((time.perf_counter() - started) * 1000)
        if b"RUN_FINISHED" not in came:
            raise RuntimeError(f"a run of the other principal was not served: {came[:400]!r}")
    return times[WARM:]


# -- the greedy principal, in a process of its own


def be_greedy(port: int, ready: Event, stop: Event) -> None:
    os.nice(PRIORITY)
    asyncio.run(_be_greedy(port, ready, stop))


async def _be_greedy(port: int, ready: Event, stop: Event) -> None:
    async with asyncio.TaskGroup() as tasks:
        opened = asyncio.Semaphore(0)
        threads = [f"greedy-{number}" for number in range(RUNS)]
        readers = []
        for thread in threads:
            body = orjson.dumps(run_input("wait", threadId=thread))
            readers.append(tasks.create_task(_read(port, to_request("greedy", "/agents/ticks", body), opened)))
        for number in range(FEEDS):
            feed = to_request("greedy", f"/agents/ticks/threads/{threads[number % RUNS]}/events")
            readers.append(tasks.create_task(_read(port, feed, opened)))
        for _ in readers:
            await opened.acquire()
        text = orjson.dumps(run_input("x" * LARGE_BYTES, runId="large"))
        many = b'{"threadId":"t","runId":"r","messages":[],"state":[' + b"{}," * MANY_VALUES + b"{}]}"
        for number in range(SENDERS):
            body = (text, many)[number % 2]
            readers.append(tasks.create_task(_send_for_ever(port, to_request("greedy", "/agents/echo", body))))
        await asyncio.sleep(1.0)
        ready.set()
        await asyncio.to_thread(stop.wait, 600)
        for reader in readers:
            reader.cancel()


async def _read(port: int, request: bytes, opened: asyncio.Semaphore) -> None:
    """A stream, read until the end. Its request is repeated until it is within the rate."""
    while True:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        try:
            writer.write(request)
            head = await reader.readuntil(b"\r\n\r\n")
            if head.startswith(b"HTTP/1.1 200"):
                opened.release()
                while await reader.read(65536):
                    pass
                return
        finally:
            writer.close()
        await asyncio.sleep(1.0)


async def _send_for_ever(port: int, request: bytes) -> None:
    while True:
        with suppress(ConnectionError, asyncio.IncompleteReadError):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            try:
                writer.write(request)
                await reader.read(65536)
            finally:
                writer.close()
        await asyncio.sleep(PAUSE_SECONDS)
