from __future__ import annotations

import pytest

from gateway import jsonio
from gateway.encode import sse
from gateway.encode.negotiate import ENCODERS, accepts, negotiate
from gateway.encode.protobuf import encoder
from gateway.errors import AgentFault

PROTO = "application/vnd.ag-ui.event+proto"


@pytest.mark.parametrize(
    "accept",
    [
        PROTO,
        PROTO.upper(),
        f" {PROTO} ",
        f"text/event-stream, {PROTO}",
        f"{PROTO}, text/event-stream",
        f"text/event-stream;q=1, {PROTO};q=0.001",
        f"{PROTO};q=1.000",
        f"{PROTO} ; Q = 0.5",
        f"{PROTO};version=1",
        f'{PROTO};note="a, b;q=0"',
        f"{PROTO};q=0, {PROTO}",
        f",, {PROTO} ,",
    ],
)
def test_a_client_that_names_protobuf_gets_it(accept: str) -> None:
    assert negotiate(accept).name == "protobuf"


@pytest.mark.parametrize(
    "accept",
    [
        None,
        "",
        "*/*",
        "application/*",
        "text/event-stream",
        "application/json",
        "text/html, */*;q=0.8",
        f"{PROTO};q=0",
        f"{PROTO};q=0.000",
        f"*/*, {PROTO};q=0",
        f"{PROTO}x",
        "application/vnd.ag-ui.event",
        f'text/html;note="{PROTO}"',
        f'text/html;note=", {PROTO},"',
        f'"{PROTO}',
        ";;;,,,",
        "\0",
    ],
)
def test_everyone_else_gets_sse(accept: str | None) -> None:
    assert negotiate(accept).name == "sse"


@pytest.mark.parametrize("q", ["", "banana", "-1", "1.5", "2", "nan", "inf", "1e-1", "٠.٥", '"1"'])
def test_a_q_that_is_no_number_from_0_to_1_counts_as_0(q: str) -> None:
    assert negotiate(f"{PROTO};q={q}").name == "sse"


def test_the_content_types_are_exact() -> None:
    assert ENCODERS["sse"].content_type == "text/event-stream"
    assert ENCODERS["protobuf"].content_type == PROTO


def test_only_sse_has_a_keep_alive() -> None:
    assert ENCODERS["sse"].keep_alive == sse.KEEP_ALIVE
    assert ENCODERS["protobuf"].keep_alive is None


def test_each_name_is_the_encoders_own() -> None:
    assert {name: encoder.name for name, encoder in ENCODERS.items()} == {"sse": "sse", "protobuf": "protobuf"}


@pytest.mark.parametrize(
    ("accept", "named"),
    [("text/csv", True), ("*/*, TEXT/CSV;q=0.2", True), ("text/*", False), ("text/csv;q=0", False), (None, False)],
)
def test_any_type_can_be_named_or_refused(accept: str | None, named: bool) -> None:
    assert accepts(accept, "text/csv") is named


EVENTS = [
    {"type": "TEXT_MESSAGE_START", "messageId": "m"},
    {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "é"},
]
LINES = [jsonio.dumps(event) for event in EVENTS]


def test_sse_frames_the_lines_as_they_are() -> None:
    assert ENCODERS["sse"].encode(5, LINES, EVENTS) == sse.encode_frames(5, LINES)


def test_protobuf_has_the_same_bytes_with_and_without_the_objects() -> None:
    encode = ENCODERS["protobuf"].encode
    assert encode(5, LINES, EVENTS) == encode(5, LINES, None) == encoder.encode_frames(EVENTS)


def test_protobuf_prefers_the_objects() -> None:
    with pytest.raises(AgentFault, match="'NEW'"):
        ENCODERS["protobuf"].encode(1, LINES[:1], [{"type": "NEW"}])
