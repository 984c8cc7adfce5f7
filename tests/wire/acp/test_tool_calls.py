"""Tool calls: start, arguments, end and result, once each, whatever the agent leaves out."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.events import (
    ActivityDelta,
    ActivitySnapshot,
    Custom,
    Event,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallResult,
    ToolCallStart,
)
from gateway.wire.acp.results import DIFF_MAX_LINES, DIFFS_MAX_CHARS
from tests.wire.acp.session_helper import call, change, printed, read, reader

IMAGE = {"type": "content", "content": {"type": "image", "data": "AA==", "mimeType": "image/png"}}
DIFF = {"type": "diff", "path": "/a.txt", "oldText": "one\ntwo\n", "newText": "one\n2\n"}


def kinds(events: list[Event]) -> list[str]:
    return [type(event).__name__ for event in events]


def result(*updates: dict[str, Any]) -> ToolCallResult:
    (found,) = [event for event in read(reader(), *updates) if isinstance(event, ToolCallResult)]
    return found


def acp(event: Any) -> dict[str, Any]:
    metadata: dict[str, Any] = event.metadata["acp"]
    return metadata


def test_a_call_from_start_to_result() -> None:
    events = read(
        reader(),
        call(name="Bash", status="pending", rawInput={"command": "ls"}, locations=[{"path": "/a", "line": 3}]),
        change(status="in_progress"),
        change(status="completed", content=[printed("a.txt")], rawOutput={"code": 0}),
    )
    shown = {"id": "c", "name": "Bash", "title": "Run it", "kind": "execute", "locations": [{"path": "/a", "line": 3}]}
    assert events == [
        ToolCallStart("t1:c", "Bash", metadata={"acp": {**shown, "status": "pending"}}),
        ToolCallArgs("t1:c", '{"command":"ls"}'),
        ToolCallEnd("t1:c", {"acp": {**shown, "status": "in_progress"}}),
        ToolCallResult(
            "t1:c",
            "a.txt",
            metadata={"acp": {**shown, "status": "completed", "rawOutput": {"code": 0}}},
            is_error=False,
        ),
    ]


@pytest.mark.parametrize(
    ("fields", "name"),
    [
        ({"name": "Bash", "_meta": {"claudeCode": {"toolName": "Other"}}}, "Bash"),
        ({"_meta": {"claudeCode": {"toolName": "Read"}}}, "Read"),
        ({"_meta": {"toolName": "run_shell_command"}}, "run_shell_command"),
        ({}, "execute"),
        ({"kind": "other"}, "tool"),
        ({"kind": None}, "tool"),
    ],
)
def test_the_name_is_never_the_title(fields: dict[str, Any], name: str) -> None:
    start = read(reader(), call(**fields))[0]
    assert isinstance(start, ToolCallStart)
    assert start.name == name


def test_a_call_is_created_by_an_update_too() -> None:
    assert kinds(read(reader(), change(kind="read", status="completed"))) == [
        "ToolCallStart",
        "ToolCallArgs",
        "ToolCallEnd",
        "ToolCallResult",
    ]


def test_the_same_id_in_a_later_turn_is_another_call() -> None:
    session = reader("t1")
    first = read(session, call(status="completed"))[0]
    session.begin_turn("t2")
    second = read(session, call(status="completed"))[0]
    assert isinstance(first, ToolCallStart)
    assert isinstance(second, ToolCallStart)
    assert (first.id, second.id) == ("t1:c", "t2:c")


def test_a_late_change_of_a_call_from_the_turn_before_creates_nothing() -> None:
    session = reader("t1")
    read(session, call(status="in_progress"))
    session.end_turn("end_turn")
    session.begin_turn("t2")
    (event,) = read(session, change(status="completed", content=[printed("late")]))
    assert isinstance(event, Custom)
    assert (event.name, event.value["toolCallId"], event.value["output"]) == ("acp.tool_call", "t1:c", "late")


def test_a_growing_input_streams() -> None:
    session = reader()
    events = read(session, call(rawInput={}), change(rawInput={"path": "/a"}), change(rawInput={"path": "/a", "x": 1}))
    assert [event.delta for event in events if isinstance(event, ToolCallArgs)] == ["{", '"path":"/a']
    assert [event.delta for event in read(session, change(status="completed")) if isinstance(event, ToolCallArgs)] == [
        '","x":1}'
    ]


def test_the_true_input_is_in_metadata_if_wrong_deltas_were_sent() -> None:
    session = reader()
    read(session, call(rawInput={"a": "x"}), change(rawInput={"a": "xy"}), change(rawInput={"a": "z"}))
    (end,) = [event for event in read(session, change(status="in_progress")) if isinstance(event, ToolCallEnd)]
    assert acp(end)["rawInput"] == {"a": "z"}


def test_an_input_that_changes_after_its_end_is_in_the_results_metadata() -> None:
    session = reader()
    read(session, call(status="in_progress", rawInput={"a": 1}))
    (event,) = read(session, change(status="completed", rawInput={"a": 2}))
    assert acp(event)["rawInput"] == {"a": 2}


def test_a_change_of_display_fields_is_reported_once() -> None:
    session = reader()
    read(session, call(status="in_progress"))
    (event,) = read(session, change(title="Run it now"), change(title="Run it now"), change(_meta={"secret": "k"}))
    assert isinstance(event, Custom)
    assert event.value == {
        "toolCallId": "t1:c",
        "id": "c",
        "title": "Run it now",
        "kind": "execute",
        "status": "in_progress",
    }


def test_output_in_progress_grows() -> None:
    session = reader()
    read(session, call(status="in_progress", content=[printed("$ ls")]))
    events = read(
        session,
        change(content=[printed("a\n")]),
        change(content=[printed("a\nb\n")]),
        change(content=[printed("c\n")]),
        change(content=[printed("c\n")]),
    )
    assert events == [
        ActivitySnapshot("t1:c:output", "tool_output", {"toolCallId": "t1:c", "output": ["a\n"]}),
        ActivityDelta("t1:c:output", "tool_output", [{"op": "add", "path": "/output/-", "value": "b\n"}]),
        ActivityDelta("t1:c:output", "tool_output", [{"op": "replace", "path": "/output", "value": ["c\n"]}]),
    ]


def test_content_before_a_call_runs_is_a_preview_and_no_output() -> None:
    session = reader()
    read(session, call(status="pending"))
    assert read(session, change(content=[printed("$ ls")])) == []


def test_version_2_appends_content() -> None:
    session = reader()
    read(session, call(status="in_progress"))
    chunk = {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "c", "content": printed("a")}
    assert kinds(read(session, chunk, chunk)) == ["ActivitySnapshot", "ActivityDelta"]
    (event,) = read(session, change(status="completed"))
    assert isinstance(event, ToolCallResult)
    assert event.content == "a\n\na"


def test_a_chunk_creates_its_call() -> None:
    chunk = {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "c", "content": printed("a")}
    assert kinds(read(reader(), chunk)) == ["ToolCallStart"]


def test_a_diff_is_short_in_the_text_and_whole_beside() -> None:
    found = result(call(status="completed", content=[DIFF]))
    assert found.content == "--- /a.txt\n+++ /a.txt\n@@ -1,2 +1,2 @@\n one\n-two\n+2"
    assert acp(found)["diffs"] == [{"path": "/a.txt", "oldText": "one\ntwo\n", "newText": "one\n2\n"}]


def test_an_agents_text_on_a_diff_stands_before_it() -> None:
    found = result(call(status="completed", content=[{**DIFF, "oldText": None}], rawOutput="File created."))
    assert isinstance(found.content, str)
    assert found.content.startswith("File created.\n\n--- /dev/null\n+++ /a.txt\n")


def test_a_long_diff_is_cut_and_a_huge_one_is_counted() -> None:
    long = {"type": "diff", "path": "/a", "oldText": "", "newText": "x\n" * (2 * DIFF_MAX_LINES)}
    text = result(call(status="completed", content=[long])).content
    assert isinstance(text, str)
    assert text.splitlines()[-1] == f"[{DIFF_MAX_LINES + 3} more lines]"
    huge = {"type": "diff", "path": "/a", "oldText": "a\n" * 3000, "newText": "b\n" * DIFFS_MAX_CHARS}
    found = result(call(status="completed", content=[huge]))
    assert found.content == f"/a: 3000 lines became {DIFFS_MAX_CHARS}"
    assert acp(found)["diffs"] == [{"path": "/a", "tooLarge": True}]


def test_version_2_brings_its_own_patch() -> None:
    changes = [{"operation": "move", "oldPath": "/a", "path": "/b"}, {"operation": "add", "path": "/c"}]
    diff: dict[str, Any] = {"type": "diff", "changes": changes}
    assert result(call(status="completed", content=[diff])).content == "move /a → /b\nadd /c"
    diff["patch"] = {"format": "git_patch", "text": "diff --git a/a b/b\n"}
    assert result(call(status="completed", content=[diff])).content == "diff --git a/a b/b"


def test_an_image_makes_the_result_parts() -> None:
    found = result(call(status="completed", content=[printed("see"), IMAGE]))
    assert found.content == [
        {"type": "text", "text": "see"},
        {"type": "image", "source": {"type": "data", "value": "AA==", "mimeType": "image/png"}},
    ]


def test_raw_output_speaks_where_nothing_else_does() -> None:
    assert result(call(status="completed", rawOutput={"ok": True})).content == '{"ok":true}'
    assert result(call(status="completed", rawOutput="fine", content=[printed("said")])).content == "said"


def test_a_large_raw_output_is_not_repeated() -> None:
    assert "rawOutput" not in acp(result(call(status="completed", rawOutput="x" * 10_000)))


def test_a_result_may_be_empty_but_a_failure_is_named() -> None:
    assert result(call(status="completed")).content == ""
    assert result(call(status="failed")).content == "The agent reports: failed."


def test_a_reason_that_comes_after_the_failure_is_reported() -> None:
    session = reader()
    read(session, call(status="failed"))
    (event,) = read(session, change(status="failed", rawOutput="rejected"), change(status="failed"))
    assert isinstance(event, Custom)
    assert event.value["output"] == "rejected"


def test_calls_still_open_at_the_end_are_closed() -> None:
    session = reader()
    read(session, call("a", rawInput={"x": 1}), call("b", status="completed"))
    events = session.end_turn("end_turn")
    assert kinds(events) == ["ToolCallArgs", "ToolCallEnd", "ToolCallResult", "TurnEnded"]
    assert isinstance(events[2], ToolCallResult)
    assert events[2].content == "The agent ended its turn without a result for this call."
    assert (acp(events[2])["status"], acp(events[2])["lastStatus"]) == ("unknown", "pending")


def test_a_cancelled_call_has_a_result_with_the_users_decision() -> None:
    session = reader()
    params = {"toolCall": {"toolCallId": "c"}, "options": [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]}
    session.read_permission(1, params)
    session.set_permission_outcome(params, "Yes")
    (event,) = [event for event in session.end_turn("cancelled") if isinstance(event, ToolCallResult)]
    assert event.content == "The turn was cancelled before this call had a result. Permission: Yes."
    assert acp(event)["status"] == "cancelled"


def test_a_call_made_by_another_names_it() -> None:
    session = reader()
    (start, *_) = read(session, call("task"), call("inner", _meta={"claudeCode": {"parentToolUseId": "task"}}))[1:]
    assert acp(start)["parentToolCallId"] == "t1:task"


def test_parked_calls_end() -> None:
    session = reader()
    read(session, call("a", rawInput={"x": 1}))
    assert kinds(session.park()) == ["ToolCallArgs", "ToolCallEnd"]
    assert read(session, change("a", rawInput={"x": 1, "y": 2})) == []


def test_a_call_without_an_id_is_handed_on() -> None:
    assert kinds(read(reader(), {"sessionUpdate": "tool_call", "title": "?"})) == ["Raw"]
    assert kinds(read(reader(), {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "c"})) == ["Raw"]
