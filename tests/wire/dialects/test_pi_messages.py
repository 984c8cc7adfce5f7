"""Messages and tool calls token by token, in every form of pi and omp."""

from __future__ import annotations

from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.events import (
    ActivityDelta,
    ActivitySnapshot,
    Event,
    Raw,
    ReasoningMessageContent,
    TextMessageContent,
    TextMessageEnd,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallResult,
    ToolCallStart,
)
from gateway.wire.dialects.pi import PiRpc
from tests.agui.streams import steady
from tests.wire.dialects.pi_replay import Json
from tests.wire.dialects.test_pi_turns import answer, read, started


def update(kind: str, index: int = 0, **fields: Any) -> Json:
    return {"type": "message_update", "assistantMessageEvent": {"type": kind, "contentIndex": index, **fields}}


def begun() -> PiRpc:
    pi = started()
    read(pi, {"type": "message_start", "message": {"role": "assistant", "content": []}})
    return pi


def delta_line(kind: str, index: int, text: str) -> Json:
    return update(f"{kind}_delta", index, delta=text)


# -- text


def test_a_token_that_is_not_utf_8_is_passed_on_unread() -> None:
    event = b'"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"\xed\xa0\x80","partial":{}}'
    [raw] = begun().read([b'{"type":"message_update",%b}' % event])
    assert isinstance(raw, Raw)


def test_half_a_surrogate_pair_is_text() -> None:
    event = rb'"assistantMessageEvent":{"type":"text_delta","contentIndex":0,"delta":"\ud83d"}'
    [content] = begun().read([b'{"type":"message_update",%b}' % event])
    assert isinstance(content, TextMessageContent) and content.text == "\ud83d"


def test_tokens_that_go_on_need_no_id() -> None:
    events = read(begun(), update("text_start"), delta_line("text", 0, "a"), delta_line("text", 0, "b"))
    assert events == [TextMessageContent("a", "t1:m1.0"), TextMessageContent("b")]


def test_a_block_ends_with_its_event_unless_the_next_has_begun() -> None:
    pi = begun()
    assert read(pi, delta_line("thinking", 0, "hm"), delta_line("text", 1, "a")) == [
        ReasoningMessageContent("hm", "t1:m1.0"),
        TextMessageContent("a", "t1:m1.1"),
    ]
    assert read(pi, update("thinking_end", 0, content="hm")) == [], "the text is open by now"
    assert read(pi, update("text_end", 1, content="a")) == [TextMessageEnd("t1:m1.1")]


def test_a_block_that_goes_on_after_a_call_is_a_second_message() -> None:
    pi = begun()
    events = read(
        pi, delta_line("text", 0, "a"), update("toolcall_start", 1, id="c1", toolName="ls"), delta_line("text", 0, "b")
    )
    assert [event.message_id for event in events if isinstance(event, TextMessageContent)] == ["t1:m1.0", "t1:m1.0.2"]


def test_text_without_deltas_is_sent_when_the_message_is_complete() -> None:
    pi = begun()
    read(pi, delta_line("text", 0, "You "))
    content = [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "You said"}]
    events = pi.read(answer(content=content)[1:])
    assert events == [ReasoningMessageContent("hm", "t1:m1.0.2"), TextMessageContent("said", "t1:m1.0.3")]


def test_text_that_streamed_differently_cannot_be_taken_back() -> None:
    pi = begun()
    read(pi, delta_line("text", 0, "No"))
    assert pi.read(answer(content=[{"type": "text", "text": "Yes!"}])[1:]) == []


def test_an_image_is_shown_beside_the_message() -> None:
    image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    [event] = read(begun(), update("image_end", 0, content=image))
    assert isinstance(event, ActivitySnapshot) and event.type == "content"


@steady
@given(st.text(), st.sampled_from(["text", "thinking"]), st.integers(0, 9))
def test_a_token_with_copies_of_the_message_is_read_like_one_without(text: str, kind: str, index: int) -> None:
    copies = {"partial": {"content": [{"type": "text", "text": text * 3}]}}
    plain, copied = delta_line(kind, index, text), update(f"{kind}_delta", index, delta=text, **copies)
    copied["message"] = copies["partial"]
    assert read(begun(), plain) == read(begun(), copied)


# -- calls


def test_a_call_streams_its_arguments() -> None:
    pi = begun()
    expected = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}}
    events = read(
        pi,
        update("toolcall_start", 0, id="c1", toolName="bash"),
        update("toolcall_delta", 0, delta=""),
        update("toolcall_delta", 0, delta='{"command"'),
        update("toolcall_delta", 0, delta=':"ls"}'),
        update("toolcall_end", 0, toolCall=expected),
    )
    assert events == [
        ToolCallStart("t1:c1", "bash"),
        ToolCallArgs("t1:c1", '{"command"'),
        ToolCallArgs("t1:c1", ':"ls"}'),
        ToolCallEnd("t1:c1"),
    ]


def test_an_older_agent_names_the_call_in_the_copy_of_the_message() -> None:
    block = {"type": "toolCall", "id": "c1", "name": "bash"}
    partial = {"content": [{"type": "text", "text": ""}, block]}
    assert read(begun(), update("toolcall_start", 1, partial=partial)) == [ToolCallStart("t1:c1", "bash")]
    late = {**update("toolcall_delta", 1, delta="{"), "message": partial}
    pi = begun()
    assert read(pi, update("toolcall_start", 1)) == []
    assert read(pi, late) == [ToolCallStart("t1:c1", "bash"), ToolCallArgs("t1:c1", "{")]


def test_a_call_whose_start_was_missed_starts_where_it_is_known() -> None:
    pi = begun()
    assert read(pi, update("toolcall_delta", 0, delta="{", id="c1", toolName="ls")) == [
        ToolCallStart("t1:c1", "ls"),
        ToolCallArgs("t1:c1", "{"),
    ]
    assert read(pi, update("toolcall_end", 1, toolCall={"name": "ls"})) == [], "without an id there is nothing to say"


def test_a_result_of_an_unknown_call_starts_the_call() -> None:
    end = {"type": "tool_execution_end", "toolCallId": "c9", "toolName": "ls", "result": {"content": []}}
    kinds = [type(event) for event in read(begun(), end)]
    assert kinds == [ToolCallStart, ToolCallArgs, ToolCallEnd, ToolCallResult]


def test_a_call_that_was_never_streamed_is_sent_whole() -> None:
    pi = begun()
    call = {"type": "toolCall", "id": "c1", "name": "bash", "arguments": {"command": "ls"}}
    expected = [ToolCallStart("t1:c1", "bash"), ToolCallArgs("t1:c1", '{"command":"ls"}'), ToolCallEnd("t1:c1")]
    assert pi.read(answer(content=[call])[1:]) == expected
    assert pi.read(answer(content=[call])[1:]) == [], "once"


def test_a_tool_that_another_tool_calls_is_first_seen_when_it_runs() -> None:
    pi = begun()
    outer = {"type": "toolCall", "id": "c1", "name": "codemode", "arguments": {}}
    pi.read(answer(content=[outer])[1:])
    nested = {"toolCallId": "c1/1", "toolName": "read", "args": {"path": "a"}, "parentToolCallId": "c1"}
    start, *_ = read(pi, {"type": "tool_execution_start", **nested})
    assert start == ToolCallStart("t1:c1/1", "read", metadata={"pi": {"parentToolCallId": "t1:c1"}})


def test_final_arguments_that_differ_are_in_the_metadata_of_the_end() -> None:
    pi = begun()
    read(pi, update("toolcall_start", 0, id="c1", toolName="bash"), update("toolcall_delta", 0, delta='{"command":"l'))
    [end] = read(pi, update("toolcall_end", 0, toolCall={"id": "c1", "arguments": {"command": "ls"}}))
    assert end == ToolCallEnd("t1:c1", {"pi": {"arguments": {"command": "ls"}}})


def test_an_id_that_comes_again_is_another_call() -> None:
    pi = begun()
    seen: list[Event] = []
    for _ in range(2):
        seen += pi.read(answer(content=[{"type": "toolCall", "id": "call_0", "name": "ls", "arguments": {}}])[1:])
        seen += read(pi, {"type": "tool_execution_end", "toolCallId": "call_0", "result": {"content": []}})
    ids = [event.id for event in seen if isinstance(event, ToolCallStart)]
    assert len(ids) == len(set(ids)) == 2
    assert [event.id for event in seen if isinstance(event, ToolCallResult)] == ids


# -- results


def ran(*messages: Json) -> list[Event]:
    pi = begun()
    read(pi, {"type": "tool_execution_start", "toolCallId": "c1", "toolName": "bash", "args": {"command": "ls"}})
    return read(pi, *messages)


def printed(text: str) -> Json:
    content = [{"type": "text", "text": text}] if text else []
    return {"type": "tool_execution_update", "toolCallId": "c1", "partialResult": {"content": content}}


def gave(*content: Json, **fields: Any) -> Json:
    return {"type": "tool_execution_end", "toolCallId": "c1", "result": {"content": list(content)}, **fields}


def test_output_grows_while_the_tool_runs() -> None:
    first, second, third = ran(printed(""), printed("1\n"), printed("1\n2\n"), printed("2\n3\n"))
    about = {"toolCallId": "t1:c1", "output": ["1\n"]}
    assert first == ActivitySnapshot("t1:c1:output", "tool_output", about)
    assert second == ActivityDelta("t1:c1:output", "tool_output", [{"op": "add", "path": "/output/-", "value": "2\n"}])
    replaced = [{"op": "replace", "path": "/output", "value": ["2\n3\n"]}]
    assert third == ActivityDelta("t1:c1:output", "tool_output", replaced), "its beginning was cut off"


def test_a_repeated_result_is_sent_once() -> None:
    message = {"role": "toolResult", "toolCallId": "c1", "content": [{"type": "text", "text": "a"}]}
    events = ran(gave({"type": "text", "text": "a"}), {"type": "message_end", "message": message})
    assert events == [ToolCallResult("t1:c1", "a")]


def test_a_result_that_comes_as_a_message_only_is_sent() -> None:
    message = {"role": "toolResult", "toolCallId": "c1", "content": [{"type": "text", "text": "a"}], "isError": True}
    assert ran({"type": "message_end", "message": message}) == [
        ToolCallResult("t1:c1", "a", metadata={"pi": {"isError": True}}, is_error=True)
    ]


def test_images_in_a_result_are_parts() -> None:
    image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    [event] = ran(gave({"type": "text", "text": "a"}, image, {"type": "smell", "of": "fish"}))
    assert isinstance(event, ToolCallResult)
    assert event.content == [
        {"type": "text", "text": "a"},
        {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}},
        {"type": "text", "text": '{"type":"smell","of":"fish"}'},
    ]


@pytest.mark.parametrize(
    ("details", "expected"), [({"diff": "+a"}, {"diff": "+a"}), ({"diff": "+" * 5000}, None), ({}, None)]
)
def test_small_details_are_in_the_metadata_of_the_result(details: Json, expected: Json | None) -> None:
    message = gave({"type": "text", "text": "a"}, durationMs=7)
    message["result"]["details"] = details
    [event] = ran(message)
    assert isinstance(event, ToolCallResult)
    assert event.metadata == {"pi": {"durationMs": 7} | ({"details": expected} if expected else {})}


def test_what_a_tool_paid_for_counts() -> None:
    message = {"role": "toolResult", "toolCallId": "c1", "content": [], "usage": {"input": 3, "output": 4}}
    *_, used = ran({"type": "message_end", "message": message})
    assert getattr(used, "total_tokens", None) == 7


def test_reading_a_long_answer_takes_time_that_grows_with_its_length_alone() -> None:
    """Not by a clock: the copies are not even looked at."""
    pi = begun()
    start = orjson.dumps(update("text_delta", 0, delta="a", partial={"content": []}))
    broken = start[: -len(b"[]}}}")] + b"[ this is no JSON"
    assert pi.read([broken]) == [TextMessageContent("a", "t1:m1.0")]
