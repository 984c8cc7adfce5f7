"""One principal takes everything.

Incident: a gateway with several users had bounds for all of them together only, so one client with 256 runs left none
for anybody: a second client got 503 for each of its 75 requests. The same went for WebSockets, feeds, queued messages
and MCP slots, and nothing limited how often a client could ask.
Attack: `greedy` takes as many of each as it gets.
Promise: it gets its own share and then 429 with the limit's name; `other` gets what it asks for.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from tests.attacks.greedy_principals import GREEDY, OTHER, SSE, accepted, assert_limit, open_gateway, run, waiting_runs
from tests.behaviour.acp.harness import Stage
from tests.support.gateway import Gateway, run_input
from tests.web.problem import problem_in
from tests.web.raw import Connection

SHARE = 2
BOUND = 4 * SHARE
SECONDS = 20.0


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    bounds = ("max_runs", "max_sockets", "max_thread_feeds", "max_watchers", "max_queued")
    home = tmp_path_factory.mktemp("greedy")
    with open_gateway(home, **dict.fromkeys(bounds, BOUND), max_body_bytes_per_principal=100_000) as running:
        yield running


def test_runs(gateway: Gateway) -> None:
    with waiting_runs(gateway, SHARE, GREEDY):
        problem = assert_limit(run(gateway, GREEDY), "max_runs_per_principal", SHARE)
        assert "'greedy'" in problem["detail"]
        assert "cancel" in problem["detail"]
        assert run(gateway, OTHER).status_code == 200
    assert accepted(lambda: run(gateway, GREEDY)).status_code == 200


def test_runs_of_the_other_routes(gateway: Gateway) -> None:
    """CopilotKit's route, a WebSocket and a queued message are no way around it."""
    with waiting_runs(gateway, SHARE, GREEDY):
        response = gateway.client.post("/copilotkit/agent/patient/run", json=run_input(), headers=GREEDY)
        assert response.json()["limit"] == "max_runs_per_principal"
        with connect(gateway.url.replace("http", "ws") + "/agents/patient/socket", additional_headers=GREEDY) as socket:
            socket.send(json.dumps({"type": "run", "input": run_input()}))
            problem = json.loads(socket.recv(SECONDS))["problem"]
            assert (problem["status"], problem["limit"]) == (429, "max_runs_per_principal")
        message = {"message": {"content": "hello"}}
        response = gateway.client.post("/agents/patient/threads/idle/messages", json=message, headers=GREEDY)
        assert (response.status_code, response.json()["status"]) == (202, "deferred")
        assert "max_runs_per_principal" in response.json()["reason"]
        assert gateway.client.delete("/agents/patient/threads/idle", headers=GREEDY).status_code == 204


def test_sockets(gateway: Gateway) -> None:
    url = gateway.url.replace("http", "ws") + "/agents/patient/socket"
    with ExitStack() as stack:
        for _ in range(SHARE):
            stack.enter_context(connect(url, additional_headers=GREEDY))
        with pytest.raises(InvalidStatus) as refused:
            connect(url, additional_headers=GREEDY)
        assert refused.value.response.status_code == 429
        assert refused.value.response.headers["retry-after"]
        assert b"max_sockets_per_principal" in (refused.value.response.body or b"")
        with connect(url, additional_headers=OTHER) as socket:
            socket.send(json.dumps({"type": "run", "input": run_input()}))
            assert json.loads(socket.recv(SECONDS))["runId"]


@pytest.mark.parametrize(
    ("path", "limit"),
    [
        ("/agents/patient/capabilities", "max_watchers_per_principal"),
        ("/agents/patient/threads/any/events", "max_thread_feeds_per_principal"),
    ],
)
def test_feeds(gateway: Gateway, path: str, limit: str) -> None:
    with ExitStack() as stack:
        for _ in range(SHARE):
            feed = stack.enter_context(gateway.client.stream("GET", path, headers=GREEDY | SSE))
            assert feed.status_code == 200
        assert_limit(gateway.client.get(path, headers=GREEDY | SSE), limit, SHARE)
        with gateway.client.stream("GET", path, headers=OTHER | SSE) as feed:
            assert feed.status_code == 200


def test_queued_messages(gateway: Gateway) -> None:
    body = {"message": {"content": "hello"}}
    with waiting_runs(gateway, 1, GREEDY) as [mine], waiting_runs(gateway, 1, OTHER) as [theirs]:
        path = f"/agents/patient/threads/{mine}/messages"
        for _ in range(SHARE):
            assert gateway.client.post(path, json=body, headers=GREEDY).status_code == 202
        elsewhere = "/agents/patient/threads/another/messages"
        for each in (path, elsewhere):
            response = gateway.client.post(each, json=body, headers=GREEDY)
            assert_limit(response, "max_queued_per_principal", SHARE)
        response = gateway.client.post(f"/agents/patient/threads/{theirs}/messages", json=body, headers=OTHER)
        assert response.status_code == 202


def test_bytes_in_flight(gateway: Gateway) -> None:
    head = "POST /agents/patient HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: 99000"
    with Connection(gateway) as slow:
        slow.send(f"{head}\r\nAuthorization: {GREEDY['authorization']}\r\n\r\n".encode() + b" " * 90_000)
        large = json.dumps(run_input("x" * 50_000)).encode()
        headers = {"content-type": "application/json"}
        for _ in range(100):  # until the first bytes of the slow body were read
            response = gateway.client.post("/agents/patient", content=large, headers=GREEDY | headers)
            if response.status_code == 429:
                break
        assert_limit(response, "max_body_bytes_per_principal", 100_000)
        assert gateway.client.post("/agents/patient", content=large, headers=OTHER | headers).status_code == 200


def test_requests_per_second(tmp_path: Path) -> None:
    with open_gateway(tmp_path, max_requests_per_second=1, max_request_burst=5) as gateway:
        responses = [gateway.client.get("/agents/patient/models", headers=GREEDY) for _ in range(8)]
        refused = [response for response in responses if response.status_code != 200]
        assert len(refused) >= 2
        assert_limit(refused[0], "max_requests_per_second", 1)
        assert run(gateway, OTHER).status_code == 200
        assert gateway.client.get("/healthz").status_code == gateway.client.get("/readyz").status_code == 200


def test_messages_of_a_websocket_are_requests(tmp_path: Path) -> None:
    with open_gateway(tmp_path, max_requests_per_second=1, max_request_burst=5) as gateway:
        url = gateway.url.replace("http", "ws") + "/agents/patient/socket"
        with connect(url, additional_headers=GREEDY) as socket:
            for _ in range(10):
                socket.send('{"type":"cancel","runId":"none"}')
            codes = [json.loads(socket.recv(SECONDS))["problem"]["code"] for _ in range(10)]
        assert codes[0] == "UNKNOWN_RUN"
        assert "LIMIT_REACHED" in codes
        assert run(gateway, OTHER).status_code == 200


def test_sessions_in_use(tmp_path: Path) -> None:
    with open_gateway(tmp_path, max_sessions_per_principal=1) as gateway, waiting_runs(gateway, 1, GREEDY):
        assert_limit(run(gateway, GREEDY), "max_sessions_per_principal", 1)
        assert run(gateway, OTHER).status_code == 200


def test_an_idle_session_makes_room_for_the_next_thread(tmp_path: Path) -> None:
    """Processes of agents do not pile up: the oldest one that is idle ends."""
    stage = Stage(tmp_path, max_sessions_per_principal=2).agent("fake")
    with stage as gateway:
        threads = [run_input() for _ in range(4)]
        for body in threads:
            assert gateway.post("fake", body).status_code == 200
        listed = gateway.client.get("/agents/fake/threads").json()["threads"]
        assert len(listed) == 4
        assert gateway.post("fake", threads[0] | {"runId": "again"}).status_code == 200


def test_the_bound_for_all_stays(tmp_path: Path) -> None:
    with open_gateway(tmp_path, max_runs=2, max_runs_per_principal=2) as gateway, waiting_runs(gateway, 2, GREEDY):
        problem_in(run(gateway, OTHER), 503, "GATEWAY_BUSY")


def test_without_tokens_the_one_user_has_it_all(tmp_path: Path) -> None:
    with Gateway(tmp_path, env={"AGUI_GATEWAY_MAX_RUNS": "4", "AGUI_GATEWAY_MAX_REQUEST_BURST": "5"}) as gateway:
        assert [gateway.client.get("/agents/demo/models").status_code for _ in range(50)] == [200] * 50
        with ExitStack() as stack:
            for _ in range(4):
                response = stack.enter_context(
                    gateway.client.stream("POST", "/agents/demo", json=run_input("slow 2000"))
                )
                assert response.status_code == 200
            problem_in(gateway.post("demo", run_input()), 503, "GATEWAY_BUSY")
