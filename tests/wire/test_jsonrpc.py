"""JSON-RPC both ways: who asks, who answers, and what is neither."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.errors import AgentFault
from gateway.wire.fields import MESSAGE_MAX_DEPTH
from gateway.wire.jsonrpc import (
    INTERNAL_ERROR,
    MIN_BATCH_LINES,
    Fault,
    Id,
    Incoming,
    JsonRpc,
    Noise,
    Notification,
    Request,
    Response,
)
from gateway.wire.lines import Lines, TooLong

NUMBERS = st.integers(-(2**53), 2**53) | st.floats(allow_nan=False, allow_infinity=False)
VALUES = st.recursive(
    st.none() | st.booleans() | NUMBERS | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)
IDS = st.integers(0, 3) | st.text(max_size=3) | st.none()
MEMBERS = st.fixed_dictionaries(
    {},
    optional={"jsonrpc": st.just("2.0"), "id": IDS | VALUES, "method": st.text(max_size=5) | VALUES, "params": VALUES}
    | {"result": VALUES, "error": VALUES},
)
MESSAGES = st.lists(MEMBERS | st.lists(MEMBERS, max_size=3) | VALUES, max_size=6)
CUTS = st.lists(st.integers(0, 2000), max_size=10)


def rpc_with_open(*methods: str) -> JsonRpc:
    """A connection that waits for answers to 0, 1, 2…"""
    rpc = JsonRpc()
    for method in methods:
        rpc.request(method, {})
    return rpc


def one(message: Any, rpc: JsonRpc | None = None) -> Incoming:
    line = message if isinstance(message, bytes) else json.dumps(message).encode()
    (found,) = (rpc or JsonRpc()).read([line])
    return found


def noise_reason(message: Any, rpc: JsonRpc | None = None) -> str:
    found = one(message, rpc)
    assert isinstance(found, Noise)
    return found.why


# -- in any cut


@given(MESSAGES, CUTS)
def test_any_cut_of_the_bytes_gives_the_same_messages(messages: list[Any], places: list[int]) -> None:
    data = b"".join(json.dumps(message).encode() + b"\n" for message in messages)
    edges = [0, *sorted(min(place, len(data)) for place in places), len(data)]
    lines, rpc = Lines(10_000), rpc_with_open("a", "b", "c")
    found = [m for at, to in zip(edges, edges[1:], strict=False) for m in rpc.read(lines.feed(data[at:to]))]
    assert found == rpc_with_open("a", "b", "c").read(Lines(10_000).feed(data))


@given(st.binary())
def test_no_bytes_are_fatal_and_none_are_dropped(data: bytes) -> None:
    lines = Lines(1000).feed(data + b"\n")
    assert len(JsonRpc().read(lines)) >= len(lines)


@given(VALUES, IDS)
def test_what_one_side_writes_the_other_reads(params: Any, request_id: Id) -> None:
    here, there = JsonRpc(), JsonRpc()
    number, line = here.request("session/prompt", params)
    assert there.read([line]) == [Request(number, "session/prompt", params)]
    assert there.read([here.notification("session/cancel", params)]) == [Notification("session/cancel", params)]
    assert here.read([there.result(number, params)]) == [Response(number, "session/prompt", params)]


@given(VALUES)
def test_a_message_is_one_line(params: Any) -> None:
    _, line = JsonRpc().request("any", params)
    assert line.endswith(b"\n") and line.count(b"\n") == 1


# -- the peer's requests and notifications


@pytest.mark.parametrize("request_id", [0, 7, -1, "7", "", None])
def test_a_request_keeps_its_id_and_the_ids_type(request_id: Id) -> None:
    request = one({"jsonrpc": "2.0", "id": request_id, "method": "fs/read", "params": {"path": "/x"}})
    assert request == Request(request_id, "fs/read", {"path": "/x"})
    assert json.loads(JsonRpc().result(request_id, {}))["id"] == request_id


@pytest.mark.parametrize("params", [None, [], {}, {"a": 1}])
def test_a_notification_has_any_params(params: Any) -> None:
    assert one({"method": "session/update", "params": params}) == Notification("session/update", params)
    assert one({"method": "session/update"}) == Notification("session/update", None)


def test_a_batch_counts_element_by_element() -> None:
    batch = [{"method": "a"}, {"id": 1, "method": "b"}, {"id": 0, "result": 2}, 3]
    line = json.dumps(batch).encode()
    assert rpc_with_open("x").read([line]) == [
        Notification("a", None),
        Request(1, "b", None),
        Response(0, "x", 2),
        Noise(line, "neither a request nor an answer"),
    ]


# -- what the peer answers


def test_answers_come_in_any_order_with_their_methods() -> None:
    rpc = rpc_with_open("initialize", "session/new")
    assert one({"id": 1, "result": {"sessionId": "s"}}, rpc) == Response(1, "session/new", {"sessionId": "s"})
    assert rpc.waiting == 1
    assert one({"id": 0, "result": None}, rpc) == Response(0, "initialize", None)
    assert rpc.waiting == 0


def test_an_error_is_an_answer() -> None:
    error = {"code": -32000, "message": "Authentication required", "data": {"hint": "login"}}
    fault = Fault(-32000, "Authentication required", {"hint": "login"})
    assert one({"id": 0, "error": error}, rpc_with_open("x")) == Response(0, "x", None, fault)


@pytest.mark.parametrize(
    ("error", "fault"),
    [
        ("boom", Fault(INTERNAL_ERROR, "boom", "boom")),
        ([1], Fault(INTERNAL_ERROR, "", [1])),
        ({}, Fault(INTERNAL_ERROR, "")),
        ({"code": "E1", "message": "no"}, Fault(INTERNAL_ERROR, "no")),
        ({"code": 400, "message": None}, Fault(400, "")),
    ],
)
def test_an_error_of_any_shape_is_an_error(error: Any, fault: Fault) -> None:
    assert one({"id": 0, "error": error}, rpc_with_open("x")) == Response(0, "x", None, fault)


def test_an_error_that_is_null_is_none() -> None:
    assert one({"id": 0, "result": 1, "error": None}, rpc_with_open("x")) == Response(0, "x", 1)


@pytest.mark.parametrize("request_id", [1, -1, "0", None, False, 0.0, [0], {"0": 0}])
def test_an_answer_to_no_open_request_is_noise(request_id: Any) -> None:
    rpc = rpc_with_open("x")
    assert (
        noise_reason({"id": request_id, "result": {}}, rpc)
        == "an answer to a request that was not sent, or is answered already"
    )
    assert rpc.waiting == 1


def test_a_second_answer_is_noise() -> None:
    rpc = rpc_with_open("x")
    assert isinstance(one({"id": 0, "result": 1}, rpc), Response)
    assert isinstance(one({"id": 0, "result": 2}, rpc), Noise)


def test_an_answer_to_a_forgotten_request_is_noise() -> None:
    rpc = rpc_with_open("x")
    rpc.forget(0)
    rpc.forget(0)
    assert isinstance(one({"id": 0, "result": 1}, rpc), Noise)


# -- what is neither


@pytest.mark.parametrize(
    "message",
    [
        {"error": {"code": -32601, "message": "codex-acp-zed answers notifications like this"}},
        {"id": 0},
        {"method": 7},
        {"id": 1.5, "method": "a request whose id no answer could carry back"},
        {"id": [0], "method": "x"},
        {},
        [],
        [[{"method": "a batch within a batch"}]],
        "text",
        7,
        None,
    ],
    ids=str,
)
def test_what_is_neither_request_nor_answer_is_noise(message: Any) -> None:
    assert noise_reason(message, rpc_with_open("x")) == "neither a request nor an answer"


@pytest.mark.parametrize("line", [b"Welcome to otter!", b'{"method": ', b"\xff\xfe", b'{"a": NaN}', b"[" * 100_000])
def test_what_is_not_json_is_noise(line: bytes) -> None:
    assert one(line) == Noise(line, "not JSON, or nested too deep")


@pytest.mark.parametrize("shape", ["%s", '{"id": 0, "error": %s}', '{"id": %s, "result": 1}', '{"method": %s}'])
def test_deep_nesting_is_not_fatal(shape: str) -> None:
    line = (shape % ("[" * 1000 + "]" * 1000)).encode()
    assert isinstance(one(line, rpc_with_open("x")), Noise | Response)


@pytest.mark.parametrize("line_count", [1, MIN_BATCH_LINES])
def test_a_message_that_no_event_could_carry_is_noise(line_count: int) -> None:
    def nested(levels: int) -> bytes:
        return b'{"method":"x","params":%b%b}' % (b"[" * (levels - 1), b"]" * (levels - 1))

    good = nested(MESSAGE_MAX_DEPTH)
    deep = nested(MESSAGE_MAX_DEPTH + 1)
    *others, last = JsonRpc().read([good] * (line_count - 1) + [deep])
    assert last == Noise(deep, "not JSON, or nested too deep")
    assert all(isinstance(message, Notification) for message in others)
    assert isinstance(one(good), Notification)


def test_a_line_that_was_too_long_is_noise_with_its_start() -> None:
    noise = JsonRpc().read([TooLong(99, b'{"method"')])
    assert noise == [Noise(b'{"method"', "a line of 99 bytes, longer than the limit")]


def test_half_a_surrogate_and_a_large_number_are_read_as_javascript_does() -> None:
    assert one(rb'{"method": "x", "params": "\ud83d"}') == Notification("x", "\ud83d")
    assert one(b'{"method": "x", "params": 123456789012345678901}') == Notification("x", 1.2345678901234568e20)


# -- what we send


def test_requests_are_numbered_and_remembered() -> None:
    rpc = JsonRpc()
    assert rpc.request("a", {}) == (0, b'{"jsonrpc":"2.0","id":0,"method":"a","params":{}}\n')
    assert rpc.request("b", None) == (1, b'{"jsonrpc":"2.0","id":1,"method":"b","params":null}\n')
    assert rpc.waiting == 2


def test_a_request_that_cannot_be_written_is_not_waited_for() -> None:
    rpc = JsonRpc()
    with pytest.raises(AgentFault):
        rpc.request("a", {"x": object()})
    assert rpc.waiting == 0


def test_an_error_answer_carries_data_only_when_there_is_some() -> None:
    bare = json.loads(JsonRpc().error(3, -32601, "no such method"))
    assert bare == {"jsonrpc": "2.0", "id": 3, "error": {"code": -32601, "message": "no such method"}}
    full = json.loads(JsonRpc().error("x", -32602, "bad", {"at": "/path"}))
    assert full["error"] == {"code": -32602, "message": "bad", "data": {"at": "/path"}}
