"""The end of a gateway, asked for or not: what its clients see, and what the next one knows."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from signal import SIGTERM
from threading import Thread

import httpx
import pytest

from gateway.events import Wire
from tests.agui.replay import accepted
from tests.runs.harness import LIMIT, attach, eventually, new_ids, played, staged, streaming, until
from tests.support.gateway import Gateway, events_of, numbers_of, run_input, text_of, types_of
from tests.web.raw import Connection, run_request

# -- kill -9


def killed_while(gateway: Gateway, agent: str, **fields: object) -> list[Wire]:
    """What a client saw of a run whose gateway died."""
    seen: list[Wire] = []
    with pytest.raises(httpx.TransportError), streaming(gateway, agent, **fields) as (_, events):
        seen += until(events, "TEXT_MESSAGE_CONTENT")
        gateway.client.get("/runs/unknown/events")  # a reader of the store has it written first
        gateway.kill()
        seen += events
    return seen


def test_after_kill_9_what_was_finished_is_replayed_and_what_was_live_has_an_end(tmp_path: Path) -> None:
    gateway = staged(tmp_path, "scenes")
    with gateway:
        done, live = new_ids(), new_ids()
        finished = gateway.post("counts", run_input(**done, forwardedProps={"n": 50}))
        seen = killed_while(gateway, "waits", **live, forwardedProps={"file": str(tmp_path / "never")})
        gateway.start()
        assert attach(gateway, done["runId"]).content == finished.content, "byte for byte"
        replay = attach(gateway, live["runId"])
        stream = accepted(events_of(replay.text))
        assert stream[-1]["code"] == "GATEWAY_RESTARTED"
        assert stream[: len(seen)] == seen
        assert types_of(stream[len(seen) :]) == ["TEXT_MESSAGE_END", "RUN_ERROR"]
        assert numbers_of(replay.text) == list(range(1, len(stream) + 1))
        assert attach(gateway, live["runId"]).content == replay.content, "and stays so"


def test_a_client_that_saw_more_than_was_stored_learns_of_the_end_too(tmp_path: Path) -> None:
    gateway = staged(tmp_path, "scenes")
    with gateway:
        live = new_ids()
        killed_while(gateway, "waits", **live, forwardedProps={"file": str(tmp_path / "never")})
        gateway.start()
        beyond = attach(gateway, live["runId"], after=1000)
        assert numbers_of(beyond.text) == [1001]
        (error,) = events_of(beyond.text)
        assert (error["type"], error["code"]) == ("RUN_ERROR", "GATEWAY_RESTARTED")
        for after in range(6):
            rest = events_of(attach(gateway, live["runId"], after=after).text)
            assert rest[-1] == error, "wherever a client comes back"


def test_a_thread_whose_run_was_lost_takes_the_next_one(tmp_path: Path) -> None:
    gateway = staged(tmp_path, "scenes")
    with gateway:
        live = new_ids()
        killed_while(gateway, "talks", **live)
        gateway.start()
        events = played(gateway, "counts", threadId=live["threadId"], forwardedProps={"n": 3})
        assert text_of(events) == "0 1 2 "
        assert "GATEWAY_RESTARTED" in gateway.log.read_text(), "the operator reads it in the log as well"


# -- SIGTERM


@contextmanager
def terminating(gateway: Gateway) -> Iterator[list[int]]:
    """SIGTERM now; after the block, the exit code. Inside it, the gateway takes no connections any more."""
    address, code = httpx.URL(gateway.url), list[int]()
    gateway.signal(SIGTERM)
    eventually(lambda: refuses(address.host, address.port or 0))
    yield code
    waiter = Thread(target=lambda: code.append(gateway._wait()), daemon=True)
    waiter.start()
    waiter.join(LIMIT)


def refuses(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=1.0).close()
    except ConnectionRefusedError:
        return True
    return False


def test_at_sigterm_a_run_that_goes_on_gets_its_last_event_within_the_grace(tmp_path: Path) -> None:
    with staged(tmp_path, "scenes", shutdown_grace=1) as gateway, streaming(gateway, "talks") as (_, events):
        seen = until(events, "TEXT_MESSAGE_CONTENT")
        with terminating(gateway) as code:
            begun = time.monotonic()
            stream = accepted([*seen, *events])
            assert time.monotonic() - begun < LIMIT / 2
        assert stream[-1]["code"] == "GATEWAY_STOPPING"
        assert code == [0]


def test_at_sigterm_a_run_that_ends_within_the_grace_ends_as_it_would(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with staged(tmp_path, "scenes", shutdown_grace=15) as gateway:
        ids = new_ids()
        with streaming(gateway, "waits", **ids, forwardedProps={"file": str(gate)}) as (_, events):
            seen = until(events, "TEXT_MESSAGE_CONTENT")
            with terminating(gateway) as code:
                gate.touch()
                stream = accepted([*seen, *events])
        assert text_of(stream) == "begun done"
        assert code == [0]
        gateway.start()
        assert events_of(attach(gateway, ids["runId"]).text) == stream, "the next gateway knows it"


def test_new_runs_are_refused_while_others_end(tmp_path: Path) -> None:
    gate = tmp_path / "gate"
    with staged(tmp_path, "scenes", shutdown_grace=15) as gateway, Connection(gateway) as waiting:
        request = run_request("counts", run_input(forwardedProps={"n": 1}), ["Expect: 100-continue"])
        head, _, body = request.partition(b"\r\n\r\n")
        with streaming(gateway, "waits", forwardedProps={"file": str(gate)}) as (_, events):
            until(events, "TEXT_MESSAGE_CONTENT")
            waiting.send(head + b"\r\n\r\n").until(b"100 Continue")  # it came in time, but is not complete
            with terminating(gateway) as code:
                answer = waiting.send(body).answer()
                assert (answer.status_code, answer.json()["code"]) == (503, "GATEWAY_STOPPING")
                gate.touch()
                until(events, "RUN_FINISHED")
        assert code == [0]


def test_a_gateway_without_runs_stops_at_once(tmp_path: Path) -> None:
    with staged(tmp_path, "scenes", shutdown_grace=20) as gateway:
        assert text_of(played(gateway, "counts", forwardedProps={"n": 1})) == "0 "
        begun = time.monotonic()
        assert gateway.terminate() == 0
        assert time.monotonic() - begun < 10.0
