from __future__ import annotations

import copy

import pytest
from hypothesis import given

from gateway.agui.chunks import BadChunk, Chunks
from gateway.agui.ordering import Order, OutOfOrder
from gateway.agui.validate import EVENT_TYPES
from gateway.events import Wire
from tests.agui.streams import CHUNKS, runs, steady, streams

FIRST: Wire = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "one"}
END: Wire = {"type": "TEXT_MESSAGE_END", "messageId": "m"}


def expanded(*events: Wire) -> list[Wire]:
    chunks = Chunks()
    return [out for event in events for out in chunks.feed(event)]


def test_the_first_chunk_opens_the_message_as_the_assistants() -> None:
    assert expanded(FIRST) == [
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "assistant"},
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "one"},
    ]


def test_a_first_chunk_without_text_only_opens() -> None:
    assert expanded({"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "role": "user", "name": "Ann"}) == [
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "role": "user", "name": "Ann"}
    ]


def test_a_later_chunk_needs_no_id() -> None:
    assert expanded(FIRST, {"type": "TEXT_MESSAGE_CHUNK", "delta": "two"})[2:] == [
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "two"}
    ]


def test_a_later_chunk_may_repeat_the_fields_of_the_first() -> None:
    again: Wire = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "role": "assistant", "delta": ""}
    assert expanded(FIRST, again)[2:] == [{"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": ""}]


def test_an_empty_later_chunk_makes_no_event() -> None:
    assert expanded(FIRST, {"type": "TEXT_MESSAGE_CHUNK"})[2:] == []


def test_a_tool_call_is_opened_with_its_name_and_message() -> None:
    chunk: Wire = {
        "type": "TOOL_CALL_CHUNK",
        "toolCallId": "c",
        "toolCallName": "f",
        "parentMessageId": "m",
        "delta": "{}",
        "subagentRunId": "s",
    }
    assert expanded(chunk, {"type": "TOOL_CALL_CHUNK", "delta": "!"}) == [
        {
            "type": "TOOL_CALL_START",
            "toolCallId": "c",
            "toolCallName": "f",
            "parentMessageId": "m",
            "subagentRunId": "s",
        },
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}", "subagentRunId": "s"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "!", "subagentRunId": "s"},
    ]


def test_a_reasoning_message_is_opened_with_the_role_that_it_must_have() -> None:
    assert expanded({"type": "REASONING_MESSAGE_CHUNK", "messageId": "", "delta": "x"}) == [
        {"type": "REASONING_MESSAGE_START", "messageId": "", "role": "reasoning"},
        {"type": "REASONING_MESSAGE_CONTENT", "messageId": "", "delta": "x"},
    ]


def test_metadata_goes_on_both_and_the_raw_event_on_the_content() -> None:
    chunk = {**FIRST, "metadata": {"k": 1}, "rawEvent": {"raw": True}, "timestamp": 7}
    start, content = expanded(chunk)
    assert start == {
        "type": "TEXT_MESSAGE_START",
        "messageId": "m",
        "role": "assistant",
        "metadata": {"k": 1},
        "timestamp": 7,
    }
    assert content == {**chunk, "type": "TEXT_MESSAGE_CONTENT"}


@pytest.mark.parametrize("field", ["metadata", "rawEvent"])
def test_a_later_chunk_with_only_metadata_or_a_raw_event_becomes_empty_content(field: str) -> None:
    chunk: Wire = {"type": "TEXT_MESSAGE_CHUNK", field: {"finish": "stop"}}
    assert expanded(FIRST, chunk)[2:] == [
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "", field: {"finish": "stop"}}
    ]


@pytest.mark.parametrize(
    "other",
    [
        {"type": "TEXT_MESSAGE_CHUNK", "messageId": "n"},
        {"type": "TOOL_CALL_CHUNK", "toolCallId": "m", "toolCallName": "f"},
        {"type": "REASONING_MESSAGE_CHUNK", "messageId": "m"},
    ],
    ids=lambda other: str(other["type"]),
)
def test_another_id_or_another_kind_closes_first(other: Wire) -> None:
    assert expanded(FIRST, other)[2] == END


UNTOUCHED = {"RAW", "ACTIVITY_SNAPSHOT", "ACTIVITY_DELTA", "REASONING_ENCRYPTED_VALUE", "SUBAGENT_STARTED"}
ALL_OWNERS = {"RUN_STARTED", "RUN_FINISHED", "RUN_ERROR", "MESSAGES_SNAPSHOT"}
S_END: Wire = {"type": "TEXT_MESSAGE_END", "messageId": "n", "subagentRunId": "s"}


@pytest.mark.parametrize("kind", sorted(EVENT_TYPES - set(CHUNKS)))
def test_an_event_closes_its_owners_stream_all_streams_or_none(kind: str) -> None:
    chunks = Chunks()
    chunks.feed(FIRST)
    chunks.feed({"type": "TEXT_MESSAGE_CHUNK", "messageId": "n", "subagentRunId": "s"})
    event: Wire = {"type": kind, "subagentRunId": "s"} if kind not in ALL_OWNERS else {"type": kind}
    if kind in UNTOUCHED:
        assert chunks.feed(event) == [event]
    elif kind in ALL_OWNERS:
        assert chunks.feed(event) == [END, S_END, event]
    else:
        assert chunks.feed(event) == [S_END, event]
        assert chunks.feed({"type": "CUSTOM"}) == [END, {"type": "CUSTOM"}]


def test_a_chunk_without_id_or_tag_goes_to_the_only_stream_of_its_kind() -> None:
    s: Wire = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "n", "subagentRunId": "s"}
    tool: Wire = {"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "f"}
    assert expanded(s, tool, {"type": "TEXT_MESSAGE_CHUNK", "delta": "x"})[-1] == {
        "type": "TEXT_MESSAGE_CONTENT",
        "messageId": "n",
        "delta": "x",
        "subagentRunId": "s",
    }


def test_a_chunk_with_an_id_goes_to_the_owner_that_has_it() -> None:
    s: Wire = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "n", "subagentRunId": "s"}
    untagged: Wire = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "n", "delta": "x"}
    assert expanded(s, untagged)[-1]["subagentRunId"] == "s"


def test_a_bad_chunk_is_reported_with_its_type_and_id_and_leaves_no_trace() -> None:
    chunks = Chunks()
    chunks.feed(FIRST)
    with pytest.raises(BadChunk, match="TOOL_CALL_CHUNK .*toolCallName"):
        chunks.feed({"type": "TOOL_CALL_CHUNK", "toolCallId": "c"})
    with pytest.raises(BadChunk, match="TEXT_MESSAGE_CHUNK .*'user'.*'m'"):
        chunks.feed({"type": "TEXT_MESSAGE_CHUNK", "role": "user"})
    assert chunks.feed({"type": "TEXT_MESSAGE_CHUNK", "delta": "two"}) == [
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "two"}
    ]


def test_an_unknown_event_passes_and_closes_nothing() -> None:
    assert expanded(FIRST, {"type": "FUTURE_EVENT"})[2:] == [{"type": "FUTURE_EVENT"}]


@steady
@given(streams())
def test_no_chunk_comes_out_and_nothing_else_is_changed(events: list[Wire]) -> None:
    chunks = Chunks()
    for event in events:
        before = copy.deepcopy(event)
        try:
            out = chunks.feed(event)
        except BadChunk:
            assert event["type"] in CHUNKS
            continue
        assert not {wire["type"] for wire in out} & set(CHUNKS)
        assert event["type"] in CHUNKS or out[-1] is event
        assert event == before


@steady
@given(runs(*CHUNKS))
def test_chunks_alone_always_expand_into_an_order_that_may_finish(events: list[Wire]) -> None:
    chunks, order = Chunks(), Order()
    for event in [*events, {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}]:
        try:
            out = chunks.feed(event)
        except BadChunk:
            continue
        for wire in out:
            try:
                order.accept(wire)
            except OutOfOrder as exc:
                # Two lanes may claim one id one after the other, or a call may be put into another's message:
                # that is about owners, which are not expansion's concern.
                assert exc.rule in {"V17", "V18", "V19"}
                return
    assert order.phase == "finished"
