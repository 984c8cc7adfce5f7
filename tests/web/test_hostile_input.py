"""Whatever a client sends, it gets a problem or a stream in order: never a traceback, never silence, never a hang."""

from __future__ import annotations

import json
from collections.abc import Iterator
from itertools import count
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.agui.streams import steady
from tests.agui.test_inbound_any import broken, inputs, json_values
from tests.support.gateway import Gateway, events_of, run_input
from tests.web.event_order import well_ordered
from tests.web.problem import problem_in
from tests.web.raw import Connection, ask, request

ROUTES = ["/agents/echo", "/agents/demo", "/copilotkit/agent/demo/run", "/copilotkit/agent/echo/connect"]
REFUSED = {400: {"NOT_JSON"}, 413: {"TOO_LARGE"}, 422: {"INVALID_INPUT", "CAPABILITY_ERROR"}}
NAMES = count()
paths = st.sampled_from(ROUTES)


@pytest.fixture(autouse=True)
def nothing_broke(gateway: Gateway) -> Iterator[None]:
    """An agent may be made to fail; the gateway may not."""
    before = len(gateway.log.read_bytes())
    yield
    output = gateway.log.read_bytes()[before:]
    assert b"Traceback" not in output, output.decode(errors="replace")
    assert gateway.client.get("/readyz").json()["status"] == "ready"


def post(gateway: Gateway, path: str, body: bytes) -> httpx.Response:
    return gateway.client.post(path, content=body, headers={"content-type": "application/json"})


def fits(path: str, response: httpx.Response) -> bool:
    """Is this an answer that a client can live with?"""
    if response.status_code != 200:
        problem_in(response, response.status_code, response.json()["code"])
        return response.json()["code"] in REFUSED[response.status_code]
    events = events_of(response.text)
    return well_ordered(events) or (path.endswith("/connect") and not events)


def quoted(text: str) -> bytes:
    return b"".join(b"%%%02x" % byte for byte in text.encode("utf-8", "surrogatepass"))


def own_thread(body: Any) -> Any:
    """Examples must not meet: a run that waits for an answer would change what the next one gets."""
    if isinstance(body, dict) and isinstance(body.get("threadId"), str) and body["threadId"]:
        return body | {"threadId": f"{body['threadId']}-{next(NAMES)}"[-500:]}
    return body


@steady
@given(paths, st.binary(max_size=300))
def test_any_bytes(gateway: Gateway, path: str, body: bytes) -> None:
    response = post(gateway, path, body)
    assert response.status_code in (400, 422)
    assert fits(path, response)


@steady
@given(paths, json_values)
def test_any_json(gateway: Gateway, path: str, body: Any) -> None:
    assert fits(path, post(gateway, path, json.dumps(body).encode()))


@steady
@given(paths, inputs)
def test_any_valid_input(gateway: Gateway, path: str, body: Any) -> None:
    response = post(gateway, path, json.dumps(own_thread(body)).encode())
    assert fits(path, response)


@steady
@given(paths, broken())
def test_a_valid_input_with_something_broken(gateway: Gateway, path: str, body: Any) -> None:
    assert fits(path, post(gateway, path, json.dumps(own_thread(body)).encode()))


@steady
@given(paths, inputs, st.data())
def test_a_valid_input_that_was_cut_off(gateway: Gateway, path: str, body: Any, data: st.DataObject) -> None:
    whole = json.dumps(body).encode()
    cut = whole[: data.draw(st.integers(0, len(whole) - 1))]
    problem_in(post(gateway, path, cut), 400, "NOT_JSON")


@steady
@given(paths, inputs, st.data())
def test_a_valid_input_with_a_byte_changed(gateway: Gateway, path: str, body: Any, data: st.DataObject) -> None:
    whole = bytearray(json.dumps(own_thread(body), ensure_ascii=False).encode("utf-8", "surrogatepass"))
    whole[data.draw(st.integers(0, len(whole) - 1))] = data.draw(st.integers(0, 255))
    assert fits(path, post(gateway, path, bytes(whole)))


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize("depth", [100, 500, 5_000, 1_000_000])
@pytest.mark.parametrize(("opens", "closes"), [(b"[", b"]"), (b'{"a":', b"}"), (b"[", b"")])
def test_deep_json(gateway: Gateway, path: str, depth: int, opens: bytes, closes: bytes) -> None:
    state = opens * depth + b"1" + closes * depth
    body = json.dumps(run_input(state=0)).encode().replace(b'"state": 0', b'"state": ' + state)
    response = post(gateway, path, body)
    assert fits(path, response)
    # A million levels are refused before they are parsed (max_body_items).
    assert response.status_code == (413 if depth == 1_000_000 else 200 if closes and depth == 100 else 400)


@pytest.mark.parametrize("path", ROUTES)
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("\ufeff{}", id="a byte order mark"),
        pytest.param('{"threadId": NaN}', id="NaN"),
        pytest.param('{"threadId": 1e999}', id="a number beyond all"),
        pytest.param("1" * 10_000, id="a number of ten thousand digits"),
        pytest.param('{"threadId":"t","threadId":"\\ud800","runId":"r","messages":[]}', id="half a letter"),
        pytest.param('{"threadId":"\\u0000","runId":"r","messages":[]}', id="a zero"),
        pytest.param('{"' + "k" * 100_000 + '": 1}', id="a long key"),
        pytest.param("{" + ",".join(f'"k{n}":1' for n in range(10_000)) + "}", id="many keys"),
        pytest.param('{"threadId":"t","runId":"r","messages":' + "[" + "{}," * 40_000 + "{}]}", id="many problems"),
        pytest.param("'single'", id="no JSON"),
        pytest.param("null", id="null"),
        pytest.param("", id="nothing"),
    ],
)
def test_odd_json(gateway: Gateway, path: str, text: str) -> None:
    response = post(gateway, path, text.encode())
    assert response.status_code in (400, 422)
    assert fits(path, response)
    assert len(response.content) < 20_000


def test_a_body_of_a_hundred_megabytes(gateway: Gateway) -> None:
    def pieces() -> Iterator[bytes]:
        yield from [b" " * 1_000_000] * 100

    headers = {"content-type": "application/json"}
    problem_in(gateway.client.post("/agents/echo", content=pieces(), headers=headers), 413, "TOO_LARGE")


def test_a_body_that_claims_to_be_larger_than_any_disk(gateway: Gateway) -> None:
    head = ["Content-Type: application/json", f"Content-Length: {2**62}"]
    problem_in(ask(gateway, request("/agents/echo", headers=head, method="POST"), b"{"), 413, "TOO_LARGE")


def test_a_prompt_of_eight_megabytes_comes_back_whole(gateway: Gateway) -> None:
    events = gateway.run("echo", "x" * 8_000_000)
    assert well_ordered(events)
    assert sum(len(event.get("delta", "")) for event in events) == 8_000_001


@pytest.mark.parametrize("where", ["headers", "body"])
def test_a_client_that_sends_a_byte_now_and_then(small: Gateway, where: str) -> None:
    data = request("/agents/echo", json.dumps(run_input()).encode())
    at_once = 1 if where == "headers" else data.index(b"\r\n\r\n") + 4
    with Connection(small) as connection:
        connection.send(data[:at_once]).trickle(data[at_once:], pause=0.1)
        assert where in problem_in(connection.answer("POST"), 408, "TOO_SLOW")["detail"]


METHODS = st.sampled_from(["GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "HEAD"])
TEXTS = "agents demo capabilities runs events cancel copilotkit agent stop info"
STEPS = st.sampled_from(TEXTS.split())


@steady
@given(METHODS, st.lists(STEPS | st.text(max_size=8), max_size=5))
def test_any_method_on_any_path(gateway: Gateway, method: str, steps: list[str]) -> None:
    path = b"/" + b"/".join(quoted(step) for step in steps)
    with Connection(gateway) as connection:
        response = connection.send(request(path.decode(), method=method)).answer(method)
    assert response.status_code in (200, 307, 400, 404, 405, 415)  # 400: a control character
    if response.status_code >= 400 and method != "HEAD":
        problem_in(response, response.status_code, response.json()["code"])


HEADERS = ["accept", "origin", "host", "if-none-match", "last-event-id", "content-type", "authorization"]


@steady
@given(st.sampled_from(HEADERS), st.text(max_size=40))
def test_any_header(gateway: Gateway, name: str, value: str) -> None:
    line = f"{name}: ".encode() + bytes(ord(character) % 256 for character in value)
    target = b"/agents/echo/capabilities" if name != "last-event-id" else b"/runs/none/events"
    # The client's side stays open: a client that has closed it counts as gone, and may get no response.
    with Connection(gateway) as connection:
        connection.send(b"GET %b HTTP/1.1\r\n%b\r\nHost: localhost\r\nConnection: close\r\n\r\n" % (target, line))
        response = connection.answer()
    assert response.status_code in (200, 304, 400, 403, 404, 422)
