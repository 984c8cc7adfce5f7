from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from gateway.agui.limits import MAX_DELTA_CHARS, check_size, protobuf_bound
from gateway.encode.protobuf.encoder import encode_frame
from gateway.errors import AgentFault, EventTooLarge
from gateway.events import Wire
from gateway.jsonio import dumps
from gateway.settings import Settings
from tests.agui.streams import events, steady

CLIENTS_LIMIT = 10 * 1024 * 1024
"""What the official client takes for one event, in either wire format."""


def custom(value: Any) -> Wire:
    return {"type": "CUSTOM", "name": "n", "value": value}


def test_an_event_of_the_limit_passes_and_one_byte_more_does_not() -> None:
    event = custom("\x00" * 10_000)
    size = len(dumps(event))
    assert size > 60_000
    check_size(event, size)
    with pytest.raises(EventTooLarge, match=f"CUSTOM event of {size} bytes") as refused:
        check_size(event, size - 1)
    assert "max_event_bytes" in refused.value.detail


def test_what_is_small_in_json_may_be_large_in_protobuf() -> None:
    event = custom([1] * 1000)
    assert len(dumps(event)) < 3000
    with pytest.raises(EventTooLarge):
        check_size(event, 3000)


@pytest.mark.parametrize("text", ["ä" + "x" * 10_000, "\N{SNOWMAN}" * 3_000, "\N{GRINNING FACE}" * 2_000])
def test_text_is_not_taken_for_more_than_it_is(text: str) -> None:
    check_size(custom(text), len(text.encode()) + 200)


def test_what_is_not_json_is_the_agents_fault() -> None:
    with pytest.raises(AgentFault, match="CUSTOM event"):
        check_size(custom({1: "a key"}), 1000)


@steady
@given(events())
def test_the_bound_is_never_less_than_what_protobuf_takes(event: Wire) -> None:
    assert protobuf_bound(event) >= len(encode_frame(event))


@pytest.mark.parametrize("value", [[0] * 500, [{}] * 500, [[]] * 500, {str(n): None for n in range(500)}, "ä" * 500])
def test_the_bound_holds_where_protobuf_grows_most(value: Any) -> None:
    assert protobuf_bound(custom(value)) >= len(encode_frame(custom(value)))


def test_the_largest_event_and_the_longest_piece_of_a_delta_are_within_what_clients_take() -> None:
    largest = Settings.model_fields["max_event_bytes"]
    assert largest.default < CLIENTS_LIMIT
    worst = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "\x00" * MAX_DELTA_CHARS}
    assert len(dumps(worst)) < CLIENTS_LIMIT
