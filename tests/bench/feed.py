"""The capability feed with many watchers, and a snapshot beside many agents and threads that it does not concern."""

from __future__ import annotations

import resource
import selectors
import socket
from dataclasses import dataclass
from functools import partial
from time import perf_counter, sleep

from tests.bench.figures import Figure, Report, Target, interleaved
from tests.bench.processes import processor_seconds
from tests.bench.reader import BUFFER, SILENCE, hammer, read_each, read_one
from tests.bench.sdk import FAKE
from tests.bench.servers import AGENTS, Bench, command_of, get, open_gateway, port_of, post_run
from tests.support.gateway import Gateway, run_input

CONNECTIONS = 4
FILES = 4_096
"""Open at once: a socket for each watcher, at both ends."""
CHANGES = 10
IDLE = 2.0
"""Seconds in which nothing changes."""
AGENTS_BESIDE = 100
EVENT = b"event: "
THREAD = "watched"
SNAPSHOT = "/agents/chunks/capabilities"
OF_THREAD = f"{SNAPSHOT}?thread={THREAD}"

AGENT = """\
id = "beside-{number}"
driver = "python"
entry = "words:words"
[identity]
name = "Beside {number}"
[capabilities]
tools.supported = true
"""


@dataclass(frozen=True, slots=True)
class Watched:
    """Seconds of each change, from asking for it until the last watcher has it."""

    changes: list[float]
    spent: float
    """Processor time of the gateway for all of them, the runs that made them included."""
    idle: float
    """…and in a second without any."""


def measure(bench: Bench) -> Report:
    most = 1_000 if bench.plan.threads >= 1_000 else 200
    more_files()
    with open_gateway(bench.home / "feed") as gateway:
        port = port_of(gateway)
        plain = processor_time_of_a_get(bench, gateway)
        found = {count: watched(bench, gateway, port, count) for count in (1, most // 10, most)}
    one, last = found[1], found[most]
    share = (last.spent - one.spent) / CHANGES / (most - 1)
    figures = [figure(count, at, one) for count, at in found.items()]
    figures.append(Figure(f"{most:,} watchers, nothing changes", "% of a core", [100 * last.idle]))
    targets = [
        Target("a watcher's share of a change against a GET, in processor time", share / plain, "≤", 1),
        Target(f"a change for {most:,} watchers against one, in time", figures[2].median / figures[0].median, "≤", 10),
    ]
    return Report(f"capability feed, {CHANGES} changes", figures, targets)


def figure(count: int, at: Watched, one: Watched) -> Figure:
    values = [1000 * seconds for seconds in at.changes]
    beside = {"× one": sum(at.changes) / sum(one.changes), "CPU µs/\nwatcher": 1e6 * at.spent / CHANGES / count}
    return Figure(f"{count:,} watcher{'s' * (count > 1)}", "ms/change", values, beside)


def more_files() -> None:
    """For this process and those that it starts from now on."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def processor_time_of_a_get(bench: Bench, gateway: Gateway) -> float:
    request = get(port_of(gateway), "/agents/changing/capabilities", keep=True)
    spent = processor_seconds(gateway.pid)
    rate = bench.read(hammer, request, CONNECTIONS, bench.plan.seconds)
    return (processor_seconds(gateway.pid) - spent) / (rate * bench.plan.seconds)


def watched(bench: Bench, gateway: Gateway, port: int, count: int) -> Watched:
    bench.say(f"feed, {count:,} watchers")
    with Watchers(port, count) as watchers:
        watchers.wait(1)
        spent = processor_seconds(gateway.pid)
        changes = [watchers.change(port, number) for number in range(CHANGES)]
        spent, calm = processor_seconds(gateway.pid) - spent, processor_seconds(gateway.pid)
        sleep(IDLE)
        return Watched(changes, spent, (processor_seconds(gateway.pid) - calm) / IDLE)


class Watchers:
    """So many connections to one feed, read in this process: it waits while the gateway works."""

    def __init__(self, port: int, count: int) -> None:
        request = get(port, "/agents/changing/capabilities").data
        request = request.replace(b"connection: close", b"accept: text/event-stream\r\nconnection: close")
        self._selector = selectors.DefaultSelector()
        self._heard: dict[socket.socket, int] = {}
        for _ in range(count):
            sock = socket.create_connection(("127.0.0.1", port), SILENCE)
            sock.sendall(request)
            self._selector.register(sock, selectors.EVENT_READ)
            self._heard[sock] = 0

    def __enter__(self) -> Watchers:
        return self

    def __exit__(self, *exc: object) -> None:
        for sock in self._heard:
            sock.close()

    def wait(self, events: int) -> None:
        """Until everybody has had so many."""
        while min(self._heard.values()) < events:
            ready = self._selector.select(SILENCE)
            if not ready:
                raise TimeoutError(f"the feed said nothing for {SILENCE:g} seconds")
            for key, _ in ready:
                assert isinstance(key.fileobj, socket.socket)
                data = key.fileobj.recv(BUFFER)
                if not data:
                    raise RuntimeError("the feed ended")
                self._heard[key.fileobj] += data.count(EVENT)

    def change(self, port: int, number: int) -> float:
        started = perf_counter()
        read_one(post_run(port, "changing", run_input("change")), 64 * 1024)
        self.wait(number + 2)
        return perf_counter() - started


def measure_crowd(bench: Bench) -> Report:
    """The same requests at a gateway that knows nothing else, and at one that knows much."""
    threads = min(1_000, bench.plan.threads)
    with crowd(bench, "alone", 0) as alone, crowd(bench, "crowded", AGENTS_BESIDE) as crowded:
        fill(bench, alone, 1)
        fill(bench, crowded, threads)
        requests = {
            "of an agent, alone": get(port_of(alone), SNAPSHOT, keep=True),
            "of an agent, in the crowd": get(port_of(crowded), SNAPSHOT, keep=True),
            "of a thread, alone": get(port_of(alone), OF_THREAD, keep=True),
            "of a thread, in the crowd": get(port_of(crowded), OF_THREAD, keep=True),
        }
        seconds = bench.plan.seconds
        cases = {name: partial(bench.read, hammer, one, CONNECTIONS, seconds) for name, one in requests.items()}
        results = interleaved(cases, bench.plan.rounds, bench.say)
    figures = [Figure(name, "requests/s", values) for name, values in results.items()]
    agent, agents, thread, crowded_thread = (figure.median for figure in figures)
    targets = [
        Target("an agent's snapshot in the crowd against alone", agents / agent, "≥", 0.8),
        Target("a thread's snapshot in the crowd against alone", crowded_thread / thread, "≥", 0.8),
    ]
    return Report(f"snapshots beside {AGENTS_BESIDE} agents and {threads:,} threads", figures, targets)


def crowd(bench: Bench, name: str, beside: int) -> Gateway:
    folder = bench.home / f"{name}-agents"
    folder.mkdir(exist_ok=True)
    identity = 'id = "chunks"\ndriver = "acp"\nidentity = { name = "Chunks" }\n'
    (folder / "chunks.toml").write_text(identity + command_of(*FAKE))
    (folder / "words.py").write_bytes((AGENTS / "words.py").read_bytes())
    for number in range(beside):
        (folder / f"beside-{number}.toml").write_text(AGENT.format(number=number))
    return Gateway(bench.home / name, "--agents", str(folder))


def fill(bench: Bench, gateway: Gateway, threads: int) -> None:
    """Each with a session of its own, that stays open."""
    bench.say(f"{threads:,} threads")
    names = [THREAD, *(f"beside-{number}" for number in range(threads - 1))]
    port = port_of(gateway)
    bench.read(read_each, [post_run(port, "chunks", run_input(threadId=name)) for name in names], CONNECTIONS)
