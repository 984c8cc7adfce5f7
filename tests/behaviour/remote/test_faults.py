"""Whatever the far side does, a run ends in one terminal event with everything closed, and this gateway goes on."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from itertools import chain, repeat
from pathlib import Path
from typing import Any

import pytest

from gateway.drivers.remote.driver import CAPABILITIES_LIMIT
from gateway.encode.protobuf.encoder import encode_frames
from gateway.events import Wire
from gateway.jsonio import dumps
from tests.agui.replay import accepted
from tests.behaviour.remote.hostile_server import (
    HEAD,
    PROTOBUF,
    SSE,
    Scene,
    Wretch,
    answers,
    closes,
    floods,
    hangs,
    not_there,
    says,
)
from tests.behaviour.remote.test_mount import mount
from tests.behaviour.remote.test_remote import definition
from tests.runs.harness import eventually
from tests.support.gateway import Gateway, text_of

STARTED = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
OPENED = {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"}
WORD = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "word "}
CLOSED = {"type": "TEXT_MESSAGE_END", "messageId": "m"}
FINISHED = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
WHOLE = (STARTED, OPENED, WORD, CLOSED, FINISHED)
MEGABYTE = 2**20


def lines(*events: Wire) -> bytes:
    return b"".join(b"data: %b\n\n" % dumps(event) for event in events)


BEGUN = lines(STARTED, OPENED, WORD)
HALF = lines(WORD)[:-20]


@contextmanager
def near(home: Path, url: str, *more: str, **settings: Any) -> Iterator[Gateway]:
    definition(home / "agents", "far", url, "retries = 2", *more)
    env = {f"AGUI_GATEWAY_{name.upper()}": str(value) for name, value in settings.items()}
    with Gateway(home / "near", "--agents", str(home / "agents"), env=env) as gateway:
        yield gateway
        assert text_of(gateway.run("echo", "still here")) == "still here ", "whatever the far side does"


def ended(gateway: Gateway, **fields: Any) -> Wire:
    return accepted(gateway.run("far", "go", **fields))[-1]


BROKEN: dict[str, tuple[Scene, str, str]] = {
    "nothing": (says(), "AGENT_DIED", "without RUN_FINISHED"),
    "an end in the middle": (says(BEGUN), "AGENT_DIED", "without RUN_FINISHED"),
    "half an event": (says(BEGUN, HALF), "AGENT_DIED", "without RUN_FINISHED"),
    "half a frame": (says(encode_frames([STARTED, OPENED, WORD])[:-3], kind=PROTOBUF), "AGENT_ERROR", "inside a frame"),
    "no JSON": (says(BEGUN, b"data: {nonsense\n\n"), "AGENT_PROTOCOL_ERROR", "not JSON"),
    "no object": (says(BEGUN, b"data: [1]\n\n"), "AGENT_PROTOCOL_ERROR", "no object"),
    "no UTF-8": (says(BEGUN, lines(WORD).replace(b"word", b"\xff\xfe")), "AGENT_PROTOCOL_ERROR", "not JSON"),
    "an event that is none": (says(BEGUN, lines({**WORD, "delta": 7})), "AGENT_ERROR", "/delta"),
    "no frames": (says(b"\x00\x00\x00\x03abc", kind=PROTOBUF), "AGENT_ERROR", "cannot be decoded"),
    "a frame of four gigabytes": (says(b"\xff\xff\xff\xff", kind=PROTOBUF), "EVENT_TOO_LARGE", "4294967299"),
    "a page": (says(b"<html>", kind=b"text/html"), "AGENT_PROTOCOL_ERROR", "text/html"),
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
def test_what_is_broken_ends_the_run_and_is_not_tried_again(tmp_path: Path, what: str) -> None:
    scene, code, words = BROKEN[what]
    with Wretch(scene) as wretch, near(tmp_path, wretch.url) as gateway:
        last = ended(gateway)
        assert (last["type"], last["code"]) == ("RUN_ERROR", code)
        assert words in last["message"]
        assert wretch.runs == 1, "it may have begun: nobody asks it to begin twice"


def test_what_came_before_the_break_is_told(tmp_path: Path) -> None:
    with Wretch(says(BEGUN, b"data: {nonsense\n\n")) as wretch, near(tmp_path, wretch.url) as gateway:
        assert text_of(gateway.run("far")) == "word "


def test_before_the_first_byte_it_is_tried_again_and_then_works(tmp_path: Path) -> None:
    busy, down = answers(b"503 Service Unavailable"), answers(b"502 Bad Gateway")
    with Wretch(busy, down, says(lines(*WHOLE))) as wretch, near(tmp_path, wretch.url) as gateway:
        assert ended(gateway)["type"] == "RUN_FINISHED"
        assert wretch.runs == 3


def test_a_request_that_was_heard_and_not_answered_is_not_sent_again(tmp_path: Path) -> None:
    with Wretch(closes, says(lines(*WHOLE))) as wretch, near(tmp_path, wretch.url) as gateway:
        last = ended(gateway)
        assert (last["code"], wretch.runs) == ("AGENT_UNREACHABLE", 1)
        assert ended(gateway)["type"] == "RUN_FINISHED", "the next run is another matter"


def test_the_breaker_opens_is_shown_and_closes_again(tmp_path: Path) -> None:
    told = ("circuit_breaker = { failures = 2, cooldown = 1 }", 'capabilities = ""')
    with Wretch(closes, closes, says(lines(*WHOLE))) as wretch, near(tmp_path, wretch.url, *told) as gateway:

        def availability() -> dict[str, str]:
            found: dict[str, str] = gateway.client.get("/agents/far").json()["availability"]
            return found

        assert availability()["status"] == "ready"
        assert [ended(gateway)["code"] for _ in range(3)] == ["AGENT_UNREACHABLE"] * 2 + ["AGENT_CIRCUIT_OPEN"]
        assert wretch.runs == 2, "it is left alone"
        assert availability()["status"] == "broken"
        assert "2 times in a row" in availability()["reason"]
        eventually(lambda: ended(gateway)["type"] == "RUN_FINISHED")
        assert availability()["status"] == "ready"


@pytest.mark.parametrize("said", [(), (HEAD % SSE,), (HEAD % SSE, BEGUN), (HEAD % SSE, BEGUN, HALF)], ids=str)
def test_one_that_falls_silent_is_given_up(tmp_path: Path, said: tuple[bytes, ...]) -> None:
    """Before its head, before its first event, between two, inside one."""
    scene = hangs(lambda: wretch, *said)
    with Wretch(scene) as wretch, near(tmp_path, wretch.url, stall_timeout=1) as gateway:
        assert ended(gateway)["code"] == "AGENT_STALLED"
        assert wretch.gone.wait(10), "and its connection is closed"


def test_bytes_that_come_one_by_one_are_the_same_events(tmp_path: Path) -> None:
    single = [bytes((byte,)) for byte in lines(*WHOLE)]
    with Wretch(says(*single)) as wretch, near(tmp_path, wretch.url) as gateway:
        assert text_of(gateway.run("far")) == "word "


def test_a_flood_ends_at_the_bound_of_a_run_and_holds_up_nobody(tmp_path: Path) -> None:
    scene = floods(lambda: wretch, [lines(STARTED, OPENED)], lines(WORD) * 1000)
    with Wretch(scene) as wretch, near(tmp_path, wretch.url, max_run_log_bytes=20 * MEGABYTE) as gateway:
        with gateway.stream("far") as events:
            next(events)
            assert text_of(gateway.run("echo", "meanwhile")) == "meanwhile "
            last = list(events)[-1]
        assert last["code"] == "RUN_TOO_LARGE"
        assert wretch.gone.wait(10)


def test_an_event_without_an_end_is_given_up(tmp_path: Path) -> None:
    scene = floods(lambda: wretch, [b"data: "], b"x" * MEGABYTE)
    with Wretch(scene) as wretch, near(tmp_path, wretch.url) as gateway:
        assert ended(gateway)["code"] == "EVENT_TOO_LARGE"
        assert wretch.gone.wait(10)


def test_what_follows_the_end_of_a_run_is_not_waited_for(tmp_path: Path) -> None:
    scene = floods(lambda: wretch, [lines(*WHOLE)], lines(WORD))
    with Wretch(scene) as wretch, near(tmp_path, wretch.url) as gateway:
        assert [event["type"] for event in gateway.run("far")] == [event["type"] for event in WHOLE]
        assert wretch.gone.wait(10)


def test_one_that_says_its_end_and_hangs_up_late_does_not_hold_up_the_run(tmp_path: Path) -> None:
    scene = hangs(lambda: wretch, HEAD % SSE, lines(*WHOLE))
    with Wretch(scene) as wretch, near(tmp_path, wretch.url) as gateway:
        assert ended(gateway)["type"] == "RUN_FINISHED"
        assert wretch.gone.wait(10)


NONSENSE: dict[str, Scene] = {
    "no JSON": says(b"{nonsense", kind=b"application/json"),
    "no object": says(b"[1, 2]", kind=b"application/json"),
    "no UTF-8": says(b'{"identity": {"name": "\xff"}}', kind=b"application/json"),
    "too deep": says(b"[" * 200_000, kind=b"application/json"),
    "no capability": says(b'{"tools": 7, "identity": []}', kind=b"application/json"),
    "too large": says(b'{"x": "', b"x" * 9 * MEGABYTE, b'"}', kind=b"application/json"),
    "nothing": closes,
}


@pytest.mark.parametrize("what", NONSENSE)
def test_capabilities_that_are_none_are_left_out_and_harm_nobody(tmp_path: Path, what: str) -> None:
    often = ("refresh = 0.01", "circuit_breaker = { failures = 1000 }")
    scenes = Wretch(says(lines(*WHOLE)), asked=NONSENSE[what])
    with scenes as wretch, near(tmp_path, wretch.url, *often) as gateway:
        for probe in ("1", "0", "0", "1"):
            told = gateway.client.get("/agents/far/capabilities", params={"probe": probe})
            assert told.status_code in (200, 502), told.text
        assert gateway.client.get("/agents/far/capabilities").json()["identity"]["name"] == "far"
        assert ended(gateway)["type"] == "RUN_FINISHED"


def test_one_that_is_replaced_while_it_is_asked_leaves_everybody_else_alone(tmp_path: Path) -> None:
    """Asked once when it was new, and again in the background: then it is silent, and its file becomes another."""
    scenes, silent = chain([not_there], repeat(hangs(lambda: wretch))), threading.Event()

    def asked(connection: socket.socket) -> None:
        if (scene := next(scenes)) is not not_there:
            silent.set()
        scene(connection)

    with Wretch(says(lines(*WHOLE)), asked=asked) as wretch, near(tmp_path, wretch.url, "refresh = 0.01") as gateway:
        gateway.client.get("/agents/far/capabilities", params={"probe": "1"})
        eventually(lambda: gateway.client.get("/agents/far/capabilities") and silent.is_set())
        definition(tmp_path / "agents", "far", wretch.url, 'capabilities = ""')
        assert wretch.gone.wait(CAPABILITIES_LIMIT / 2), "nobody waits for the answer any more"
        assert ended(gateway)["type"] == "RUN_FINISHED"
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
