"""HTTP itself: bounds on headers, garbage instead of HTTP, offers that are not taken, several requests in a row."""

from __future__ import annotations

import json
import socket
import time
from urllib.parse import urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.web.lingering_transport import LINGER_BYTES, LINGER_SECONDS
from tests.agui.streams import steady
from tests.support.gateway import Gateway, events_of, run_input, text_of
from tests.web.conftest import HEADER_LIMIT
from tests.web.problem import problem_in
from tests.web.raw import Connection, ask, request, run_request

LINE = "X-Filler: "
CLOSE = "Connection: close"
ENDLESS = b"x" * 2_000_000
JSON_CHUNKS = ["Content-Type: application/json", "Transfer-Encoding: chunked"]


def post(*lines: str) -> bytes:
    """The head of a POST, whatever is to follow."""
    return request("/agents/echo", headers=lines, method="POST")


def filled(size: int) -> bytes:
    """A request whose headers have about this many bytes, in lines of a hundred."""
    return request("/", headers=[CLOSE, *[LINE + "x" * (98 - len(LINE))] * (size // 100)])


# -- size


def test_headers_under_the_limit_are_taken(small: Gateway) -> None:
    response = ask(small, filled(HEADER_LIMIT - 200))
    assert response is not None and response.status_code == 200


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(filled(HEADER_LIMIT + 100), id="many headers"),
        pytest.param(request("/agents", headers=[LINE + "x" * HEADER_LIMIT]), id="one long header"),
        pytest.param(request("/agents", headers=["x" * HEADER_LIMIT + ": x"]), id="a long name"),
        pytest.param(request("/agents?" + "x" * HEADER_LIMIT), id="a long address"),
        pytest.param(request("/agents", headers=[LINE])[:-4] + ENDLESS, id="a header without an end"),
        pytest.param(request("/agents")[:-2] + ENDLESS, id="a name without an end"),
        pytest.param(b"GET /" + ENDLESS, id="an address without an end"),
    ],
)
def test_headers_over_the_limit_are_refused(small: Gateway, data: bytes) -> None:
    with Connection(small) as connection:
        problem_in(connection.send(data).answer(), 431, "HEADERS_TOO_LARGE")


def test_a_request_that_was_refused_for_its_headers_is_not_carried_out(small: Gateway) -> None:
    data = run_request("echo", run_input(runId="too-much-ado"), [LINE + "x" * HEADER_LIMIT])
    problem_in(ask(small, data), 431, "HEADERS_TOO_LARGE")
    problem_in(small.client.get("/runs/too-much-ado/events"), 404, "UNKNOWN_RUN")


def test_headers_are_counted_for_each_request_separately(small: Gateway) -> None:
    once = request("/agents", headers=[LINE + "x" * (HEADER_LIMIT // 2)])
    with Connection(small) as connection:
        assert [connection.send(once).answer().status_code for _ in range(4)] == [200] * 4


# -- time


def test_headers_that_stop_half_way_are_not_waited_for_long(small: Gateway) -> None:
    with Connection(small) as connection:
        response = connection.send(b"GET /agents HTTP/1.1\r\nHost: loc").answer()
        assert "header_timeout" in problem_in(response, 408, "TOO_SLOW")["detail"]
        assert connection.rest() == b""


def test_the_second_request_of_a_connection_is_not_waited_for_longer(small: Gateway) -> None:
    with Connection(small) as connection:
        assert connection.send(request("/agents")).answer().status_code == 200
        problem_in(connection.send(b"GET /agents HTTP/1.1\r\n").answer(), 408, "TOO_SLOW")


def test_a_connection_without_a_request_is_closed_without_a_response(small: Gateway) -> None:
    with Connection(small) as connection:
        assert connection.rest() == b""


# -- garbage


@pytest.mark.parametrize(
    "data",
    [
        pytest.param(b"hello\r\n\r\n", id="words"),
        pytest.param(bytes(range(256)), id="all bytes"),
        pytest.param(b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + b"\x00" * 64, id="TLS"),
        pytest.param(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", id="HTTP/2"),
        pytest.param(b"SSH-2.0-OpenSSH_9.6\r\n", id="SSH"),
        pytest.param(b'{"jsonrpc":"2.0","id":1,"method":"initialize"}\n', id="JSON"),
        pytest.param(b"GET /agents HTTP/9.9\r\nHost: localhost\r\n\r\n", id="another version"),
        pytest.param(b"BREW /pot HTTP/1.1\r\nHost: localhost\r\n\r\n", id="another method"),
        pytest.param(b"CONNECT localhost:80 HTTP/1.1\r\nHost: localhost\r\n\r\n", id="a tunnel"),
        pytest.param("GET /agénts HTTP/1.1\r\nHost: localhost\r\n\r\n".encode(), id="letters in an address"),
        pytest.param(b"GET /agents HTTP/1.1\r\nHost: localhost\r\nX\x00: y\r\n\r\n", id="a zero in a name"),
        pytest.param(b"GET /agents HTTP/1.1\r\nHost: localhost\r\nX: \x00\r\n\r\n", id="a zero in a value"),
        pytest.param(post("Content-Length: 1x"), id="a length of letters"),
        pytest.param(post("Content-Length: " + "9" * 99), id="a huge length"),
        pytest.param(request("/agents/echo", b"{}", ["Content-Length: 1"]), id="two lengths"),
        pytest.param(request("/agents/echo", b"{}", ["Transfer-Encoding: chunked"]), id="a length and chunks"),
    ],
)
def test_what_is_not_http_gets_a_problem(gateway: Gateway, data: bytes) -> None:
    problem_in(ask(gateway, data), 400, "BAD_REQUEST")


def test_a_body_in_broken_chunks_is_refused(gateway: Gateway) -> None:
    problem_in(ask(gateway, post(*JSON_CHUNKS), b"5\r\n{}   \r\nsix\r\n"), 400, "BAD_REQUEST")


@steady
@given(st.binary(max_size=200))
def test_whatever_the_bytes_are_the_answer_is_a_problem_or_none(gateway: Gateway, data: bytes) -> None:
    response = ask(gateway, data)
    if response is not None:
        problem_in(response, 400, "BAD_REQUEST")


PIECES = st.sampled_from([b"GET ", b"POST ", b"/agents", b"/", b" HTTP/1.1", b"\r\n", b"\n", b":", b"Host: localhost"])
HEADS = st.sampled_from([b"Content-Length: 2", b"Transfer-Encoding: chunked", b"Upgrade: h2c", b"Connection: Upgrade"])


@steady
@given(st.lists(PIECES | HEADS | st.binary(max_size=3), max_size=14))
def test_nearly_http_is_answered_or_closed_too(gateway: Gateway, pieces: list[bytes]) -> None:
    response = ask(gateway, b"".join(pieces))
    assert response is None or response.status_code in (200, 400, 403, 404, 405, 415)


def test_garbage_behind_a_request_does_not_get_into_its_answer(gateway: Gateway) -> None:
    with Connection(gateway) as connection:
        came = connection.send(run_request("demo", run_input("slow 600"))).until(b"TEXT_MESSAGE_CONTENT")
        came += connection.send(b"\x00garbage\r\n\r\n").rest()
    assert came.count(b"HTTP/1.1") == 1
    assert b"problem" not in came


# -- several requests


def test_requests_sent_at_once_are_answered_in_turn(gateway: Gateway) -> None:
    with Connection(gateway) as connection:
        connection.send(request("/agents/echo") + request("/agents/demo") + request("/nowhere"))
        answers = [connection.answer() for _ in range(3)]
    assert [answer.json().get("id") for answer in answers] == ["echo", "demo", None]


def test_a_stream_and_then_a_question_on_one_connection(gateway: Gateway) -> None:
    with Connection(gateway) as connection:
        stream = connection.send(run_request("echo", run_input("one"))).answer("POST")
        assert text_of(events_of(stream.text)) == "one "
        assert connection.send(request("/agents/echo")).answer().json()["id"] == "echo"


# -- an offer to upgrade: Java's own client makes one with every request

OFFER = ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAEAAEAAAAIAAAABAAMAAABkAAQBAAAA"]


def test_a_body_arrives_though_an_offer_came_with_it(gateway: Gateway) -> None:
    with Connection(gateway) as connection:
        for token in ("one", "two"):
            answer = connection.send(run_request("echo", run_input(token), OFFER)).answer("POST")
            assert text_of(events_of(answer.text)) == f"{token} "


def test_a_body_that_comes_after_its_headers_arrives_too(gateway: Gateway) -> None:
    body = json.dumps(run_input("hello")).encode()
    head = post(*OFFER, *JSON_CHUNKS)
    with Connection(gateway) as connection:
        chunks = [b"%x\r\n%b\r\n" % (len(part), part) for part in (body[:50], body[50:])]
        connection.send(head[:40], head[40:], *chunks, b"0\r\n\r\n")
        assert text_of(events_of(connection.answer("POST").text)) == "hello "


def test_requests_with_offers_may_be_sent_at_once(gateway: Gateway) -> None:
    with Connection(gateway) as connection:
        connection.send(request("/agents/echo", headers=OFFER) * 500)
        assert [connection.answer().json()["id"] for _ in range(500)] == ["echo"] * 500


def test_an_offer_to_become_a_websocket_where_there_is_none_is_answered_as_plain_http(gateway: Gateway) -> None:
    lines = ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13", "Sec-WebSocket-Key: eA=="]
    with Connection(gateway) as connection:
        for _ in range(2):
            assert connection.send(request("/agents/echo", headers=lines)).answer().json()["id"] == "echo"


# -- a client that is still sending

LATE = b"x" * (LINGER_BYTES - 1000)


@pytest.mark.parametrize("connection_header", [[CLOSE], []], ids=["close", "keep open"])
def test_the_answer_reaches_a_client_that_is_still_sending_its_body(
    gateway: Gateway, connection_header: list[str]
) -> None:
    """The gateway refuses after the headers. Closed at once, the connection would be reset under the client's body."""
    lines = [*connection_header, "Content-Type: application/json", f"Content-Length: {len(LATE)}"]
    head = request("/agents/nobody", headers=lines, method="POST")
    port = urlsplit(gateway.url).port
    with socket.create_connection(("127.0.0.1", port), 30) as sock:
        sock.sendall(head)
        came = sock.recv(65536)
        assert came.startswith(b"HTTP/1.1 404"), came
        for start in range(0, len(LATE), 20_000):
            sock.sendall(LATE[start : start + 20_000])  # no reset
        if connection_header:
            while piece := sock.recv(65536):
                came += piece
            assert b"UNKNOWN_AGENT" in came


def test_a_client_that_goes_on_sending_is_closed_after_a_while(gateway: Gateway) -> None:
    head = request("/agents/nobody", headers=[CLOSE, "Content-Length: 1000"], method="POST")
    port = urlsplit(gateway.url).port
    with socket.create_connection(("127.0.0.1", port), 30) as sock:
        sock.sendall(head)
        while sock.recv(65536):
            pass
        started = time.monotonic()
        with pytest.raises(ConnectionError):
            while time.monotonic() < started + LINGER_SECONDS + 20:
                sock.sendall(b"x")
                time.sleep(0.05)
