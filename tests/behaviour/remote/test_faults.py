"""Whatever the remote does, a run ends in one terminal event with everything closed, and this gateway goes on."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest

from gateway.drivers.remote.driver import REQUEST_TIMEOUT_SECONDS
from gateway.encode.protobuf.encoder import encode_frames
from gateway.events import Wire
from gateway.jsonio import dumps
from tests.agui.replay import accepted
from tests.behaviour.remote.hostile_server import (
    HEAD,
    PROTOBUF,
    SSE,
    HostileServer,
    Scene,
    closes,
    floods,
    hangs,
    not_found,
    responds_with,
    sends,
)
from tests.behaviour.remote.test_mount import mount
from tests.behaviour.remote.test_remote import definition
from tests.runs.harness import eventually
from tests.support.gateway import Gateway, text_of

STARTED = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
OPENED = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
CONTENT = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "word "}
CLOSED = {"type": "TEXT_MESSAGE_END", "messageId": "m"}
FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
WHOLE = (STARTED, OPENED, CONTENT, CLOSED, FINISHED)
MEGABYTE = 2**20


def lines(*events: Wire) -> bytes:
    return b"".join(b"data: %b\n\n" % dumps(event) for event in events)


BEGUN = lines(STARTED, OPENED, CONTENT)
HALF = lines(CONTENT)[:-20]


@contextmanager
def near_gateway(home: Path, url: str, *more: str, **settings: Any) -> Iterator[Gateway]:
    definition(home / "agents", "far", url, "retries = 2", *more)
    env = {f"AGUI_GATEWAY_{name.upper()}": str(value) for name, value in settings.items()}
    with Gateway(home / "near", "--agents", str(home / "agents"), env=env) as gateway:
        yield gateway
        assert text_of(gateway.run("echo", "still here")) == "still here ", "whatever the remote does"


def run_to_end(gateway: Gateway, **fields: Any) -> Wire:
    return accepted(gateway.run("far", "go", **fields))[-1]


BROKEN: dict[str, tuple[Scene, str, str]] = {
    "nothing": (sends(), "AGENT_DIED", "without RUN_FINISHED"),
    "an end in the middle": (sends(BEGUN), "AGENT_DIED", "without RUN_FINISHED"),
    "half an event": (sends(BEGUN, HALF), "AGENT_DIED", "without RUN_FINISHED"),
    "half a frame": (
        sends(encode_frames([STARTED, OPENED, CONTENT])[:-3], kind=PROTOBUF),
        "AGENT_ERROR",
        "inside a frame",
    ),
    "no JSON": (sends(BEGUN, b"data: {nonsense\n\n"), "AGENT_PROTOCOL_ERROR", "not JSON"),
    "no object": (sends(BEGUN, b"data: [1]\n\n"), "AGENT_PROTOCOL_ERROR", "no object"),
    "no UTF-8": (sends(BEGUN, lines(CONTENT).replace(b"word", b"\xff\xfe")), "AGENT_PROTOCOL_ERROR", "not JSON"),
    "an event that is none": (sends(BEGUN, lines({**CONTENT, "delta": 7})), "AGENT_ERROR", "/delta"),
    "no frames": (sends(b"\x00\x00\x00\x03abc", kind=PROTOBUF), "AGENT_ERROR", "cannot be decoded"),
    "a frame of four gigabytes": (sends(b"\xff\xff\xff\xff", kind=PROTOBUF), "EVENT_TOO_LARGE", "4294967299"),
    "a page": (sends(b"<html>", kind=b"text/html"), "AGENT_PROTOCOL_ERROR", "text/html"),
    "no HTTP": (lambda connection: connection.sendall(b"SSH-2.0-OpenSSH_9.6\r\n"), "AGENT_UNREACHABLE", "Protocol"),
    "a chunk that breaks off": (
        lambda connection: connection.sendall(
            HEAD.replace(b"connection: close", b"transfer-encoding: chunked") % SSE + b"ffff\r\n" + BEGUN
        ),
        "AGENT_DIED",
        "connection broke",
    ),
    "a chunk that is none": (
        lambda connection: connection.sendall(
            HEAD.replace(b"connection: close", b"transfer-encoding: chunked") % SSE + b"zz\r\n" + BEGUN
        ),
        "AGENT_DIED",
        "connection broke",
    ),
}


@pytest.mark.parametrize("what", BROKEN)
def test_a_broken_response_ends_the_run_and_is_not_retried(tmp_path: Path, what: str) -> None:
    scene, code, text = BROKEN[what]
    with HostileServer(scene) as server, near_gateway(tmp_path, server.url) as gateway:
        last = run_to_end(gateway)
        assert (last["type"], last["code"]) == ("RUN_ERROR", code)
        assert text in last["message"]
        assert server.runs == 1, "it may have begun, so it is not started twice"


def test_events_before_the_break_reach_the_client(tmp_path: Path) -> None:
    with HostileServer(sends(BEGUN, b"data: {nonsense\n\n")) as server, near_gateway(tmp_path, server.url) as gateway:
        assert text_of(gateway.run("far")) == "word "


def test_a_request_is_retried_while_the_agent_cannot_have_begun(tmp_path: Path) -> None:
    busy, down = responds_with(b"503 Service Unavailable"), responds_with(b"502 Bad Gateway")
    with HostileServer(busy, down, sends(lines(*WHOLE))) as server, near_gateway(tmp_path, server.url) as gateway:
        assert run_to_end(gateway)["type"] == "RUN_FINISHED"
        assert server.runs == 3


def test_a_request_that_was_read_and_not_answered_is_not_sent_again(tmp_path: Path) -> None:
    with HostileServer(closes, sends(lines(*WHOLE))) as server, near_gateway(tmp_path, server.url) as gateway:
        last = run_to_end(gateway)
        assert (last["code"], server.runs) == ("AGENT_UNREACHABLE", 1)
        assert run_to_end(gateway)["type"] == "RUN_FINISHED", "the next run is sent"


def test_the_breaker_opens_is_shown_and_closes_again(tmp_path: Path) -> None:
    settings = ("circuit_breaker = { failures = 2, cooldown = 1 }", 'capabilities = ""')
    with (
        HostileServer(closes, closes, sends(lines(*WHOLE))) as server,
        near_gateway(tmp_path, server.url, *settings) as gateway,
    ):

        def availability() -> dict[str, str]:
            found: dict[str, str] = gateway.client.get("/agents/far").json()["availability"]
            return found

        assert availability()["status"] == "ready"
        assert [run_to_end(gateway)["code"] for _ in range(3)] == ["AGENT_UNREACHABLE"] * 2 + ["AGENT_CIRCUIT_OPEN"]
        assert server.runs == 2, "no request is sent"
        assert availability()["status"] == "broken"
        assert "2 times in a row" in availability()["reason"]
        eventually(lambda: run_to_end(gateway)["type"] == "RUN_FINISHED")
        assert availability()["status"] == "ready"


@pytest.mark.parametrize("parts", [(), (HEAD % SSE,), (HEAD % SSE, BEGUN), (HEAD % SSE, BEGUN, HALF)], ids=str)
def test_a_remote_that_falls_silent_has_stalled(tmp_path: Path, parts: tuple[bytes, ...]) -> None:
    """Before its head, before its first event, between two, inside one."""
    scene = hangs(lambda: server, *parts)
    with HostileServer(scene) as server, near_gateway(tmp_path, server.url, stall_timeout=1) as gateway:
        assert run_to_end(gateway)["code"] == "AGENT_STALLED"
        assert server.gone.wait(10), "and its connection is closed"


def test_bytes_that_come_one_by_one_are_the_same_events(tmp_path: Path) -> None:
    single = [bytes((byte,)) for byte in lines(*WHOLE)]
    with HostileServer(sends(*single)) as server, near_gateway(tmp_path, server.url) as gateway:
        assert text_of(gateway.run("far")) == "word "


def test_a_flood_ends_at_the_bound_of_a_run_and_delays_no_other(tmp_path: Path) -> None:
    scene = floods(lambda: server, [lines(STARTED, OPENED)], lines(CONTENT) * 1000)
    with HostileServer(scene) as server, near_gateway(tmp_path, server.url, max_run_log_bytes=20 * MEGABYTE) as gateway:
        with gateway.stream("far") as events:
            next(events)
            assert text_of(gateway.run("echo", "meanwhile")) == "meanwhile "
            last = list(events)[-1]
        assert last["code"] == "RUN_TOO_LARGE"
        assert server.gone.wait(10)


def test_an_event_without_an_end_is_too_large(tmp_path: Path) -> None:
    scene = floods(lambda: server, [b"data: "], b"x" * MEGABYTE)
    with HostileServer(scene) as server, near_gateway(tmp_path, server.url) as gateway:
        assert run_to_end(gateway)["code"] == "EVENT_TOO_LARGE"
        assert server.gone.wait(10)


def test_what_follows_the_end_of_a_run_is_not_waited_for(tmp_path: Path) -> None:
    scene = floods(lambda: server, [lines(*WHOLE)], lines(CONTENT))
    with HostileServer(scene) as server, near_gateway(tmp_path, server.url) as gateway:
        assert [event["type"] for event in gateway.run("far")] == [event["type"] for event in WHOLE]
        assert server.gone.wait(10)


def test_a_remote_that_closes_late_does_not_delay_the_end(tmp_path: Path) -> None:
    scene = hangs(lambda: server, HEAD % SSE, lines(*WHOLE))
    with HostileServer(scene) as server, near_gateway(tmp_path, server.url) as gateway:
        assert run_to_end(gateway)["type"] == "RUN_FINISHED"
        assert server.gone.wait(10)


BAD_CAPABILITIES: dict[str, Scene] = {
    "no JSON": sends(b"{nonsense", kind=b"application/json"),
    "no object": sends(b"[1, 2]", kind=b"application/json"),
    "no UTF-8": sends(b'{"identity": {"name": "\xff"}}', kind=b"application/json"),
    "too deep": sends(b"[" * 200_000, kind=b"application/json"),
    "no capability": sends(b'{"tools": 7, "identity": []}', kind=b"application/json"),
    "too large": sends(b'{"x": "', b"x" * 9 * MEGABYTE, b'"}', kind=b"application/json"),
    "nothing": closes,
}


@pytest.mark.parametrize("what", BAD_CAPABILITIES)
def test_bad_capabilities_are_left_out(tmp_path: Path, what: str) -> None:
    often = ("refresh = 0.01", "circuit_breaker = { failures = 1000 }")
    scenes = HostileServer(sends(lines(*WHOLE)), other_requests=BAD_CAPABILITIES[what])
    with scenes as server, near_gateway(tmp_path, server.url, *often) as gateway:
        for probe in ("1", "0", "0", "1"):
            response = gateway.client.get("/agents/far/capabilities", params={"probe": probe})
            assert response.status_code in (200, 502), response.text
        assert gateway.client.get("/agents/far/capabilities").json()["identity"]["name"] == "far"
        assert run_to_end(gateway)["type"] == "RUN_FINISHED"


def test_an_agent_that_is_replaced_during_a_request_ends_the_request(tmp_path: Path) -> None:
    """It is requested once when it is new and again in the background; then it is silent, and its file changes."""
    scenes, silent = chain([not_found], repeat(hangs(lambda: server))), threading.Event()

    def other_requests(connection: socket.socket) -> None:
        if (scene := next(scenes)) is not not_found:
            silent.set()
        scene(connection)

    with (
        HostileServer(sends(lines(*WHOLE)), other_requests=other_requests) as server,
        near_gateway(tmp_path, server.url, "refresh = 0.01") as gateway,
    ):
        gateway.client.get("/agents/far/capabilities", params={"probe": "1"})
        eventually(lambda: gateway.client.get("/agents/far/capabilities") and silent.is_set())
        definition(tmp_path / "agents", "far", server.url, 'capabilities = ""')
        assert server.gone.wait(REQUEST_TIMEOUT_SECONDS / 2), "the request is cancelled"
        assert run_to_end(gateway)["type"] == "RUN_FINISHED"
        assert gateway.client.post("/agents/far/models:refresh").status_code < 500


def test_a_far_gateway_that_is_killed_in_the_middle_and_comes_back(tmp_path: Path) -> None:
    with Gateway(tmp_path / "far") as far:
        mount(tmp_path / "agents", "far", far.url, 'agents = ["demo"]', "retries = 0")
        with Gateway(tmp_path / "near", "--agents", str(tmp_path / "agents")) as gateway:
            eventually(lambda: gateway.client.get("/agents/far.demo").status_code == 200)
            with gateway.stream("far.demo", "slow 600", threadId="cut") as stream:
                seen = [next(stream)]
                while seen[-1]["type"] != "TEXT_MESSAGE_CONTENT":
                    seen.append(next(stream))
                port = far.url.rpartition(":")[2]
                far.kill()
                seen += stream
            last = accepted(seen)[-1]
            assert (last["type"], last["code"]) == ("RUN_ERROR", "AGENT_DIED")
            with Gateway(tmp_path / "again", "--port", port):
                again = accepted(gateway.run("far.demo", "hello", threadId="cut"))
                assert again[-1]["type"] == "RUN_FINISHED"
