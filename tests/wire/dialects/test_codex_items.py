"""Items of Codex as events: messages, reasoning, tool calls, subagents."""

from __future__ import annotations

import json
from typing import Any

from gateway.events import (
    ActivityDelta,
    ActivitySnapshot,
    Custom,
    ReasoningMessageContent,
    ReasoningMessageEnd,
    SubagentError,
    SubagentFinished,
    SubagentStarted,
    TextMessageContent,
    TextMessageEnd,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallResult,
    ToolCallStart,
)
from gateway.wire.dialects import Prompt
from gateway.wire.dialects.codex import Codex
from tests.wire.dialects.codex_replay import compact, completed, item, notify, prompted, select, sent

# -- messages and thoughts


def test_a_message_without_deltas_is_sent_when_it_is_complete() -> None:
    events = item(prompted(), "completed", type="agentMessage", text="whole", phase="final_answer")
    metadata = {"codex": {"phase": "final_answer"}}
    assert events == [TextMessageContent("whole", "t1:i1", metadata=metadata), TextMessageEnd("t1:i1")]


def test_only_the_text_that_no_delta_had_is_sent_at_the_end() -> None:
    dialect = prompted()
    assert notify(dialect, "item/agentMessage/delta", itemId="i1", delta="who") == [TextMessageContent("who", "t1:i1")]
    assert item(dialect, "completed", type="agentMessage", text="whole") == [
        TextMessageContent("le", "t1:i1"),
        TextMessageEnd("t1:i1"),
    ]


def test_a_sent_text_cannot_be_taken_back() -> None:
    dialect = prompted()
    notify(dialect, "item/agentMessage/delta", itemId="i1", delta="one")
    assert item(dialect, "completed", type="agentMessage", text="two") == [TextMessageEnd("t1:i1")]


def test_every_part_of_a_summary_is_a_thought_of_its_own() -> None:
    dialect = prompted()
    first = notify(dialect, "item/reasoning/summaryTextDelta", itemId="i1", delta="one", summaryIndex=0)
    second = notify(dialect, "item/reasoning/summaryTextDelta", itemId="i1", delta="two", summaryIndex=1)
    raw = notify(dialect, "item/reasoning/textDelta", itemId="i1", delta="raw", contentIndex=0)
    assert [*first, *second, *raw] == [
        ReasoningMessageContent("one", "t1:i1:s0"),
        ReasoningMessageContent("two", "t1:i1:s1"),
        ReasoningMessageContent("raw", "t1:i1:c0"),
    ]
    ends = item(dialect, "completed", type="reasoning", summary=["one", "two", "three"], content=["raw"])
    assert select(ends, ReasoningMessageContent) == [ReasoningMessageContent("three", "t1:i1:s2")]
    assert [event.message_id for event in select(ends, ReasoningMessageEnd)] == [
        "t1:i1:s0",
        "t1:i1:s1",
        "t1:i1:s2",
        "t1:i1:c0",
    ]


def test_a_plan_item_is_a_message() -> None:
    dialect = prompted()
    assert notify(dialect, "item/plan/delta", itemId="i1", delta="# Plan") == [TextMessageContent("# Plan", "t1:i1")]
    assert item(dialect, "completed", type="plan", text="# Plan") == [TextMessageEnd("t1:i1")]


def test_a_plan_in_steps_is_shown_as_any_other_agents() -> None:
    dialect = prompted()
    steps = [{"step": "read", "status": "inProgress"}, {"step": "write", "status": "pending"}]
    entries = [{"content": "read", "status": "in_progress"}, {"content": "write", "status": "pending"}]
    assert notify(dialect, "turn/plan/updated", plan=steps) == [
        ActivitySnapshot("t1:plan", "plan", {"entries": entries})
    ]
    steps[0]["status"] = "completed"
    [patched] = notify(dialect, "turn/plan/updated", plan=steps)
    assert isinstance(patched, ActivityDelta) and len(patched.patch) == 1


# -- calls


def test_arguments_that_are_known_only_at_the_end_come_at_the_end() -> None:
    dialect = prompted()
    assert [type(event) for event in item(dialect, "started", type="webSearch", query="")] == [ToolCallStart]
    action = {"type": "search", "query": "weather"}
    events = item(dialect, "completed", type="webSearch", query="weather", action=action, results=[{"url": "u"}])
    assert [type(event) for event in events] == [ToolCallArgs, ToolCallEnd, ToolCallResult]
    assert json.loads(select(events, ToolCallArgs)[0].delta) == {"query": "weather", "action": action}
    assert select(events, ToolCallResult)[0].content == '[{"url":"u"}]'


def test_a_picture_that_was_made_is_the_calls_result() -> None:
    events = item(prompted(), "completed", type="imageGeneration", result="AAAA", revisedPrompt="a cat")
    source = {"type": "data", "mimeType": "image/png", "value": "AAAA"}
    assert select(events, ToolCallResult)[0].content == [{"type": "image", "source": source}]


def test_the_result_of_an_mcp_tool_may_be_an_image_or_a_structure() -> None:
    blocks = [{"type": "text", "text": "see"}, {"type": "image", "data": "AAAA", "mimeType": "image/png"}]
    seen = item(prompted(), "completed", type="mcpToolCall", server="s", tool="t", result={"content": blocks})
    assert [part["type"] for part in select(seen, ToolCallResult)[0].content] == ["text", "image"]
    structured = {"content": [], "structuredContent": {"a": 1}}
    fallback_text = item(prompted(), "completed", type="mcpToolCall", server="s", tool="t", result=structured)
    assert select(fallback_text, ToolCallResult)[0].content == '{"a":1}'


def test_a_call_that_is_reported_twice_is_one_call() -> None:
    dialect = prompted()
    assert len(item(dialect, "started", type="commandExecution", command="ls")) == 3
    assert item(dialect, "started", type="commandExecution", command="ls") == []
    assert len(item(dialect, "completed", type="commandExecution", aggregatedOutput="a", status="completed")) == 1
    assert item(dialect, "completed", type="commandExecution", aggregatedOutput="a", status="completed") == []


def test_a_failed_call_never_has_an_empty_result() -> None:
    [*_, result] = item(prompted(), "completed", type="commandExecution", status="failed", exitCode=2)
    assert isinstance(result, ToolCallResult) and result.content == "The agent reports: failed, exit code 2."


def test_a_command_that_outlives_its_turn_is_reported_when_it_is_over() -> None:
    dialect = prompted()
    item(dialect, "started", type="commandExecution", command="make")
    [unreported, _] = completed(dialect)
    assert isinstance(unreported, ToolCallResult)
    dialect.prompt(Prompt([], "t2"))
    [late] = item(dialect, "completed", type="commandExecution", status="completed", exitCode=0, aggregatedOutput="ok")
    value = {"toolCallId": "t1:i1", "status": "completed", "exitCode": 0, "output": "ok"}
    assert late == Custom("codex.tool_call", value)


def test_a_tools_progress_is_shown_while_it_runs() -> None:
    dialect = prompted()
    item(dialect, "started", type="mcpToolCall", server="s", tool="t", arguments={})
    [first] = notify(dialect, "item/mcpToolCall/progress", itemId="i1", message="half")
    content = {"toolCallId": "t1:i1", "output": ["half\n"]}
    assert first == ActivitySnapshot("t1:i1:output", "tool_output", content)


def test_missed_first_output_of_a_command_is_sent_at_its_end() -> None:
    dialect = prompted()
    item(dialect, "started", type="commandExecution", command="x", cwd="/w")
    [shown] = notify(dialect, "item/commandExecution/outputDelta", itemId="i1", delta="two\n")
    about = {"terminalId": "i1", "toolCallId": "t1:i1", "cwd": "/w"}
    assert shown == ActivitySnapshot("t1:terminal:i1", "terminal", {**about, "output": ["two\n"]})
    events = item(dialect, "completed", type="commandExecution", aggregatedOutput="one\ntwo\n", exitCode=0)
    patches = [event.patch for event in select(events, ActivityDelta)]
    assert patches == [
        [{"op": "replace", "path": "/output", "value": ["one\ntwo\n"]}],
        [{"op": "add", "path": "/exitCode", "value": 0}],
    ]


def test_the_diff_of_the_turn_is_sent_once_for_each_change() -> None:
    dialect = prompted()
    first = notify(dialect, "turn/diff/updated", diff="+a")
    assert first == [Custom("codex.diff", {"diff": "+a"})]
    assert notify(dialect, "turn/diff/updated", diff="+a") == []


# -- subagents


def child(method: str, **params: Any) -> bytes:
    return compact({"method": method, "params": {"threadId": "ch", "turnId": "cu", **params}})


def spawned() -> Codex:
    dialect = prompted()
    item(dialect, "completed", type="collabAgentToolCall", tool="spawnAgent", receiverThreadIds=["ch"], prompt="look")
    return dialect


def test_a_subagents_messages_are_its_own() -> None:
    events = spawned().read([child("item/agentMessage/delta", itemId="m", delta="hi")])
    assert events == [
        SubagentStarted("t1/1", "subagent", "look", tool_call_id="t1:i1"),
        TextMessageContent("hi", "t1/1:m", "t1/1"),
    ]


def test_a_subagent_may_be_known_by_its_turn_alone() -> None:
    [start] = prompted().read([child("turn/started", turn={"id": "cu", "rootTurnId": "tu"})])
    assert isinstance(start, SubagentStarted)


def test_a_subagents_end_is_not_the_turns() -> None:
    dialect = spawned()
    *_, ended = dialect.read([child("turn/completed", turn={"id": "cu", "status": "completed"})])
    assert isinstance(ended, SubagentFinished) and dialect.is_busy
    error = {"message": "no"}
    *_, broke = dialect.read([child("turn/completed", turn={"id": "cv", "status": "failed", "error": error})])
    assert broke == SubagentError("t1/2", "no", "MODEL_ERROR") and dialect.is_busy


def test_a_subagent_has_the_name_that_codex_reports() -> None:
    dialect = prompted()
    item(dialect, "started", type="subAgentActivity", kind="started", agentThreadId="ch", agentPath="/explorer")
    [start, _] = dialect.read([child("item/agentMessage/delta", itemId="m", delta="hi")])
    assert isinstance(start, SubagentStarted) and start.name == "/explorer"


def test_other_sessions_threads_are_left_alone() -> None:
    dialect = prompted()
    stranger = {"threadId": "stranger", "turnId": "x"}
    messages: list[dict[str, Any]] = [
        {"method": "item/agentMessage/delta", "params": {**stranger, "itemId": "m", "delta": "hi"}},
        {"method": "turn/completed", "params": {**stranger, "turn": {"id": "tu", "status": "completed"}}},
        {"method": "item/commandExecution/requestApproval", "id": 0, "params": {**stranger, "itemId": "c"}},
        {"id": "other:3", "result": {}},
    ]
    assert dialect.read([compact(message) for message in messages]) == []
    assert dialect.is_busy and sent(dialect) == []
