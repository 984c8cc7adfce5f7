"""Session events of Copilot in a turn: text, tools, subagents, notices."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import orjson
import pytest

from gateway.events import (
    ActivityDelta,
    ActivitySnapshot,
    Custom,
    Raw,
    ReasoningMessageContent,
    SubagentError,
    SubagentFinished,
    SubagentStarted,
    TextMessageContent,
    TokenUsage,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallResult,
    ToolCallStart,
    Warning,
)
from gateway.wire.dialects import Prompt, SessionStart, copilot
from gateway.wire.dialects.copilot.permissions import REQUEST_EVENTS
from gateway.wire.dialects.copilot.session_events import AGENT_READERS, EVENT_READERS
from gateway.wire.dialects.copilot.session_state import STATE_READERS
from tests.wire.dialects.copilot_server import SESSION, Json, Server, server_in_turn

# -- text and reasoning


def test_text_without_deltas_is_sent_in_one_piece() -> None:
    server = server_in_turn()
    delta, end = server.emit("assistant.message", messageId="a", content="hello", toolRequests=[])
    assert isinstance(delta, TextMessageContent) and (delta.text, delta.message_id) == ("hello", "t1:a")
    assert server.emit("assistant.message", messageId="b", content="", toolRequests=[]) == []
    [thought] = server.emit("assistant.reasoning", reasoningId="r", content="hm")
    assert isinstance(thought, ReasoningMessageContent) and thought.text == "hm"
    assert server.emit("assistant.reasoning", reasoningId="r", content="hm") == []
    assert end is not None


def test_text_that_continues_after_reasoning_is_a_new_message() -> None:
    server = server_in_turn()
    server.emit("assistant.message_delta", messageId="a", deltaContent="one ")
    server.emit("assistant.reasoning_delta", reasoningId="r", deltaContent="hm")
    [rest] = server.emit("assistant.message_delta", messageId="a", deltaContent="two")
    assert isinstance(rest, TextMessageContent) and rest.message_id == "t1:a.2"
    assert server.emit("assistant.message", messageId="a", content="one two")[-1] is not None
    assert not any(
        isinstance(event, TextMessageContent) for event in server.emit("assistant.message", messageId="a", content="x")
    )


def test_input_tokens_include_cached_tokens() -> None:
    server = server_in_turn()
    counts: Json = {"inputTokens": 1507, "outputTokens": 12, "cacheReadTokens": 1000, "cacheWriteTokens": 500}
    [usage] = server.emit("assistant.usage", model="claude-sonnet-5", modelProvider="anthropic", cost=0, **counts)
    assert usage == TokenUsage(
        provider="anthropic",
        model="claude-sonnet-5",
        input_tokens=1507,
        output_tokens=12,
        total_tokens=1519,
        cached_input_tokens=1000,
        cache_write_input_tokens=500,
    )


def test_a_premium_request_is_a_cost() -> None:
    server = server_in_turn()
    events = server.emit("assistant.usage", model="m", modelProvider="other", inputTokens=1, outputTokens=1, cost=0.33)
    assert events[-1] == Custom("cost", {"premiumRequests": 0.33})
    assert isinstance(events[0], TokenUsage) and events[0].provider is None


# -- tools


def test_free_text_arguments_are_wrapped_as_json_piece_by_piece() -> None:
    server = server_in_turn()
    call: Json = {"toolCallId": "c", "toolName": "apply_patch", "toolType": "custom"}
    events = server.emit("assistant.tool_call_delta", inputDelta='*** "a"\n', **call)
    events += server.emit("assistant.tool_call_delta", inputDelta="é", **call)
    events += server.emit("tool.execution_start", toolCallId="c", toolName="apply_patch", arguments='*** "a"\né')
    text = "".join(event.delta for event in events if isinstance(event, ToolCallArgs))
    assert orjson.loads(text) == {"input": '*** "a"\né'}
    assert isinstance(events[-1], ToolCallEnd)


def test_arguments_that_differ_from_the_streamed_ones_are_in_the_metadata() -> None:
    server = server_in_turn()
    server.emit("assistant.tool_call_delta", toolCallId="c", toolName="bash", inputDelta='{"a":1}')
    [end] = server.emit("tool.execution_start", toolCallId="c", toolName="bash", arguments={"a": 2})
    assert end == ToolCallEnd("t1:c", {"copilot": {"arguments": {"a": 2}}})


def test_a_call_without_deltas_is_reported_at_once() -> None:
    server = server_in_turn()
    events = server.emit("tool.execution_start", toolCallId="c", toolName="view", arguments={"path": "x"})
    assert events == [ToolCallStart("t1:c", "view"), ToolCallArgs("t1:c", '{"path":"x"}'), ToolCallEnd("t1:c")]
    assert server.emit("tool.execution_start", toolCallId="c", toolName="view", arguments={"path": "x"}) == []


def test_an_id_that_is_used_again_after_its_result_is_another_call() -> None:
    server = server_in_turn()
    for expected in ("t1:c", "t1:c.2"):
        start = server.emit("tool.execution_start", toolCallId="c", toolName="view", arguments={})[0]
        assert isinstance(start, ToolCallStart) and start.id == expected
        [result] = server.emit("tool.execution_complete", toolCallId="c", success=True, result={"content": "ok"})
        assert isinstance(result, ToolCallResult) and result.id == expected


def test_a_failed_call_has_its_reason() -> None:
    server = server_in_turn()
    server.emit("tool.execution_start", toolCallId="c", toolName="bash", arguments={})
    error = {"message": "The user rejected this tool call.", "code": "rejected"}
    [result] = server.emit("tool.execution_complete", toolCallId="c", success=False, error=error)
    assert isinstance(result, ToolCallResult)
    assert result.content == "The user rejected this tool call."
    assert result.metadata == {"copilot": {"success": False, "code": "rejected"}}
    assert result.is_error is True


def test_output_that_two_events_report_is_shown_once() -> None:
    server = server_in_turn()
    server.emit("tool.execution_start", toolCallId="c", toolName="bash", arguments={})
    assert server.emit("tool.execution_partial_result", toolCallId="c", partialOutput="") == []
    [first] = server.emit("tool.shell_output", toolCallId="c", text="one\n", sequence=0, stream="stdout")
    assert first == ActivitySnapshot("t1:c:output", "tool_output", {"toolCallId": "t1:c", "output": ["one\n"]})
    assert server.emit("tool.execution_partial_result", toolCallId="c", partialOutput="one\n") == []
    [more] = server.emit("tool.shell_output", toolCallId="c", text="two\n", sequence=1, stream="stdout")
    assert isinstance(more, ActivityDelta) and more.patch[0]["value"] == "two\n"


def test_output_of_a_command_continues_in_the_next_turn() -> None:
    server = server_in_turn()
    server.emit("tool.execution_start", toolCallId="c", toolName="bash", arguments={})
    server.emit("tool.execution_complete", toolCallId="c", success=True, result={"content": "started"})
    server.emit("session.idle")
    server.dialect.prompt(Prompt([], "t2"))
    [output] = server.emit("tool.shell_output", toolCallId="c", text="late", sequence=0)
    assert isinstance(output, ActivitySnapshot) and output.id == "t1:c:output"


def test_todos_are_requested_and_shown_as_a_plan() -> None:
    server = server_in_turn()
    assert server.emit("session.todos_changed") == []
    rows = [{"title": "one", "status": "done"}, {"title": "two", "status": "pending"}]
    [plan] = server.reply(server.take_request("session.plan.readSqlTodos"), {"rows": rows})
    entries = [{"content": "one", "status": "completed"}, {"content": "two", "status": "pending"}]
    assert plan == ActivitySnapshot("t1:plan", "plan", {"entries": entries})


# -- subagents


def test_events_of_a_subagent_are_its_own() -> None:
    server = server_in_turn()
    server.emit("tool.execution_start", toolCallId="c", toolName="task", arguments={})
    fields: Json = {
        "toolCallId": "c",
        "agentName": "explore",
        "agentDisplayName": "reader",
        "agentDescription": "reads",
    }
    [start] = server.emit("subagent.started", agent="a", **fields)
    assert start == SubagentStarted("t1:a", "reader", "reads", tool_call_id="t1:c")
    [delta] = server.emit("assistant.message_delta", agent="a", messageId="m", deltaContent="hi")
    assert isinstance(delta, TextMessageContent) and delta.subagent == "t1:a"
    assert server.emit("session.idle", agent="a") == []
    assert server.emit("session.model_change", agent="a", newModel="small") == []
    assert "custom.session.models.current" not in server.dialect.session_layer
    assert server.emit("subagent.completed", agent="a", toolCallId="c") == [SubagentFinished("t1:a")]
    assert server.emit("assistant.turn_end", agent="a", turnId="0") == []


def test_a_failed_subagent_has_its_error_and_an_unannounced_one_is_started() -> None:
    server = server_in_turn()
    start, delta = server.emit("assistant.message_delta", agent="b", messageId="m", deltaContent="hi")
    assert start == SubagentStarted("t1:b", "subagent")
    assert server.emit("subagent.failed", agent="b", error="no") == [SubagentError("t1:b", "no")]
    again, _ = server.emit("assistant.message_delta", agent="b", messageId="m", deltaContent="back")
    assert again == SubagentStarted("t1:b.2", "subagent"), "each start has its own id"
    assert delta is not None


# -- other events


def test_an_unknown_event_becomes_raw() -> None:
    server = server_in_turn()
    [raw] = server.emit("session.brand_new", x=1)
    assert isinstance(raw, Raw) and raw.event["params"]["event"]["type"] == "session.brand_new"
    assert isinstance(server.dialect.read([b"Warning: something"])[0], Raw)


def test_a_failed_mcp_server_is_reported() -> None:
    server = server_in_turn()
    assert server.emit("session.mcp_server_status_changed", serverName="x", status="connected") == []
    [notice] = server.emit("session.mcp_server_status_changed", serverName="x", status="failed", error="no")
    assert notice == Custom("copilot.mcp_server", {"serverName": "x", "status": "failed", "error": "no"})


def test_a_compaction_is_reported_with_its_tokens() -> None:
    server = server_in_turn()
    [start] = server.emit("session.compaction_start", trigger="threshold")
    [end] = server.emit("session.compaction_complete", success=True, preCompactionTokens=9, postCompactionTokens=3)
    assert start == Custom("copilot.compaction", {"status": "started", "trigger": "threshold"})
    assert end == Custom("copilot.compaction", {"status": "completed", "tokensBefore": 9, "tokensAfter": 3})


# -- malformed events

SOURCES = sorted(Path(copilot.__path__[0]).glob("*.py"))
FIELDS = sorted({name for path in SOURCES for name in re.findall(r'get\("(\w+)"', path.read_text("utf-8"))})
"""The fields that the dialect reads."""
KINDS = sorted({*AGENT_READERS, *EVENT_READERS, *STATE_READERS, *REQUEST_EVENTS})
CONTAINERS = ("permissionRequest", "promptRequest", "result", "error", "shellExecution", "context", "kind")
NESTED: Any = json.loads("[" * 300 + "]" * 300)
VALUES: list[Any] = [None, True, -1, 1.5, "", "x", [], [[]], [{}], {}, {"type": 7}]


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_of_any_type_in_any_field_is_read(kind: str) -> None:
    for value in VALUES:
        fields = dict.fromkeys(FIELDS, value)
        for data in (value, fields, fields | dict.fromkeys(CONTAINERS, fields)):
            tool = {"name": "x", "description": "", "parameters": {}}
            server = Server(SessionStart("/workspace", tag="s", tools=(tool,))).open_session()
            server.start_turn()
            for event in ({"type": kind, "data": data}, {"type": kind, "data": data, "agentId": value}):
                params = {"sessionId": SESSION, "event": event}
                server.dialect.read([json.dumps({"method": "session.event", "params": params}).encode()])


def test_a_client_tool_whose_name_is_no_text_is_declined() -> None:
    server = server_in_turn()
    [warning] = server.emit("external_tool.requested", requestId="q", toolCallId="c", toolName=[])
    assert isinstance(warning, Warning) and warning.code == "QUESTION_DECLINED"


def test_a_request_whose_id_is_no_id_is_not_answered() -> None:
    server = server_in_turn()
    message = json.dumps({"id": NESTED, "method": "hooks.invoke"}).encode()
    assert isinstance(server.dialect.read([message])[0], Raw)
    assert server.take_requests() == []
