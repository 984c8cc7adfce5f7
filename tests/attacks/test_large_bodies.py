"""Large JSON blocks everybody.

Incident: bodies of up to 32 MiB were parsed on the event loop. Four bodies of 27 MB, `[{},{},…]`, took 3 GB of memory,
and a second client waited 17 seconds. An agent with 100,000 interrupts blocked the gateway for 2.9 seconds.
Attack: many bodies with millions of values, over HTTP and WebSocket; an agent with 100,000 interrupts.
Promise: they are refused before they are parsed, memory stays, and another client hardly notices.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from websockets.sync.client import connect

from tests.attacks.greedy_principals import GREEDY, OTHER, open_gateway, run, seconds_of
from tests.support.gateway import Gateway, events_of, run_input
from tests.web.agent_folder import write_agent
from tests.web.problem import problem_in

JSON = {"content-type": "application/json"}
VALUES = 2_500_000
SECONDS = 20.0
MAX_GROWTH_BYTES = 150 * 1024 * 1024
MAX_BODY_ITEMS = 100_000

QUESTIONS = """
from gateway.events import Interrupt, InterruptRequested

async def agent(turn):
    yield InterruptRequested(tuple(Interrupt(f"i{number}", "question") for number in range(100_000)))
"""
NATIVE_QUESTIONS = """
async def agent(turn):
    interrupts = [{"id": f"i{number}", "reason": "question"} for number in range(100_000)]
    yield {"type": "RUN_FINISHED", "threadId": turn.thread_id, "runId": turn.run_id,
           "outcome": {"type": "interrupt", "interrupts": interrupts}}
"""


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    home = tmp_path_factory.mktemp("large")
    write_agent(home / "agents", "asks", QUESTIONS)
    write_agent(home / "agents", "asks-natively", NATIVE_QUESTIONS)
    with open_gateway(home, max_requests_per_second=1_000_000, max_request_burst=1_000_000) as running:
        yield running


def many_values() -> bytes:
    """Below `body_limit`, and millions of values."""
    body = json.dumps(run_input(state=0)).encode()
    return body.replace(b'"state": 0', b'"state": [' + b"{}," * VALUES + b"{}]")


def memory_of(gateway: Gateway) -> int:
    lines = Path(f"/proc/{gateway.pid}/status").read_text("utf-8").splitlines()
    return next(int(line.split()[1]) * 1024 for line in lines if line.startswith("VmRSS:"))


@pytest.mark.parametrize("path", ["/agents/patient", "/copilotkit/agent/patient/run", "/agents/patient/threads/t/fork"])
def test_millions_of_values_are_refused_unread(gateway: Gateway, path: str) -> None:
    before = memory_of(gateway)
    response = gateway.client.post(path, content=many_values(), headers=GREEDY | JSON)
    problem = problem_in(response, 413, "TOO_LARGE")
    assert "max_body_items" in problem["detail"]
    assert memory_of(gateway) - before < MAX_GROWTH_BYTES


def test_a_body_of_30_megabytes_is_refused(gateway: Gateway) -> None:
    before = memory_of(gateway)
    for body, limit in (
        (b"[" + b"{}," * 10_000_000 + b"{}]", "max_body_items"),
        (b'"' + b"x" * 30_000_000, "body_limit"),
    ):
        response = gateway.client.post("/agents/patient", content=body, headers=OTHER | JSON)
        assert limit in problem_in(response, 413, "TOO_LARGE")["detail"]
    assert memory_of(gateway) - before < MAX_GROWTH_BYTES


@pytest.mark.parametrize("piece", [rb'"\",[{\\",', rb'"\\\\",', b'"",', b'"[,{",', '"ä,\U0001f600",'.encode()])
def test_what_is_inside_strings_is_not_counted_and_nothing_hides_there(gateway: Gateway, piece: bytes) -> None:
    for count, status in ((20_000, 200), (MAX_BODY_ITEMS + 1, 413)):
        body = json.dumps(run_input(state=0)).encode().replace(b'"state": 0', b'"state": [' + piece * count + b"1]")
        assert gateway.client.post("/agents/patient", content=body, headers=OTHER | JSON).status_code == status


def test_a_text_full_of_commas_is_one_value(gateway: Gateway) -> None:
    assert run(gateway, OTHER, "a,[{" * 500_000).status_code == 200


def test_another_client_hardly_notices(gateway: Gateway) -> None:
    alone = seconds_of(gateway, OTHER, 9)
    body = many_values()
    stop = threading.Event()

    def flood() -> None:
        with gateway.client.__class__(base_url=gateway.url, timeout=SECONDS) as client:
            while not stop.is_set():
                assert client.post("/agents/patient", content=body, headers=GREEDY | JSON).status_code in (413, 429)

    flooders = [threading.Thread(target=flood) for _ in range(4)]
    for thread in flooders:
        thread.start()
    try:
        beside = seconds_of(gateway, OTHER, 9)
    finally:
        stop.set()
        for thread in flooders:
            thread.join()
    # Without the bound it was 17 seconds. The flooders share this machine's processors with the gateway.
    assert beside < max(20 * alone, 1.0)


def test_a_message_of_a_websocket_is_bounded_too(gateway: Gateway) -> None:
    url = gateway.url.replace("http", "ws") + "/agents/patient/socket"
    with connect(url, additional_headers=OTHER, max_size=None) as socket:
        socket.send(b'{"type":"run","input":{"state":[' + b"{}," * VALUES + b"{}]}}", text=True)
        problem = json.loads(socket.recv(SECONDS))["problem"]
        assert (problem["status"], problem["limit"]) == (413, MAX_BODY_ITEMS)
        socket.send(json.dumps({"type": "run", "input": run_input()}))
        assert "problem" not in json.loads(socket.recv(SECONDS))


@pytest.mark.parametrize("agent", ["asks", "asks-natively"])
def test_an_agent_with_too_many_interrupts_fails_its_own_run(gateway: Gateway, agent: str) -> None:
    last = events_of(run(gateway, OTHER, agent=agent).text)[-1]
    assert (last["type"], last["code"]) == ("RUN_ERROR", "TOO_MANY_INTERRUPTS")
    assert "max_interrupts" in last["message"]
