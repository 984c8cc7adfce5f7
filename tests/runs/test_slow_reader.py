"""A reader that hardly reads: it slows no other client, costs little, and loses nothing."""

from __future__ import annotations

import re
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPResponse
from io import BytesIO
from pathlib import Path
from threading import Event, Thread
from typing import Any, cast

import httpx
import pytest

from tests.runs.harness import LIMIT, attach, new_ids, played, staged
from tests.support.gateway import Gateway, events_of, run_input, text_of
from tests.web.raw import Connection, run_request

COUNT, SIZE = 600, 100_000
"""Sixty million bytes."""
MOST_GROWN = COUNT * SIZE
"""Less than the run, of which every copy that was kept would be as much again. About half of it is the store's backlog
(32 MB), where the disk is slower than the agent."""


@pytest.fixture(scope="module")
def flooded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    with staged(tmp_path_factory.mktemp("flooded"), "scenes", log_tail_bytes=200_000) as running:
        played(running, "floods", forwardedProps={"n": 20, "size": SIZE})  # what is loaded once is loaded
        yield running


class OneByteReader:
    """Sends a run and reads its answer a byte at a time, until it is made to hurry."""

    def __init__(self, gateway: Gateway, body: dict[str, Any]) -> None:
        address = httpx.URL(gateway.url)
        self._socket = socket.socket()
        self._socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self._socket.settimeout(LIMIT)
        self._socket.connect((address.host, address.port))
        self._socket.sendall(run_request("floods", body, ["Connection: close"]))
        self._hurry = Event()
        self._read: list[bytes] = []
        self._thread = Thread(target=self._go, daemon=True)
        self._thread.start()

    def _go(self) -> None:
        while not self._hurry.is_set() and (byte := self._socket.recv(1)):
            self._read.append(byte)
        while data := self._socket.recv(1 << 20):
            self._read.append(data)
        self._socket.close()

    @property
    def count(self) -> int:
        return len(self._read)

    def hurry(self) -> bytes:
        """The whole body."""
        self._hurry.set()
        self._thread.join(LIMIT)
        assert not self._thread.is_alive()
        found = HTTPResponse(cast(socket.socket, Kept(b"".join(self._read))))
        found.begin()
        return found.read()


class Kept(BytesIO):
    def makefile(self, mode: str) -> Kept:
        return self


def memory(gateway: Gateway, kind: str) -> int:
    found = re.search(rf"{kind}:\s+(\d+) kB", Path(f"/proc/{gateway.pid}/status").read_text())
    assert found is not None
    return int(found[1]) * 1024


@contextmanager
def growth(gateway: Gateway) -> Iterator[list[int]]:
    """How much the gateway's memory grew at most, once the block is left."""
    Path(f"/proc/{gateway.pid}/clear_refs").write_text("5")  # the peak so far is forgotten
    before, found = memory(gateway, "VmRSS"), list[int]()
    yield found
    found.append(memory(gateway, "VmHWM") - before)


def test_a_reader_of_single_bytes_slows_no_other_client_costs_little_and_loses_nothing(flooded: Gateway) -> None:
    body = run_input(**new_ids(), forwardedProps={"n": COUNT, "size": SIZE, "gateway": {"merge": False}})
    with growth(flooded) as grown:
        slow = OneByteReader(flooded, body)
        fast = fast_reader(flooded, body["runId"])
        begun = time.monotonic()
        assert text_of(flooded.run("echo", "meanwhile")).strip() == "meanwhile"
        assert time.monotonic() - begun < LIMIT / 4
        assert slow.count < 1_000_000, "it is far behind"
        whole = slow.hurry()
    assert grown[0] < MOST_GROWN
    assert whole == fast
    events = events_of(whole.decode())
    assert [event["delta"][:8] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT"] == [
        f"{number:08}" for number in range(COUNT)
    ]


def fast_reader(gateway: Gateway, run_id: str) -> bytes:
    """Follows the run that another client has just sent."""
    end = time.monotonic() + LIMIT
    while time.monotonic() < end:
        response = gateway.client.get(f"/runs/{run_id}/events")
        if response.status_code == 200:
            return response.content
    raise AssertionError("the run never began")


def test_many_readers_that_do_not_read_cost_little(flooded: Gateway) -> None:
    bodies = [run_input(**new_ids(), forwardedProps={"n": 100, "size": SIZE}) for _ in range(4)]
    with growth(flooded) as grown:
        readers = [OneByteReader(flooded, body) for body in bodies]
        for body in bodies:
            fast_reader(flooded, body["runId"])
        wholes = [reader.hurry() for reader in readers]
    assert grown[0] < MOST_GROWN
    assert wholes == [attach(flooded, body["runId"]).content for body in bodies]


def test_a_reader_that_takes_nothing_is_let_go_and_its_run_stopped(tmp_path: Path) -> None:
    with staged(tmp_path, "scenes", send_timeout=0.5) as gateway, Connection(gateway) as connection:
        body = run_input(**new_ids())
        connection.send(run_request("roars", body))
        events = events_of(fast_reader(gateway, body["runId"]).decode())
        assert events[-1]["outcome"] == {"type": "cancelled"}


def test_a_reader_that_takes_nothing_does_not_stop_a_run_that_may_go_on(tmp_path: Path) -> None:
    with staged(tmp_path, "scenes", send_timeout=0.3) as gateway, Connection(gateway) as connection:
        options = {"n": 100, "size": SIZE, "gateway": {"onDisconnect": "continue"}}
        body = run_input(**new_ids(), forwardedProps=options)
        connection.send(run_request("floods", body))
        assert len(text_of(events_of(fast_reader(gateway, body["runId"]).decode()))) == 100 * SIZE
