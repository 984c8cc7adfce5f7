"""Any valid event survives protobuf, but for what the format cannot hold."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from ag_ui.core import Event
from hypothesis import given
from hypothesis import strategies as st
from pydantic import TypeAdapter

from gateway import jsonio
from gateway.encode.protobuf import encoder
from gateway.encode.protobuf.decoder import FrameDecoder, decode
from tests.encode.wire_events import BY_TYPE, events, tried, tried_briefly

OFFICIAL: TypeAdapter[Any] = TypeAdapter(Event)


def surviving(event: dict[str, Any]) -> dict[str, Any]:
    """The event as the format can hold it: empty lists go, the input's lists come."""
    event = dict(event)
    if event.get("usage") == []:
        del event["usage"]
    if "outcome" in event:
        lists = ("pendingToolCallIds", "interruptIds")
        outcome = event["outcome"]
        event["outcome"] = {key: value for key, value in outcome.items() if key not in lists or value}
    if "messages" in event:
        event["messages"] = [without_empty_calls(message) for message in event["messages"]]
    if "input" in event:
        event["input"] = {"tools": [], "context": [], "resume": []} | surviving(event["input"])
    return event


def without_empty_calls(message: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in message.items() if key != "toolCalls" or value}


def canonical(value: Any) -> bytes:
    """Bytes to compare by: keys sorted, whole numbers without a point, and true is not 1."""
    return orjson.dumps(_whole(value), option=orjson.OPT_SORT_KEYS)


def _whole(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _whole(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_whole(item) for item in value]
    return int(value) if isinstance(value, float) and value.is_integer() and abs(value) <= 2**53 else value


@pytest.mark.parametrize("kind", sorted(BY_TYPE))
@tried_briefly
@given(data=st.data())
def test_an_event_survives_protobuf(kind: str, data: st.DataObject) -> None:
    event = data.draw(BY_TYPE[kind])
    assert canonical(decode(encoder.encode_frame(event)[4:])) == canonical(surviving(event))


@tried
@given(st.lists(events, max_size=4))
def test_a_batch_survives_protobuf(batch: list[dict[str, Any]]) -> None:
    decoder = FrameDecoder()
    assert [canonical(event) for event in decoder.feed(encoder.encode_frames(batch))] == [
        canonical(surviving(event)) for event in batch
    ]
    decoder.eof()


@tried
@given(events)
def test_an_event_survives_json(event: dict[str, Any]) -> None:
    assert canonical(jsonio.loads(jsonio.dumps(event))) == canonical(event)


@tried
@given(events)
def test_these_events_are_valid_by_the_official_models(event: dict[str, Any]) -> None:
    assert OFFICIAL.validate_python(event).type == event["type"]


def test_all_31_types_are_tried() -> None:
    assert len(BY_TYPE) == 31
