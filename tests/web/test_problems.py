"""Every refusal, whatever its status, is one shape that a program can read and a person can act on."""

from __future__ import annotations

import httpx
import pytest

from tests.support.gateway import Gateway, run_input
from tests.web.conftest import BODY_LIMIT, HEADER_LIMIT, Guarded
from tests.web.problem import problem_in
from tests.web.raw import Connection, ask, request


def test_400_for_a_body_that_is_not_json(gateway: Gateway) -> None:
    headers = {"content-type": "application/json"}
    response = gateway.client.post("/agents/echo", content=b'{"threadId": ', headers=headers)
    problem_in(response, 400, "NOT_JSON")


def test_401_for_a_call_without_a_token(guarded: Guarded) -> None:
    response = guarded.gateway.client.get("/agents")
    assert "Authorization: Bearer" in problem_in(response, 401, "UNAUTHORIZED")["detail"]
    assert response.headers["www-authenticate"] == "Bearer"


def test_403_for_a_page_that_was_not_allowed(gateway: Gateway) -> None:
    response = gateway.client.get("/agents", headers={"origin": "https://evil.example"})
    problem = problem_in(response, 403, "ORIGIN_NOT_ALLOWED")
    assert "--allow-origin https://evil.example" in problem["detail"]


def test_404_for_a_path_that_leads_nowhere(gateway: Gateway) -> None:
    problem = problem_in(gateway.client.get("/nowhere"), 404, "NOT_FOUND")
    assert "/nowhere" in problem["detail"] and "GET /" in problem["detail"]


def test_404_for_an_unknown_agent(gateway: Gateway) -> None:
    problem = problem_in(gateway.post("ghost", run_input()), 404, "UNKNOWN_AGENT")
    assert "demo" in problem["detail"] and "echo" in problem["detail"]


@pytest.mark.parametrize(
    ("method", "path", "allowed"),
    [
        ("DELETE", "/agents", "GET, HEAD"),
        ("PATCH", "/agents/demo", "DELETE, GET, HEAD, POST, PUT"),
        ("POST", "/agents/demo/capabilities", "GET, HEAD"),
        ("GET", "/runs/r1/cancel", "POST"),
        ("GET", "/copilotkit/agent/demo/run", "POST"),
        ("OPTIONS", "/agents/demo", "DELETE, GET, HEAD, POST, PUT"),
    ],
)
def test_405_names_what_is_allowed(gateway: Gateway, method: str, path: str, allowed: str) -> None:
    response = gateway.client.request(method, path)
    problem = problem_in(response, 405, "METHOD_NOT_ALLOWED")
    assert response.headers["allow"] == allowed
    assert problem["allow"] == allowed.split(", ")


def test_408_for_a_body_that_does_not_come(small: Gateway) -> None:
    with Connection(small) as connection:
        head = ["Content-Type: application/json", "Content-Length: 10"]
        response = connection.send(request("/agents/echo", headers=head, method="POST"), b"{").answer()
        assert "body_timeout" in problem_in(response, 408, "TOO_SLOW")["detail"]


def test_409_for_a_second_run_of_a_thread_names_the_live_one(gateway: Gateway) -> None:
    with gateway.stream("demo", "slow 600", threadId="busy-thread", runId="the-first") as events:
        next(events)
        problem = problem_in(gateway.post("demo", run_input(threadId="busy-thread")), 409, "RUN_IN_PROGRESS")
    assert problem["runId"] == "the-first"
    assert "/runs/the-first/cancel" in problem["detail"]


def test_413_for_a_body_over_the_limit(small: Gateway) -> None:
    problem = problem_in(small.post("echo", run_input("x" * BODY_LIMIT)), 413, "TOO_LARGE")
    assert problem["limit"] == BODY_LIMIT
    assert "body_limit" in problem["detail"]


def test_415_for_a_body_that_is_not_called_json(gateway: Gateway) -> None:
    response = gateway.client.post("/agents/echo", content=b"{}", headers={"content-type": "text/plain"})
    assert "text/plain" in problem_in(response, 415, "UNSUPPORTED_CONTENT_TYPE")["detail"]


def test_422_for_an_input_with_wrong_fields_names_each_of_them(gateway: Gateway) -> None:
    problem = problem_in(gateway.post("echo", run_input(threadId=5, runId="")), 422, "INVALID_INPUT")
    assert [error["pointer"] for error in problem["errors"]] == ["/threadId", "/runId"]


def test_422_for_what_the_agent_cannot_do_names_the_source(gateway: Gateway) -> None:
    body = run_input(forwardedProps={"gateway": {"model": "gpt-99"}})
    problem = problem_in(gateway.post("echo", body), 422, "CAPABILITY_ERROR")
    assert (problem["pointer"], problem["source"]) == ("/forwardedProps/gateway/model", "profile (echo.toml: options)")


def test_431_for_headers_over_the_limit(small: Gateway) -> None:
    response = ask(small, request("/agents", headers=["X-Long: " + "x" * HEADER_LIMIT]))
    assert "header_limit" in problem_in(response, 431, "HEADERS_TOO_LARGE")["detail"]


def test_503_for_one_run_too_many(small: Gateway) -> None:
    with small.stream("demo", "slow 600") as events:
        next(events)
        assert "max_runs" in problem_in(small.post("echo", run_input()), 503, "GATEWAY_BUSY")["detail"]


def test_a_refusal_to_copilotkit_has_the_message_that_it_shows_to_developers(gateway: Gateway) -> None:
    response = gateway.client.post("/copilotkit/agent/ghost/run", json=run_input())
    problem = problem_in(response, 404, "UNKNOWN_AGENT")
    assert (problem["error"], problem["message"]) == ("UNKNOWN_AGENT", problem["detail"])


def test_a_refusal_of_a_head_request_has_no_body(gateway: Gateway) -> None:
    response: httpx.Response = gateway.client.head("/nowhere")
    assert (response.status_code, response.content) == (404, b"")
    assert response.headers["content-type"] == "application/problem+json"
