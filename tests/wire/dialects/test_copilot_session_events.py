"""What Copilot does in a turn: words, tools, subagents, asides."""

from __future__ import annotations

import orjson

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
)
from gateway.wire.dialects import Prompt
from tests.wire.dialects.copilot_server import Json, in_turn

# -- words


def test_text_that_did_not_come_in_deltas_is_told_whole() -> None:
    server = in_turn()
    delta, end = server.tell("assistant.message", messageId="a", content="hello", toolRequests=[])
    assert isinstance(delta, TextMessageContent) and (delta.text, delta.message_id) == ("hello", "t1:a")
    assert server.tell("assistant.message", messageId="b", content="", toolRequests=[]) == []
    [thought] = server.tell("assistant.reasoning", reasoningId="r", content="hm")
    assert isinstance(thought, ReasoningMessageContent) and thought.text == "hm"
    assert server.tell("assistant.reasoning", reasoningId="r", content="hm") == []
    assert end is not None


def test_text_that_goes_on_after_a_thought_is_a_message_of_its_own() -> None:
    server = in_turn()
    server.tell("assistant.message_delta", messageId="a", deltaContent="one ")
    server.tell("assistant.reasoning_delta", reasoningId="r", deltaContent="hm")
    [again] = server.tell("assistant.message_delta", messageId="a", deltaContent="two")
    assert isinstance(again, TextMessageContent) and again.message_id == "t1:a.2"
    assert server.tell("assistant.message", messageId="a", content="one two")[-1] is not None
    assert not any(
        isinstance(event, TextMessageContent) for event in server.tell("assistant.message", messageId="a", content="x")
    )


def test_what_was_used_counts_the_cache_inside_the_input() -> None:
    server = in_turn()
    told: Json = {"inputTokens": 1507, "outputTokens": 12, "cacheReadTokens": 1000, "cacheWriteTokens": 500}
    [used] = server.tell("assistant.usage", model="claude-sonnet-5", modelProvider="anthropic", cost=0, **told)
    assert used == TokenUsage(
        provider="anthropic",
        model="claude-sonnet-5",
        input_tokens=1507,
        output_tokens=12,
        total_tokens=1519,
        cached_input_tokens=1000,
        cache_write_input_tokens=500,
    )


def test_a_premium_request_is_a_cost() -> None:
    server = in_turn()
    found = server.tell("assistant.usage", model="m", modelProvider="other", inputTokens=1, outputTokens=1, cost=0.33)
    assert found[-1] == Custom("cost", {"premiumRequests": 0.33})
    assert isinstance(found[0], TokenUsage) and found[0].provider is None


# -- tools


def test_free_text_arguments_are_wrapped_as_json_piece_by_piece() -> None:
    server = in_turn()
    told: Json = {"toolCallId": "c", "toolName": "apply_patch", "toolType": "custom"}
    found = server.tell("assistant.tool_call_delta", inputDelta='*** "a"\n', **told)
    found += server.tell("assistant.tool_call_delta", inputDelta="é", **told)
    found += server.tell("tool.execution_start", toolCallId="c", toolName="apply_patch", arguments='*** "a"\né')
    text = "".join(event.delta for event in found if isinstance(event, ToolCallArgs))
    assert orjson.loads(text) == {"input": '*** "a"\né'}
    assert isinstance(found[-1], ToolCallEnd)


def test_arguments_that_were_changed_after_they_streamed_are_told_beside() -> None:
    server = in_turn()
    server.tell("assistant.tool_call_delta", toolCallId="c", toolName="bash", inputDelta='{"a":1}')
    [end] = server.tell("tool.execution_start", toolCallId="c", toolName="bash", arguments={"a": 2})
    assert end == ToolCallEnd("t1:c", {"copilot": {"arguments": {"a": 2}}})


def test_a_call_that_never_streamed_is_told_at_once() -> None:
    server = in_turn()
    found = server.tell("tool.execution_start", toolCallId="c", toolName="view", arguments={"path": "x"})
    assert found == [ToolCallStart("t1:c", "view"), ToolCallArgs("t1:c", '{"path":"x"}'), ToolCallEnd("t1:c")]
    assert server.tell("tool.execution_start", toolCallId="c", toolName="view", arguments={"path": "x"}) == []


def test_an_id_that_comes_again_after_its_result_is_another_call() -> None:
    server = in_turn()
    for expected in ("t1:c", "t1:c.2"):
        start = server.tell("tool.execution_start", toolCallId="c", toolName="view", arguments={})[0]
        assert isinstance(start, ToolCallStart) and start.id == expected
        [result] = server.tell("tool.execution_complete", toolCallId="c", success=True, result={"content": "ok"})
        assert isinstance(result, ToolCallResult) and result.id == expected


def test_a_failed_call_says_why() -> None:
    server = in_turn()
    server.tell("tool.execution_start", toolCallId="c", toolName="bash", arguments={})
    error = {"message": "The user rejected this tool call.", "code": "rejected"}
    [result] = server.tell("tool.execution_complete", toolCallId="c", success=False, error=error)
    assert isinstance(result, ToolCallResult)
    assert result.content == "The user rejected this tool call."
    assert result.metadata == {"copilot": {"success": False, "code": "rejected"}}


def test_output_that_is_told_twice_is_shown_once() -> None:
    server = in_turn()
    server.tell("tool.execution_start", toolCallId="c", toolName="bash", arguments={})
    assert server.tell("tool.execution_partial_result", toolCallId="c", partialOutput="") == []
    [first] = server.tell("tool.shell_output", toolCallId="c", text="one\n", sequence=0, stream="stdout")
    assert first == ActivitySnapshot("t1:c:output", "tool_output", {"toolCallId": "t1:c", "output": ["one\n"]})
    assert server.tell("tool.execution_partial_result", toolCallId="c", partialOutput="one\n") == []
    [more] = server.tell("tool.shell_output", toolCallId="c", text="two\n", sequence=1, stream="stdout")
    assert isinstance(more, ActivityDelta) and more.patch[0]["value"] == "two\n"


def test_output_of_a_command_goes_on_in_the_next_turn() -> None:
    server = in_turn()
    server.tell("tool.execution_start", toolCallId="c", toolName="bash", arguments={})
    server.tell("tool.execution_complete", toolCallId="c", success=True, result={"content": "started"})
    server.tell("session.idle")
    server.dialect.prompt(Prompt([], "t2"))
    [printed] = server.tell("tool.shell_output", toolCallId="c", text="late", sequence=0)
    assert isinstance(printed, ActivitySnapshot) and printed.id == "t1:c:output"


def test_todos_are_asked_for_and_shown_as_a_plan() -> None:
    server = in_turn()
    assert server.tell("session.todos_changed") == []
    rows = [{"title": "one", "status": "done"}, {"title": "two", "status": "pending"}]
    [plan] = server.reply(server.request("session.plan.readSqlTodos"), {"rows": rows})
    entries = [{"content": "one", "status": "completed"}, {"content": "two", "status": "pending"}]
    assert plan == ActivitySnapshot("t1:plan", "plan", {"entries": entries})


# -- subagents


def test_a_subagent_has_a_lane_of_its_own() -> None:
    server = in_turn()
    server.tell("tool.execution_start", toolCallId="c", toolName="task", arguments={})
    told: Json = {"toolCallId": "c", "agentName": "explore", "agentDisplayName": "looker", "agentDescription": "looks"}
    [start] = server.tell("subagent.started", agent="a", **told)
    assert start == SubagentStarted("t1:a", "looker", "looks", tool_call_id="t1:c")
    [delta] = server.tell("assistant.message_delta", agent="a", messageId="m", deltaContent="hi")
    assert isinstance(delta, TextMessageContent) and delta.subagent == "t1:a"
    assert server.tell("session.idle", agent="a") == []
    assert server.tell("session.model_change", agent="a", newModel="small") == []
    assert "custom.session.models.current" not in server.dialect.session_layer
    assert server.tell("subagent.completed", agent="a", toolCallId="c") == [SubagentFinished("t1:a")]
    assert server.tell("assistant.turn_end", agent="a", turnId="0") == []


def test_a_subagent_that_fails_says_why_and_one_that_nobody_announced_is_announced() -> None:
    server = in_turn()
    start, delta = server.tell("assistant.message_delta", agent="b", messageId="m", deltaContent="hi")
    assert start == SubagentStarted("t1:b", "subagent")
    assert server.tell("subagent.failed", agent="b", error="no") == [SubagentError("t1:b", "no")]
    again, _ = server.tell("assistant.message_delta", agent="b", messageId="m", deltaContent="back")
    assert again == SubagentStarted("t1:b.2", "subagent"), "an id is one invocation's"
    assert delta is not None


# -- the rest


def test_what_is_not_understood_is_handed_on_whole() -> None:
    server = in_turn()
    [unread] = server.tell("session.brand_new", x=1)
    assert isinstance(unread, Raw) and unread.event["params"]["event"]["type"] == "session.brand_new"
    assert isinstance(server.dialect.read([b"Warning: something"])[0], Raw)


def test_a_server_that_cannot_reach_mcp_says_so() -> None:
    server = in_turn()
    assert server.tell("session.mcp_server_status_changed", serverName="x", status="connected") == []
    [told] = server.tell("session.mcp_server_status_changed", serverName="x", status="failed", error="no")
    assert told == Custom("copilot.mcp_server", {"serverName": "x", "status": "failed", "error": "no"})


def test_a_compaction_is_told_with_its_tokens() -> None:
    server = in_turn()
    [start] = server.tell("session.compaction_start", trigger="threshold")
    [end] = server.tell("session.compaction_complete", success=True, preCompactionTokens=9, postCompactionTokens=3)
    assert start == Custom("copilot.compaction", {"status": "started", "trigger": "threshold"})
    assert end == Custom("copilot.compaction", {"status": "completed", "tokensBefore": 9, "tokensAfter": 3})
