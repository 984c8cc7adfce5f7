"""Who may call: by the name they use, the page they come from, the token they hold."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.errors import ConfigError
from gateway.web.auth.token_file import read_token_file
from tests.support.gateway import Gateway, run_input
from tests.web.conftest import NAME, PAGE, Guarded
from tests.web.problem import problem_in
from tests.web.raw import ask


def port_of(gateway: Gateway) -> str:
    return gateway.url.rpartition(":")[2]


# -- Host


@pytest.mark.parametrize("host", ["localhost", "LocalHost:80", "127.0.0.1", "127.0.0.1:9999", "[::1]", "[::1]:1234"])
def test_a_loopback_name_is_answered_whatever_the_port(gateway: Gateway, host: str) -> None:
    assert gateway.client.get("/agents", headers={"host": host}).status_code == 200


@pytest.mark.parametrize("host", ["evil.example", "localhost.evil.example:80", "127.0.0.1.evil.example", "[::2]", ""])
def test_a_name_that_was_pointed_at_loopback_is_refused(gateway: Gateway, host: str) -> None:
    problem_in(gateway.client.get("/agents", headers={"host": host}), 403, "HOST_NOT_ALLOWED")


def test_a_request_without_a_host_is_refused(gateway: Gateway) -> None:
    problem_in(ask(gateway, b"GET /agents HTTP/1.0\r\n\r\n"), 403, "HOST_NOT_ALLOWED")


def test_the_refusal_of_a_host_names_the_option_that_allows_it(gateway: Gateway) -> None:
    response = gateway.client.post("/agents/echo", json=run_input(), headers={"host": "gateway.example:8123"})
    assert "--allow-host gateway.example" in problem_in(response, 403, "HOST_NOT_ALLOWED")["detail"]


def test_a_host_that_was_allowed_is_answered(guarded: Guarded) -> None:
    headers = {**guarded.ann, "host": f"{NAME}:443"}
    assert guarded.gateway.client.get("/agents", headers=headers).status_code == 200


# -- Origin


def test_the_gateways_own_page_may_call(gateway: Gateway) -> None:
    response = gateway.client.get("/agents", headers={"origin": gateway.url})
    assert response.status_code == 200
    assert "access-control-allow-origin" not in response.headers


def test_its_own_page_may_call_whatever_characters_are_in_its_name(guarded: Guarded) -> None:
    headers = {**guarded.ann, "host": NAME, "origin": f"http://{NAME}"}
    assert guarded.gateway.client.get("/agents", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://localhost:1", "http://localhost", "file://"]
)
@pytest.mark.parametrize("method", ["GET", "POST", "OPTIONS"])
def test_any_other_page_may_not_even_look(gateway: Gateway, method: str, origin: str) -> None:
    response = gateway.client.request(method, "/agents/echo", headers={"origin": origin})
    problem_in(response, 403, "ORIGIN_NOT_ALLOWED")
    assert "access-control-allow-origin" not in response.headers


def test_a_page_on_another_port_of_this_machine_is_another_page(gateway: Gateway) -> None:
    other = gateway.url.replace(port_of(gateway), "1")
    problem_in(gateway.client.get("/agents", headers={"origin": other}), 403, "ORIGIN_NOT_ALLOWED")


def test_an_allowed_page_may_read_the_answer(guarded: Guarded) -> None:
    response = guarded.gateway.client.get("/agents/echo/capabilities", headers={**guarded.ann, "origin": PAGE})
    assert response.status_code == 200
    assert response.headers["access-control-allow-origin"] == PAGE
    assert "etag" in response.headers["access-control-expose-headers"]
    assert "Origin" in response.headers["vary"]


def test_an_allowed_page_may_read_a_stream(guarded: Guarded) -> None:
    headers = {**guarded.ann, "origin": PAGE}
    response = guarded.gateway.client.post("/agents/echo", json=run_input(), headers=headers)
    assert (response.status_code, response.headers["access-control-allow-origin"]) == (200, PAGE)


def test_an_allowed_page_may_read_why_it_was_refused(guarded: Guarded) -> None:
    response = guarded.gateway.client.get("/agents", headers={"origin": PAGE})
    problem_in(response, 401, "UNAUTHORIZED")
    assert response.headers["access-control-allow-origin"] == PAGE


def test_a_preflight_needs_no_token_and_allows_the_requested_headers(guarded: Guarded) -> None:
    requested = {
        "access-control-request-method": "POST",
        "access-control-request-headers": "authorization,content-type",
    }
    response = guarded.gateway.client.options("/agents/echo", headers={"origin": PAGE, **requested})
    assert (response.status_code, response.content) == (204, b"")
    assert response.headers["access-control-allow-origin"] == PAGE
    assert response.headers["access-control-allow-headers"] == "authorization,content-type"
    assert "POST" in response.headers["access-control-allow-methods"]


# -- tokens


def test_a_token_lets_in(guarded: Guarded) -> None:
    assert guarded.gateway.client.get("/agents", headers=guarded.ann).status_code == 200


def test_the_scheme_may_be_written_in_any_case(guarded: Guarded) -> None:
    headers = {"authorization": guarded.ann["authorization"].replace("Bearer", "bEARER")}
    assert guarded.gateway.client.get("/agents", headers=headers).status_code == 200


@pytest.mark.parametrize(
    "given",
    [
        "Bearer wrong-0123456789abcdef",
        "Bearer",
        "ann-0123456789abcdef",
        "Basic ann-0123456789abcdef",
        "Bearer ann:ann-0123456789abcdef",
        "Bearer ann-0123456789abcde",
        "Bearer \xe9",
    ],
)
def test_anything_else_does_not(guarded: Guarded, given: str) -> None:
    headers = [(b"authorization", given.encode("latin-1"))]
    response = guarded.gateway.client.get("/agents", headers=headers)
    assert "not known" in problem_in(response, 401, "UNAUTHORIZED")["detail"]


@pytest.mark.parametrize(
    ("method", "path"),
    [
        ("GET", "/"),
        ("GET", "/agents/demo/capabilities"),
        ("POST", "/agents/echo"),
        ("GET", "/runs/r/events"),
        ("POST", "/runs/r/cancel"),
        ("GET", "/copilotkit/info"),
        ("POST", "/copilotkit/agent/demo/stop/t"),
        ("GET", "/nowhere"),
        ("GET", "/healthz/"),
    ],
)
def test_every_route_but_the_health_checks_needs_the_token(guarded: Guarded, method: str, path: str) -> None:
    problem_in(guarded.gateway.client.request(method, path), 401, "UNAUTHORIZED")


@pytest.mark.parametrize(("path", "status"), [("/healthz", "ok"), ("/readyz", "ready")])
def test_a_health_check_needs_no_token(guarded: Guarded, path: str, status: str) -> None:
    response = guarded.gateway.client.get(path)
    assert (response.status_code, response.json()["status"]) == (200, status)


def test_the_runs_of_one_token_are_not_there_for_another(guarded: Guarded) -> None:
    client = guarded.gateway.client
    body = run_input("secret", runId="anns-run", threadId="anns-thread")
    assert "secret" in client.post("/agents/echo", json=body, headers=guarded.ann).text
    assert client.get("/runs/anns-run/events", headers=guarded.ann).status_code == 200
    problem_in(client.get("/runs/anns-run/events", headers=guarded.bob), 404, "UNKNOWN_RUN")
    problem_in(client.post("/runs/anns-run/cancel", headers=guarded.bob), 404, "UNKNOWN_RUN")
    connected = client.post("/copilotkit/agent/echo/connect", json=body, headers=guarded.bob)
    assert (connected.status_code, connected.content) == (200, b"")


def test_a_token_may_be_limited_to_scopes(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.txt"
    tokens.write_text(
        "reader[read]:0123456789abcdef-read\nuser[read,run]:0123456789abcdef-user\nall:0123456789abcdef-all\n"
    )
    tokens.chmod(0o600)
    with Gateway(tmp_path / "home", "--token-file", str(tokens)) as gateway:

        def status(method: str, path: str, who: str) -> int:
            bearer = {"authorization": f"Bearer 0123456789abcdef-{who}"}
            body = {**run_input("hello"), "method": "_vendor/method"}
            return gateway.client.request(method, path, json=body, headers=bearer).status_code

        assert [status("GET", "/agents", who) for who in ("read", "user", "all")] == [200, 200, 200]
        assert [status("POST", "/agents/echo", who) for who in ("read", "user", "all")] == [403, 200, 200]
        acp = "/agents/echo/threads/t/acp"
        assert [status("POST", acp, who) for who in ("read", "user", "all")] == [403, 403, 422]


def test_scopes_that_there_are_not_are_refused_at_start(tmp_path: Path) -> None:
    tokens = tmp_path / "tokens.txt"
    tokens.write_text("reader[look]:0123456789abcdef-read\n")
    tokens.chmod(0o600)
    with pytest.raises(ConfigError, match="tokens.txt:1: scopes are written as"):
        read_token_file(tokens)
