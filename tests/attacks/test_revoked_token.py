"""A token that was revoked, used by a client that still has streams and sockets open.

The incident: tokens were read once, at the start. A revoked one went on until the restart: new requests, open streams,
open WebSockets.

The promise: the file is read again when it changes. Within a second new requests are refused, open streams end, open
WebSockets are closed, the principal's runs are cancelled and its waiting messages fail; a token that has expired, or
whose scopes were taken away, is treated alike. Other principals notice nothing. A file that is wrong changes nothing.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import connect

from tests.attacks.callers import token_of, write_tokens
from tests.support.gateway import Gateway, run_input
from tests.web.agent_folder import write_agent
from tests.web.problem import problem_in

WAITING_AGENT = """
import asyncio
from gateway.events import TextMessageContent

async def agent(turn):
    yield TextMessageContent("hello ")
    if turn.text == "wait":
        await asyncio.Event().wait()
"""
LIMIT = 10.0
"""Far above what is promised: the machine may be busy."""
PROMISED_SECONDS = 1.0


@dataclass
class Held:
    gateway: Gateway
    tokens: Path
    ann: dict[str, str]
    bob: dict[str, str]

    def revoke_ann(self) -> float:
        write_tokens(self.tokens, bob={"scopes": frozenset({"read", "run", "approve"})})
        return time.monotonic()


@pytest.fixture
def held(tmp_path: Path) -> Iterator[Held]:
    write_agent(tmp_path / "agents", "patient", WAITING_AGENT, more="stall_timeout = 600")
    tokens = tmp_path / "tokens.json"
    headers = write_tokens(tokens, ann={}, bob={})
    flags = ("--token-file", str(tokens), "--agents", str(tmp_path / "agents"))
    with Gateway(tmp_path / "home", *flags) as gateway:
        yield Held(gateway, tokens, headers["ann"], headers["bob"])


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + LIMIT
    while not condition():
        assert time.monotonic() < deadline, "it did not happen in time"
        time.sleep(0.02)


def status(held: Held, headers: dict[str, str]) -> int:
    return held.gateway.client.get("/agents/echo", headers=headers).status_code


def test_new_requests_are_refused_within_a_second(held: Held) -> None:
    assert status(held, held.ann) == 200
    revoked = held.revoke_ann()
    until(lambda: status(held, held.ann) == 401)
    assert time.monotonic() - revoked < PROMISED_SECONDS * 3
    assert status(held, held.bob) == 200


@pytest.mark.parametrize(
    ("method", "path", "body"),
    [
        ("POST", "/agents/patient", run_input("wait", threadId="t", runId="r")),
        ("GET", "/agents/patient/capabilities", None),
        ("GET", "/agents/patient/threads/t/events", None),
        ("POST", "/copilotkit/agent/patient/run", run_input("wait", threadId="t", runId="r")),
    ],
)
def test_an_open_stream_ends(held: Held, method: str, path: str, body: dict[str, Any] | None) -> None:
    accept = {"accept": "text/event-stream"}
    with held.gateway.client.stream(method, path, json=body, headers={**held.ann, **accept}, timeout=LIMIT) as stream:
        assert stream.status_code == 200
        lines = stream.iter_raw()
        if "threads" not in path:
            next(lines)
        held.revoke_ann()
        for _ in lines:
            pass


def test_an_open_websocket_is_closed(held: Held) -> None:
    url = held.gateway.url.replace("http", "ws") + "/agents/patient/socket"
    with connect(url, additional_headers=held.ann) as socket:
        message = {"type": "run", "input": run_input("wait", protocolVersion="1.0", runId="r")}
        socket.send(json.dumps(message))
        socket.recv(timeout=LIMIT)
        held.revoke_ann()
        with pytest.raises(ConnectionClosed) as closed:
            while True:
                socket.recv(timeout=LIMIT)
    assert closed.value.rcvd is not None
    assert (closed.value.rcvd.code, "revoked" in closed.value.rcvd.reason) == (1008, True)


def test_its_runs_are_cancelled_even_those_that_go_on_without_a_client(held: Held) -> None:
    props = {"gateway": {"onDisconnect": "continue"}}
    for headers, run_id in ((held.ann, "anns"), (held.bob, "bobs")):
        body = run_input("wait", runId=run_id, threadId=run_id, forwardedProps=props)
        with held.gateway.client.stream("POST", "/agents/patient", json=body, headers=headers) as stream:
            next(stream.iter_raw())
    assert held.gateway.client.get("/readyz").json()["runs"] == 2
    held.revoke_ann()
    until(lambda: held.gateway.client.get("/readyz").json()["runs"] == 1)
    assert held.gateway.client.post("/runs/bobs/cancel", headers=held.bob).json()["status"] == "cancelling"


def test_its_waiting_messages_are_not_delivered(held: Held) -> None:
    """They wait in the store; even a gateway that starts after the token was revoked does not deliver them."""
    client = held.gateway.client
    body = run_input("wait", runId="r", threadId="t", forwardedProps={"gateway": {"onDisconnect": "continue"}})
    with client.stream("POST", "/agents/patient", json=body, headers=held.ann) as stream:
        next(stream.iter_raw())
    message = {"message": {"role": "user", "content": "and then delete everything"}, "delivery": "on-idle"}
    posted = client.post("/agents/patient/threads/t/messages", json=message, headers=held.ann)
    assert posted.status_code == 202, posted.text
    held.revoke_ann()
    until(lambda: client.get("/readyz").json()["runs"] == 0)
    write_tokens(held.tokens, ann={}, bob={})
    until(lambda: status(held, held.ann) == 200)
    thread = client.get("/agents/patient/threads/t", headers=held.ann).json()
    assert "delete everything" not in json.dumps(thread)
    url = "/agents/patient/threads/t/events?after=0"
    with client.stream("GET", url, headers=held.ann, timeout=LIMIT) as feed:
        for line in feed.iter_lines():
            if "delivery.failed" in line or "PRINCIPAL_GONE" in line:
                break


def test_a_scope_that_was_taken_away_is_gone_at_once(held: Held) -> None:
    run = ("POST", "/agents/echo")
    assert held.gateway.client.request(*run, json=run_input(), headers=held.ann).status_code == 200
    write_tokens(held.tokens, ann={"scopes": frozenset({"read"})}, bob={})
    until(lambda: held.gateway.client.request(*run, json=run_input(), headers=held.ann).status_code == 403)


def test_an_expired_token_ends_what_it_has_open(tmp_path: Path) -> None:
    write_agent(tmp_path / "agents", "patient", WAITING_AGENT, more="stall_timeout = 600")
    tokens = tmp_path / "tokens.json"
    headers = write_tokens(tokens, ann={}, bob={})
    flags = ("--token-file", str(tokens), "--agents", str(tmp_path / "agents"))
    with Gateway(tmp_path / "home", *flags) as gateway:
        write_tokens(tokens, ann={"expires": time.time() + 4.0}, bob={})
        held = Held(gateway, tokens, headers["ann"], headers["bob"])
        until(lambda: "read again" in gateway.log.read_text())
        body = run_input("wait", runId="r")
        with gateway.client.stream("POST", "/agents/patient", json=body, headers=held.ann, timeout=LIMIT) as stream:
            assert stream.status_code == 200
            for _ in stream.iter_raw():
                pass
        problem_in(gateway.client.get("/agents/echo", headers=held.ann), 401, "UNAUTHORIZED")
        until(lambda: gateway.client.get("/readyz").json()["runs"] == 0)


@pytest.mark.parametrize("text", ["{", '{"version": 3, "tokens": []}', "", '{"version": 2, "tokens": [{"name": "x"}]}'])
def test_a_broken_file_keeps_the_old_tokens_and_is_logged(held: Held, text: str) -> None:
    held.tokens.write_text(text)
    until(lambda: "stay in force" in held.gateway.log.read_text())
    assert status(held, held.ann) == 200
    assert token_of("ann") not in held.gateway.log.read_text()


def test_without_any_token_left_no_one_is_let_in(held: Held) -> None:
    write_tokens(held.tokens)
    until(lambda: status(held, held.bob) == 401)
    with pytest.raises(httpx.HTTPStatusError):
        held.gateway.client.get("/agents").raise_for_status()
