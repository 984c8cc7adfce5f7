from __future__ import annotations

import copy
from typing import Any

import pytest
from hypothesis import given

from gateway.agui.chunks import Chunks
from gateway.agui.history import History
from gateway.agui.validate import validate
from gateway.errors import AgentFault
from gateway.events import Wire
from tests.agui.streams import GOOD, WHOLE, runs, steady, streams


def after(*events: Wire) -> History:
    history = History()
    for event in events:
        history.feed(event)
    return history


def text(key: str, *deltas: str, **more: Any) -> list[Wire]:
    return [
        {"type": "TEXT_MESSAGE_START", "messageId": key, **more},
        *({"type": "TEXT_MESSAGE_CONTENT", "messageId": key, "delta": delta} for delta in deltas),
        {"type": "TEXT_MESSAGE_END", "messageId": key},
    ]


def activity(key: str, content: dict[str, Any], **more: Any) -> Wire:
    return {"type": "ACTIVITY_SNAPSHOT", "messageId": key, "activityType": "plan", "content": content, **more}


def snapshot(*messages: dict[str, Any], **more: Any) -> Wire:
    return {"type": "MESSAGES_SNAPSHOT", "messages": list(messages), **more}


def ids(history: History) -> list[str]:
    return [message["id"] for message in history.messages]


@pytest.mark.parametrize("case", GOOD, ids=lambda case: str(case["name"]))
def test_the_client_would_hold_the_same(case: dict[str, Any]) -> None:
    history, chunks = History(), Chunks()
    for event in case["events"]:
        try:
            expanded = chunks.feed(validate(event))
        except AgentFault:
            # The client warns of an event that it does not know, and goes on; so does whoever folds a stream.
            assert case["name"] == "tolerated/unknown-event"
            continue
        for wire in expanded:
            history.feed(wire)
    assert history.messages == case["messages"]
    assert history.state == case["state"]
    assert history.pending_interrupts == case.get("pendingInterrupts", [])
    assert history.result == case.get("result")
    assert history.run_error == case.get("runError")
    assert history.pending_tool_call_ids == case.get("pendingToolCallIds", [])


def test_a_history_starts_with_its_arguments() -> None:
    messages = [{"id": "u", "role": "user", "content": "hi"}]
    history = History(messages=messages, state={"a": 1})
    assert (history.messages, history.state) == (messages, {"a": 1})
    assert History(state=None).state is None
    assert History().state == {}


def test_one_threads_beginning_is_not_anothers() -> None:
    first = History()
    first.state["touched"] = True
    assert History().state == {}


def test_an_input_adds_only_what_is_new() -> None:
    history = History([{"id": "u", "role": "user", "content": "hi"}])
    new = {"id": "n", "role": "user", "content": "new"}
    history.add_input([{"id": "u", "role": "user", "content": "changed"}, new, new])
    assert history.messages == [{"id": "u", "role": "user", "content": "hi"}, new]


@steady
@given(streams(*WHOLE))
def test_arguments_are_neither_changed_nor_kept(events: list[Wire]) -> None:
    events = copy.deepcopy(events)
    history = after(*events)
    assert events == events
    client_state = copy.deepcopy((history.messages, history.state, history.pending_interrupts, history.result))
    for event in events:
        scramble(event)
    assert (history.messages, history.state, history.pending_interrupts, history.result) == client_state


def scramble(value: Any) -> None:
    """Empties whatever can be changed, the innermost first."""
    for item in list(value.values() if isinstance(value, dict) else value):
        if isinstance(item, dict | list):
            scramble(item)
    value.clear()


@steady
@given(runs(*WHOLE))
def test_looking_changes_nothing(events: list[Wire]) -> None:
    looked_at, left_alone = History(), History()
    for event in events:
        looked_at.feed(event)
        assert isinstance(looked_at.messages, list)
        left_alone.feed(event)
    assert (looked_at.messages, looked_at.state) == (left_alone.messages, left_alone.state)


def test_text_for_an_activity_is_passed_over() -> None:
    history = after(activity("x", {"a": 1}), *text("x", "no", metadata={"k": 1}))
    assert history.messages == [{"id": "x", "role": "activity", "activityType": "plan", "content": {"a": 1}}]


def test_text_for_nothing_is_passed_over() -> None:
    history = after(
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "x"},
        {"type": "TEXT_MESSAGE_END", "messageId": "m", "metadata": {}},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "x"},
        {"type": "TOOL_CALL_END", "toolCallId": "c", "metadata": {}},
    )
    assert history.messages == []


def test_text_takes_the_place_of_parts() -> None:
    history = History([{"id": "u", "role": "user", "content": [{"type": "text", "text": "x"}]}])
    for event in text("u", "new"):
        history.feed(event)
    assert history.messages == [{"id": "u", "role": "user", "content": "new"}]


def test_a_message_keeps_its_author() -> None:
    history = after(*text("m", "x", role="user", name="Ann", subagentRunId="s"))
    expected = {"id": "m", "role": "user", "content": "x", "name": "Ann", "subagentRunId": "s"}
    assert history.messages == [expected]


def call(key: str, **more: Any) -> Wire:
    return {"type": "TOOL_CALL_START", "toolCallId": key, "toolCallName": "f", **more}


def test_a_call_for_a_message_of_another_owner_gets_its_own() -> None:
    history = History([{"id": "u", "role": "user", "content": "hi"}])
    history.feed(call("c", parentMessageId="u", subagentRunId="s"))
    assert [(m["id"], m["role"], m.get("subagentRunId")) for m in history.messages] == [
        ("u", "user", None),
        ("c", "assistant", "s"),
    ]


def test_a_call_with_an_empty_parent_has_none() -> None:
    assert ids(after(call("c", parentMessageId=""))) == ["c"]


def test_a_call_that_is_made_again_goes_on_where_it_was() -> None:
    history = after(
        call("c", metadata={"a": 1}),
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "{"},
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
        {**call("c", parentMessageId="other", metadata={"b": 2}), "toolCallName": "g"},
        {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "}", "metadata": {"a": 3}},
    )
    function = {"name": "g", "arguments": "{}"}
    calls = [{"id": "c", "type": "function", "function": function, "metadata": {"a": 3, "b": 2}}]
    assert history.messages == [{"id": "c", "role": "assistant", "toolCalls": calls}]


def test_a_call_of_an_earlier_run_is_answered_where_it_was_made() -> None:
    made = {"id": "c", "type": "function", "function": {"name": "f", "arguments": ""}}
    history = History(
        [{"id": "a", "role": "assistant", "toolCalls": [made]}, {"id": "u", "role": "user", "content": "go on"}]
    )
    history.feed({"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c", "content": "ok", "metadata": {}})
    assert ids(history) == ["a", "r", "u"]
    assert history.messages[1]["metadata"] == {}


def test_the_first_of_two_messages_with_one_id_is_meant() -> None:
    history = after(*text("a", "one"), call("c"), *text("b", "two"))
    history.feed({"type": "TOOL_CALL_RESULT", "messageId": "b", "toolCallId": "c", "content": "ok"})
    assert ids(history) == ["a", "c", "b", "b"]
    history.feed({"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "b", "encryptedValue": "v"})
    assert ["encryptedValue" in message for message in history.messages] == [False, False, True, False]


def test_an_activity_has_no_encrypted_value() -> None:
    value = {"type": "REASONING_ENCRYPTED_VALUE", "subtype": "message", "entityId": "x", "encryptedValue": "v"}
    assert "encryptedValue" not in after(activity("x", {}), value).messages[0]


def test_an_activity_that_is_replaced_keeps_its_place_and_metadata_but_not_its_owner() -> None:
    history = after(
        activity("x", {"v": 1}, subagentRunId="s", metadata={"a": 1}),
        *text("m", "x"),
        activity("x", {"v": 2}, metadata={"b": 2}),
    )
    assert history.messages[0] == {
        "id": "x",
        "role": "activity",
        "activityType": "plan",
        "content": {"v": 2},
        "metadata": {"a": 1, "b": 2},
    }


def test_an_activity_that_is_kept_takes_only_the_metadata() -> None:
    history = after(activity("x", {"v": 1}), activity("x", {"v": 2}, replace=False, metadata={"a": 1}))
    assert (history.messages[0]["content"], history.messages[0]["metadata"]) == ({"v": 1}, {"a": 1})


def test_an_activity_takes_the_place_of_a_message_unless_it_may_not_replace() -> None:
    kept = after(*text("m", "x"), activity("m", {}, replace=False, metadata={"a": 1}))
    assert kept.messages == [{"id": "m", "role": "assistant", "content": "x"}]
    replaced = after(call("m"), *text("m", "x"), activity("m", {"v": 1}))
    assert replaced.messages == [{"id": "m", "role": "activity", "activityType": "plan", "content": {"v": 1}}]
    replaced.feed({"type": "TOOL_CALL_ARGS", "toolCallId": "m", "delta": "gone with its message"})
    assert replaced.messages == [{"id": "m", "role": "activity", "activityType": "plan", "content": {"v": 1}}]


def patch(key: str, *operations: dict[str, Any], **more: Any) -> Wire:
    return {"type": "ACTIVITY_DELTA", "messageId": key, "activityType": "new", "patch": list(operations), **more}


def test_a_patch_that_fits_an_activity_brings_its_type_along() -> None:
    history = after(activity("x", {"a": [1]}), patch("x", {"op": "add", "path": "/a/-", "value": 2}))
    assert (history.messages[0]["content"], history.messages[0]["activityType"]) == ({"a": [1, 2]}, "new")


def test_a_patch_that_does_not_fit_leaves_an_activity_as_it_is_except_for_the_metadata() -> None:
    failing = patch("x", {"op": "add", "path": "/b", "value": 1}, {"op": "remove", "path": "/no"}, metadata={"k": 1})
    history = after(activity("x", {"a": 1}), failing)
    message = history.messages[0]
    assert (message["content"], message["activityType"], message["metadata"]) == ({"a": 1}, "plan", {"k": 1})


def test_a_patch_for_what_is_no_activity_is_passed_over() -> None:
    history = after(*text("m", "x"), patch("m", {"op": "add", "path": "", "value": 1}, metadata={"k": 1}))
    assert history.messages == [{"id": "m", "role": "assistant", "content": "x"}]


@pytest.mark.parametrize("state", [None, 0, "text", [], {"a": 5}], ids=repr)
@pytest.mark.parametrize("path", ["/a/b", "/x/y/z"])
def test_a_patch_through_what_holds_nothing_is_passed_over(state: Any, path: str) -> None:
    history = History(state=state)
    history.feed({"type": "STATE_DELTA", "delta": [{"op": "add", "path": path, "value": 1}]})
    assert history.state == state


def test_a_test_that_fails_undoes_the_whole_patch() -> None:
    history = History(state={"a": 1})
    delta = [{"op": "replace", "path": "/a", "value": 2}, {"op": "test", "path": "/a", "value": 3}]
    history.feed({"type": "STATE_DELTA", "delta": delta})
    assert history.state == {"a": 1}


def test_later_operations_do_not_reach_into_the_event() -> None:
    value = [1]
    delta = [{"op": "add", "path": "/list", "value": value}, {"op": "add", "path": "/list/-", "value": 2}]
    assert after({"type": "STATE_DELTA", "delta": delta}).state == {"list": [1, 2]}
    assert value == [1]


@pytest.mark.parametrize("value", [None, 0, "", False, [], {}], ids=repr)
def test_a_state_may_be_anything(value: Any) -> None:
    history = after({"type": "STATE_SNAPSHOT", "snapshot": value})
    assert history.state == value


USER = {"id": "u", "role": "user", "content": "hi"}
PLAN = {"id": "p", "role": "activity", "activityType": "plan", "content": {}}
SEARCH = {"id": "s", "role": "activity", "activityType": "search", "content": {}}
THOUGHT = {"id": "z", "role": "reasoning", "content": "hm"}
GONE = {"id": "g", "role": "assistant", "content": "x"}


def shown(declared: Any) -> dict[str, Any]:
    return {"metadata": {"@ag-ui/client": declared}}


@pytest.mark.parametrize(
    ("event", "left"),
    [
        (snapshot(USER), ["p", "s", "z", "u"]),
        (snapshot(USER, THOUGHT), ["p", "s", "z", "u"]),
        (snapshot(USER, {**THOUGHT, "id": "z2"}), ["p", "s", "u", "z2"]),
        (snapshot(USER, PLAN), ["p", "z", "u"]),
        (snapshot(USER, **shown({"authoritativeActivityTypes": None})), ["z", "u"]),
        (snapshot(USER, **shown({"authoritativeActivityTypes": ["plan"]})), ["s", "z", "u"]),
        (snapshot(USER, SEARCH, **shown({"authoritativeActivityTypes": []})), ["p", "s", "z", "u"]),
        (snapshot(USER, PLAN, **shown({"authoritativeActivityTypes": ["plan", 5]})), ["p", "s", "z", "u"]),
        (snapshot(USER, PLAN, **shown({"authoritativeActivityTypes": "plan"})), ["p", "s", "z", "u"]),
        (snapshot(USER, PLAN, **shown("nonsense")), ["p", "s", "z", "u"]),
        (snapshot(USER, PLAN, **shown({})), ["p", "z", "u"]),
    ],
)
def test_a_snapshot_drops_what_it_leaves_out_except_what_it_is_not_complete_for(event: Wire, left: list[str]) -> None:
    history = History([GONE, PLAN, SEARCH, THOUGHT])
    history.feed(event)
    assert ids(history) == left


def test_a_snapshot_replaces_known_messages_where_they_stand() -> None:
    history = after(*text("a", "old"), *text("b", "old"))
    new = [{"id": "b", "role": "assistant", "content": "new"}, USER, {"id": "a", "role": "assistant", "content": "new"}]
    history.feed(snapshot(*new))
    assert [(m["id"], m["content"]) for m in history.messages] == [("a", "new"), ("b", "new"), ("u", "hi")]


def test_text_goes_on_in_the_message_that_a_snapshot_brought() -> None:
    history = after(
        *text("a", "old ")[:2],
        snapshot({"id": "a", "role": "assistant", "content": "new "}),
        {"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "end"},
    )
    assert history.messages == [{"id": "a", "role": "assistant", "content": "new end"}]


FINISH: Wire = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
ASK: Wire = {"type": "interrupt", "interrupts": [{"id": "i", "reason": "confirmation"}]}


def test_an_error_leaves_the_interrupts_open_and_any_end_closes_them() -> None:
    history = after({**FINISH, "outcome": ASK}, {"type": "RUN_ERROR", "message": "boom"})
    assert history.pending_interrupts == ASK["interrupts"]
    history.feed({**FINISH, "outcome": {"type": "cancelled"}})
    assert history.pending_interrupts == []


def test_only_a_success_has_a_result_and_calls_to_answer() -> None:
    for outcome in (ASK, {"type": "cancelled"}):
        history = after(call("c"), {**FINISH, "outcome": outcome, "result": 1})
        assert (history.result, history.pending_tool_call_ids) == (None, [])
    history = after(call("c"), {**FINISH, "result": 1})
    assert (history.result, history.pending_tool_call_ids) == (1, ["c"])


def test_calls_are_counted_run_by_run() -> None:
    start: Wire = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
    assert after(start, call("c"), FINISH, start, FINISH).pending_tool_call_ids == []
