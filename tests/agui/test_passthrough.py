"""AG-UI events that an agent makes itself: kept where they can be, mended where they cannot, never dropped."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import (
    CustomEvent,
    EventType,
    RunFinishedEvent,
    TextMessageChunkEvent,
    TextMessageContentEvent,
    TextMessageStartEvent,
)

from gateway.agui.passthrough import OUT_OF_ORDER, UNKNOWN
from gateway.events import AguiEvent, Wire
from tests.agui.replay import played, text_of, types


def run(*events: Any, **options: Any) -> list[Wire]:
    """What a client sees between the run's start and its end."""
    *stream, last = played([AguiEvent(event) for event in events], merging=False, **options)
    assert last["type"] == "RUN_FINISHED"
    return stream


def start(key: str = "m", **more: Any) -> Wire:
    return {"type": "TEXT_MESSAGE_START", "messageId": key, **more}


def content(delta: str, key: str = "m", **more: Any) -> Wire:
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": key, "delta": delta, **more}


def end(key: str = "m", **more: Any) -> Wire:
    return {"type": "TEXT_MESSAGE_END", "messageId": key, **more}


def raw(event: Wire) -> Wire:
    return {"type": "RAW", "event": event, "source": OUT_OF_ORDER}


def test_events_in_order_travel_as_they_are() -> None:
    sent = [start(role="user", name="n", timestamp=1), content("a", rawEvent=[1]), end(metadata={"k": None})]
    assert run(*sent) == sent


def test_official_objects_and_their_json_are_the_same() -> None:
    objects = [
        TextMessageStartEvent(type=EventType.TEXT_MESSAGE_START, message_id="m", role="assistant"),
        TextMessageContentEvent(type=EventType.TEXT_MESSAGE_CONTENT, message_id="m", delta="a"),
        CustomEvent(type=EventType.CUSTOM, name="n", value=None),
    ]
    assert run(*objects) == [
        start(role="assistant"),
        content("a"),
        {"type": "CUSTOM", "name": "n", "value": None},
        end(),
    ]


def test_chunks_are_expanded() -> None:
    chunk = TextMessageChunkEvent(type=EventType.TEXT_MESSAGE_CHUNK, message_id="m", delta="a")
    assert run(chunk, {"type": "TEXT_MESSAGE_CHUNK", "delta": "b"}) == [
        start(role="assistant"),
        content("a"),
        content("b"),
        end(),
    ]


def test_a_chunk_that_begins_nothing_is_sent_raw() -> None:
    chunk = {"type": "TEXT_MESSAGE_CHUNK", "delta": "b"}
    assert run(chunk) == [raw(chunk)]


@pytest.mark.parametrize(
    ("kind", "opening"),
    [
        ("TEXT_MESSAGE", {"type": "TEXT_MESSAGE_START", "role": "assistant"}),
        ("REASONING_MESSAGE", {"type": "REASONING_MESSAGE_START", "role": "reasoning"}),
    ],
)
@pytest.mark.parametrize("tag", [{}, {"subagentRunId": "s"}], ids=str)
def test_content_without_a_start_gets_one(kind: str, opening: Wire, tag: Wire) -> None:
    sent = {"type": f"{kind}_CONTENT", "messageId": "m", "delta": "a", **tag}
    assert run(sent) == [
        {**opening, "messageId": "m", **tag},
        sent,
        {"type": f"{kind}_END", "messageId": "m", **tag},
    ]


def test_content_after_the_end_goes_on_with_the_same_message() -> None:
    stream = run(start(), content("a"), end(), content("b"))
    assert types(stream)[-3:] == ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END"]
    assert text_of(stream) == "ab"


def test_arguments_of_a_call_that_never_began_are_sent_raw() -> None:
    args = {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{}"}
    assert run(args) == [raw(args)]


@pytest.mark.parametrize(
    "again",
    [
        start(),
        start(role="assistant"),
        end("never-opened"),
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
        {"type": "STEP_FINISHED", "stepName": "one"},
        {"type": "REASONING_END", "messageId": "m"},
    ],
    ids=str,
)
def test_a_start_or_an_end_that_changes_nothing_is_left_out(again: Wire) -> None:
    assert run(start(), again, end()) == [start(), end()]


@pytest.mark.parametrize("more", [{"role": "user"}, {"name": "n"}, {"metadata": {}}, {"timestamp": 1}], ids=str)
def test_a_second_start_with_other_fields_is_sent_raw(more: Wire) -> None:
    assert run(start(), start(**more), end()) == [start(), raw(start(**more)), end()]


def test_a_second_call_under_an_open_calls_id_keeps_its_name() -> None:
    first = {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"}
    second = first | {"toolCallName": "g"}
    stream = run(first, first, second, client_tools=["f"])
    assert stream == [first, raw(second), {"type": "TOOL_CALL_END", "toolCallId": "c"}]


def test_a_start_for_another_owner_is_sent_raw_with_all_that_follows() -> None:
    own = [start(subagentRunId="s"), content("a", subagentRunId="s")]
    assert run(start(), end(), *own) == [start(), end(), raw(own[0]), raw(own[1])]


def test_a_call_in_anothers_message_is_sent_raw() -> None:
    call = {
        "type": "TOOL_CALL_START",
        "toolCallId": "c",
        "toolCallName": "f",
        "parentMessageId": "m",
        "subagentRunId": "s",
    }
    assert run(start(), end(), call) == [start(), end(), raw(call)]


@pytest.mark.parametrize("event", [{"type": "OTTER_SWAM", "far": 1}, {"type": ["odd"]}, {"no": "type"}, {}], ids=str)
def test_an_event_that_ag_ui_does_not_know_is_sent_raw(event: Wire) -> None:
    assert run(event) == [{"type": "RAW", "event": event, "source": UNKNOWN}]


def test_a_malformed_event_ends_the_run_with_the_place() -> None:
    messages = [{"id": "1", "role": "user", "content": "a"}, {"id": "2", "role": "user"}]
    stream = played([AguiEvent(content("a")), AguiEvent({"type": "MESSAGES_SNAPSHOT", "messages": messages})])
    assert types(stream) == ["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT", "TEXT_MESSAGE_END", "RUN_ERROR"]
    assert "MESSAGES_SNAPSHOT at /messages/1/content" in stream[-1]["message"]
    assert stream[-1]["code"] == "AGENT_ERROR"


def test_the_runs_own_start_is_sent_by_the_gateway() -> None:
    assert run({"type": "RUN_STARTED", "threadId": "mine", "runId": "mine"}, start(), end()) == [start(), end()]


def test_the_runs_own_end_has_the_gateways_ids() -> None:
    finished = RunFinishedEvent(type=EventType.RUN_FINISHED, thread_id="mine", run_id="mine", result={"n": 1})
    stream = played([AguiEvent(start()), AguiEvent(finished), AguiEvent(content("too late"))])
    assert stream == [start(), end(), {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "result": {"n": 1}}]


def test_the_runs_own_error_closes_what_is_open_first() -> None:
    error = {"type": "RUN_ERROR", "message": "no", "code": "NO", "usage": [{"inputTokens": 1}]}
    assert played([AguiEvent(start()), AguiEvent(error)]) == [start(), end(), error]


def test_the_runs_end_closes_the_chunks_before_it() -> None:
    chunk = {"type": "TEXT_MESSAGE_CHUNK", "messageId": "m", "delta": "a"}
    finished = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
    assert types(played([AguiEvent(chunk), AguiEvent(finished)])) == [
        "TEXT_MESSAGE_START",
        "TEXT_MESSAGE_CONTENT",
        "TEXT_MESSAGE_END",
        "RUN_FINISHED",
    ]
