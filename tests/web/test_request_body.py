"""Request bodies: what they are called, how large they are, how fast they come."""

from __future__ import annotations

import json
from collections.abc import Iterator

import pytest

from gateway.web.request_body import MAX_DISCARDED_LIMITS
from tests.support.gateway import Gateway, events_of, run_input, text_of
from tests.web.conftest import BODY_LIMIT
from tests.web.problem import problem_in
from tests.web.raw import Connection, ask, request, run_request

JSON = "Content-Type: application/json"
ROUTES = ["/agents/echo", "/copilotkit/agent/echo/run", "/copilotkit/agent/echo/connect"]


def padded(size: int) -> bytes:
    """A valid input of this many bytes."""
    body = json.dumps(run_input("hello")).encode()
    return body + b" " * (size - len(body))


# -- type


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize(
    "kind", [None, "", "text/plain", "application/x-www-form-urlencoded", "multipart/form-data", "application/jsonx"]
)
def test_what_a_foreign_page_could_send_unasked_is_refused(gateway: Gateway, path: str, kind: str | None) -> None:
    headers = {} if kind is None else {"content-type": kind}
    response = gateway.client.post(path, content=json.dumps(run_input()).encode(), headers=headers)
    problem_in(response, 415, "UNSUPPORTED_CONTENT_TYPE")


@pytest.mark.parametrize("kind", ["application/json", "APPLICATION/JSON", "application/json; charset=utf-8"])
def test_json_is_json_whatever_follows_its_name(gateway: Gateway, kind: str) -> None:
    body = json.dumps(run_input("hello")).encode()
    response = gateway.client.post("/agents/echo", content=body, headers={"content-type": kind})
    assert text_of(events_of(response.text)) == "hello "


# -- size


def test_a_body_of_exactly_the_limit_is_taken(small: Gateway) -> None:
    response = small.client.post(
        "/agents/echo", content=padded(BODY_LIMIT), headers={"content-type": "application/json"}
    )
    assert text_of(events_of(response.text)) == "hello "


@pytest.mark.parametrize(
    "size", [BODY_LIMIT + 1, BODY_LIMIT * MAX_DISCARDED_LIMITS, BODY_LIMIT * MAX_DISCARDED_LIMITS + 1]
)
@pytest.mark.parametrize("path", [*ROUTES, "/copilotkit/agent/echo/stop/t"])
def test_a_larger_one_is_not(small: Gateway, path: str, size: int) -> None:
    response = small.client.post(path, content=padded(size), headers={"content-type": "application/json"})
    problem_in(response, 413, "TOO_LARGE")
    assert response.headers["connection"] == "close"


def test_a_length_that_was_only_announced_is_refused_before_the_body_comes(small: Gateway) -> None:
    head = [JSON, f"Content-Length: {BODY_LIMIT * MAX_DISCARDED_LIMITS + 1}"]
    with Connection(small) as connection:
        problem_in(
            connection.send(request("/agents/echo", headers=head, method="POST")).answer("POST"), 413, "TOO_LARGE"
        )


def test_a_body_without_a_length_is_counted_as_it_comes(small: Gateway) -> None:
    def pieces() -> Iterator[bytes]:
        yield from [b" " * 1000] * (BODY_LIMIT // 1000 + 1)

    response = small.client.post("/agents/echo", content=pieces(), headers={"content-type": "application/json"})
    problem_in(response, 413, "TOO_LARGE")


def test_a_body_without_an_end_is_cut_off(small: Gateway) -> None:
    head = [JSON, "Transfer-Encoding: chunked"]
    chunks = [b"3e8\r\n" + b" " * 1000 + b"\r\n"] * (BODY_LIMIT * MAX_DISCARDED_LIMITS // 1000 + 1)
    with Connection(small) as connection:
        connection.send(request("/agents/echo", headers=head, method="POST"), *chunks)
        problem_in(connection.answer("POST"), 413, "TOO_LARGE")


# -- time


@pytest.mark.parametrize("path", [*ROUTES, "/copilotkit/agent/echo/stop/t"])
def test_a_body_that_stops_half_way_is_not_waited_for_long(small: Gateway, path: str) -> None:
    head = [JSON, "Content-Length: 100"]
    with Connection(small) as connection:
        response = connection.send(request(path, headers=head, method="POST"), b'{"threadId"').answer("POST")
        problem_in(response, 408, "TOO_SLOW")
        assert response.headers["connection"] == "close"
        assert connection.rest() == b""


def test_a_body_in_single_bytes_is_the_same_body(gateway: Gateway) -> None:
    whole = run_request("echo", run_input("hello"), ["Connection: close"])
    with Connection(gateway) as connection:
        response = connection.send(*(whole[at : at + 1] for at in range(len(whole)))).answer("POST")
    assert text_of(events_of(response.text)) == "hello "


def test_a_client_that_disconnects_half_way_is_no_error(small: Gateway) -> None:
    before = small.log.read_text("utf-8")
    with Connection(small) as connection:
        connection.send(request("/agents/echo", headers=[JSON, "Content-Length: 100"], method="POST"), b"{")
    assert ask(small, request("/agents/echo", headers=[JSON, "Content-Length: 9"], method="POST"), b"{") is None
    assert small.client.get("/agents").status_code == 200
    assert small.log.read_text("utf-8") == before


def test_a_client_that_expects_100_continue_gets_it(gateway: Gateway) -> None:
    body = json.dumps(run_input("hello")).encode()
    head = [JSON, f"Content-Length: {len(body)}", "Expect: 100-continue", "Connection: close"]
    with Connection(gateway) as connection:
        connection.send(request("/agents/echo", headers=head, method="POST")).until(b"100 Continue\r\n\r\n")
        assert text_of(events_of(connection.send(body).answer("POST").text)) == "hello "
