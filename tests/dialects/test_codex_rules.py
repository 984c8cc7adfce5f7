"""The rules of the app server's dialect, one by one."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import pytest

from gateway.errors import AgentFault
from gateway.events import (
    ActivityPatched,
    ActivitySet,
    Broke,
    Custom,
    Ended,
    Event,
    ReasoningDelta,
    ReasoningEnd,
    SubagentBroke,
    SubagentEnd,
    SubagentStart,
    TextDelta,
    TextEnd,
    ToolArgs,
    ToolEnd,
    ToolResult,
    ToolStart,
    Unread,
    Used,
    Warned,
)
from gateway.wire.dialects import Begin, Prompt
from gateway.wire.dialects.codex import Codex
from tests.dialects.test_codex import compact, ready

MODES = {
    "agent": {"approvalPolicy": "untrusted", "sandbox": "workspace-write"},
    "plan": {"approvalPolicy": "on-request", "sandbox": "read-only", "collaboration": "plan"},
}


def sent(dialect: Codex) -> list[dict[str, Any]]:
    messages, dialect.outbox = [json.loads(message) for message in dialect.outbox], []
    return messages


def told(method: str, **params: Any) -> bytes:
    return compact({"method": method, "params": {"threadId": "th", "turnId": "tu", **params}})


def hear(dialect: Codex, method: str, **params: Any) -> list[Event]:
    return dialect.read([told(method, **params)])


def prompted(text: str = "hello", **fields: Any) -> Codex:
    """In a turn that Codex has begun, and calls `tu`."""
    dialect = ready()
    dialect.prompt(Prompt([{"type": "text", "text": text}], "t1", **fields))
    hear(dialect, "turn/started", turn={"id": "tu", "rootTurnId": "tu"})
    dialect.outbox.clear()
    return dialect


def completed(dialect: Codex, status: str = "completed", turn: str = "tu", error: Any = None) -> list[Event]:
    return hear(dialect, "turn/completed", turn={"id": turn, "status": status, "error": error})


def item(dialect: Codex, moment: str, **fields: Any) -> list[Event]:
    return hear(dialect, f"item/{moment}", item={"id": "i1", **fields})


def of(events: Sequence[Event], kind: type) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def begun(**fields: Any) -> Codex:
    dialect = Codex()
    dialect.begin(Begin("/workspace", **fields))
    return dialect


def answer(dialect: Codex, result: Any = None, error: Any = None) -> None:
    """To the newest request of the dialect's."""
    [*_, request] = [message for message in sent(dialect) if "id" in message]
    body = {"id": request["id"], **({"result": result} if error is None else {"error": error})}
    dialect.read([compact(body)])


# -- opening


def test_a_session_is_opened_in_three_steps() -> None:
    dialect = begun(params={"thread": {"approvalPolicy": "untrusted"}})
    [first] = sent(dialect)
    assert first["method"] == "initialize" and first["id"] == "s:1" and not dialect.ready
    assert "thread/started" in first["params"]["capabilities"]["optOutNotificationMethods"]
    dialect.read([b'{"id":"s:1","result":{"userAgent":"agui_gateway/0.166.0 (Debian 12; x86_64)"}}'])
    second, third = sent(dialect)
    assert second == {"method": "initialized"}
    assert third["method"] == "thread/start"
    assert third["params"] == {"cwd": "/workspace", "approvalPolicy": "untrusted"}
    dialect.read([b'{"id":"s:2","result":{"thread":{"id":"th"},"model":"gpt-5.5"}}'])
    assert dialect.ready and dialect.session_id == "th"
    assert dialect.announced == {"identity.version": "0.166.0"}
    assert dialect.facts["custom.acp.models.current"] == "gpt-5.5"


def test_a_second_session_of_a_process_does_not_introduce_itself_again() -> None:
    [first] = sent(begun(params={"connected": True}, tag="other"))
    assert first["method"] == "thread/start" and first["id"] == "other:1"


def test_that_another_session_was_faster_is_no_failure() -> None:
    dialect = begun()
    answer(dialect, error={"code": -32600, "message": "Already initialized"})
    assert dialect.failure is None
    assert [message["method"] for message in sent(dialect)] == ["thread/start"]


@pytest.mark.parametrize(
    ("words", "code"), [("Not initialized", "AGENT_ERROR"), ("you are not logged in", "AUTH_REQUIRED")]
)
def test_any_other_error_at_the_start_is_one(words: str, code: str) -> None:
    dialect = begun()
    answer(dialect, error={"code": -32600, "message": words})
    assert dialect.failure is not None and dialect.failure.code == code and words in dialect.failure.detail
    assert not dialect.ready


@pytest.mark.parametrize(("fork", "method"), [(False, "thread/resume"), (True, "thread/fork")])
def test_a_thread_comes_back_with_the_permissions_of_today_and_without_its_past(fork: bool, method: str) -> None:
    thread = {"approvalPolicy": "untrusted", "sandbox": "read-only"}
    dialect = begun(session_id="old", fork=fork, params={"thread": thread, "connected": True})
    [request] = sent(dialect)
    assert request["method"] == method
    assert request["params"] == {"threadId": "old", "excludeTurns": True, "cwd": "/workspace", **thread}


def test_a_fork_of_what_is_gone_fails() -> None:
    dialect = begun(session_id="old", fork=True, params={"connected": True})
    answer(dialect, error={"code": -32600, "message": "no rollout found for thread id old"})
    assert isinstance(dialect.failure, AgentFault) and dialect.failure.code == "SESSION_NOT_FOUND"


def test_an_answer_without_a_thread_is_a_failure() -> None:
    dialect = begun(params={"connected": True})
    answer(dialect, {"thread": {}})
    assert dialect.failure is not None


def test_mcp_servers_and_directories_become_configuration() -> None:
    servers = (
        {"name": "a", "command": "x", "args": ["-y"], "env": [{"name": "K", "value": "v"}]},
        {"type": "http", "name": "b", "url": "http://b/mcp", "headers": [{"name": "H", "value": "v"}]},
    )
    config = {"model_reasoning_summary": "auto"}
    params = {"thread": {"config": config}, "connected": True}
    [request] = sent(begun(mcp_servers=servers, directories=("/more",), params=params))
    assert request["params"]["config"] == {
        "model_reasoning_summary": "auto",
        "mcp_servers": {
            "a": {"command": "x", "args": ["-y"], "env": {"K": "v"}},
            "b": {"url": "http://b/mcp", "http_headers": {"H": "v"}},
        },
        "sandbox_workspace_write.writable_roots": ["/more"],
    }


# -- prompts


def test_a_prompt_is_a_turn_with_all_that_was_wished_for() -> None:
    dialect = ready()
    blocks = [
        {"type": "text", "text": "look"},
        {"type": "image", "data": "AAAA", "mimeType": "image/jpeg"},
        {"type": "resource", "resource": {"uri": "x", "blob": "AAAA", "mimeType": "application/pdf"}},
    ]
    thinking = {"effort": "high", "summary": "detailed"}
    schema = {"type": "object"}
    dialect.prompt(
        Prompt(blocks, "t1", model="gpt-6-sol", thinking=thinking, output_schema=schema, files={2: "/tmp/a.pdf"})
    )
    [request] = sent(dialect)
    assert request["method"] == "turn/start"
    assert request["params"] == {
        "threadId": "th",
        "input": [
            {"type": "text", "text": "look", "text_elements": []},
            {"type": "image", "url": "data:image/jpeg;base64,AAAA"},
            {"type": "text", "text": "The user attached a file: /tmp/a.pdf", "text_elements": []},
        ],
        "model": "gpt-6-sol",
        "effort": "high",
        "summary": "detailed",
        "outputSchema": schema,
    }


def test_a_mode_is_set_with_the_turn() -> None:
    dialect = ready(params={"modes": MODES, "mode": "agent"}, directories=("/more",))
    assert dialect.facts["custom.acp.modes.current"] == "agent"
    assert [mode["id"] for mode in dialect.facts["custom.acp.modes.available"]] == ["agent", "plan"]
    dialect.prompt(Prompt([], "t1", mode="plan", thinking={"effort": "low"}))
    [request] = sent(dialect)
    assert request["params"]["approvalPolicy"] == "on-request"
    assert request["params"]["sandboxPolicy"] == {"type": "readOnly", "networkAccess": False}
    settings = {"model": "gpt-5.5", "reasoning_effort": "low", "developer_instructions": None}
    assert request["params"]["collaborationMode"] == {"mode": "plan", "settings": settings}
    assert dialect.facts["custom.acp.modes.current"] == "plan"


def test_a_mode_that_there_is_not_is_told_and_changes_nothing() -> None:
    dialect = ready(params={"modes": MODES})
    dialect.prompt(Prompt([], "t1", mode="dream"))
    [request] = sent(dialect)
    assert set(request["params"]) == {"threadId", "input"}
    assert [event.code for event in of(dialect.read([]), Warned)] == ["UNKNOWN_MODE"]


def test_a_turn_that_is_refused_has_failed() -> None:
    dialect = ready()
    dialect.prompt(Prompt([], "t1"))
    [request] = sent(dialect)
    error = {"code": -32600, "message": "thread not found: th"}
    [broke] = dialect.read([compact({"id": request["id"], "error": error})])
    assert isinstance(broke, Broke) and broke.code == "SESSION_NOT_FOUND" and not dialect.busy


def test_an_answer_that_fits_a_schema_is_the_turns_result() -> None:
    dialect = prompted(output_schema={"type": "object"})
    item(dialect, "completed", type="agentMessage", text='{"a": 1}')
    assert completed(dialect) == [Ended("end_turn", {"a": 1})]


# -- the end of a turn


def test_a_turn_ends_by_its_own_id_only() -> None:
    dialect = prompted()
    assert completed(dialect, turn="another") == [] and dialect.busy
    assert completed(dialect) == [Ended("end_turn")] and not dialect.busy


def test_the_end_of_the_turn_before_is_not_that_of_this_one() -> None:
    dialect = prompted()
    completed(dialect)
    dialect.prompt(Prompt([], "t2"))
    assert completed(dialect) == [] and dialect.busy


def test_a_turn_that_codex_began_by_itself_does_not_end_ours() -> None:
    dialect = ready()
    hear(dialect, "turn/started", turn={"id": "unasked"})
    dialect.prompt(Prompt([], "t1"))
    assert completed(dialect, turn="unasked") == [] and dialect.busy


def test_an_interrupted_turn_was_cancelled_whoever_did_it() -> None:
    assert completed(prompted(), "interrupted") == [Ended("cancelled")]


def test_a_turn_that_fails_while_it_is_cancelled_was_cancelled() -> None:
    dialect = prompted()
    dialect.cancel()
    assert completed(dialect, "failed", error={"message": "x"}) == [Ended("cancelled")]


@pytest.mark.parametrize(
    ("info", "code"),
    [
        ("unauthorized", "AUTH_REQUIRED"),
        ({"httpConnectionFailed": {"httpStatusCode": 401}}, "AUTH_REQUIRED"),
        ({"httpConnectionFailed": {"httpStatusCode": 500}}, "MODEL_ERROR"),
        ("usageLimitExceeded", "MODEL_ERROR"),
        ("contextWindowExceeded", "MODEL_ERROR"),
        ("sessionBudgetExceeded", "TURN_LIMIT"),
        ("sandboxError", "AGENT_ERROR"),
        ("something new", "MODEL_ERROR"),
        (["no", "such", "shape"], "MODEL_ERROR"),
        (None, "MODEL_ERROR"),
    ],
)
def test_every_kind_of_failure_has_a_code(info: Any, code: str) -> None:
    error = {"message": "it broke", "codexErrorInfo": info, "additionalDetails": "in two"}
    assert completed(prompted(), "failed", error=error) == [Broke("it broke: in two", code)]


def test_a_failure_without_words_takes_those_told_before() -> None:
    dialect = prompted()
    assert hear(dialect, "error", error={"message": "the model is gone"}, willRetry=False) == []
    assert completed(dialect, "failed") == [Broke("the model is gone", "MODEL_ERROR")]


def test_a_retry_is_no_end() -> None:
    dialect = prompted()
    [warned] = hear(dialect, "error", error={"message": "Reconnecting... 1/5"}, willRetry=True)
    assert isinstance(warned, Warned) and warned.code == "MODEL_RETRY" and dialect.busy


# -- cancelling


def test_cancelling_interrupts_the_turn_by_its_id() -> None:
    dialect = prompted()
    assert dialect.cancel() is True
    [request] = sent(dialect)
    assert request["method"] == "turn/interrupt" and request["params"] == {"threadId": "th", "turnId": "tu"}


def test_cancelling_waits_until_there_is_a_turn_to_interrupt() -> None:
    dialect = ready()
    dialect.prompt(Prompt([], "t1"))
    [request] = sent(dialect)
    assert dialect.cancel() is True and sent(dialect) == []
    dialect.read([compact({"id": request["id"], "result": {"turn": {"id": "tu"}}})])
    assert sent(dialect) == [], "the server has answered, and still knows no turn"
    hear(dialect, "turn/started", turn={"id": "tu"})
    assert [message["method"] for message in sent(dialect)] == ["turn/interrupt"]


def test_a_process_that_dies_while_it_is_cancelled_has_ended_its_turn() -> None:
    dialect = prompted()
    item(dialect, "started", type="commandExecution", command="sleep 9")
    dialect.cancel()
    events = dialect.closed(-15, "")
    assert [type(event).__name__ for event in events] == ["ToolResult", "Ended"]
    assert events[-1] == Ended("cancelled")


def test_a_process_that_dies_leaves_no_call_open_and_no_ticket_waiting() -> None:
    dialect = prompted()
    item(dialect, "started", type="commandExecution", command="sleep 9")
    ticket = dialect.do("models")
    assert [type(event).__name__ for event in dialect.closed(1, "")] == ["ToolResult"]
    assert dialect.replies[ticket].error is not None


# -- messages and thoughts


def test_a_message_that_no_delta_told_is_told_when_it_is_complete() -> None:
    events = item(prompted(), "completed", type="agentMessage", text="whole", phase="final_answer")
    metadata = {"codex": {"phase": "final_answer"}}
    assert events == [TextDelta("whole", "t1:i1", metadata=metadata), TextEnd("t1:i1")]


def test_only_what_no_delta_told_is_told_at_the_end() -> None:
    dialect = prompted()
    assert hear(dialect, "item/agentMessage/delta", itemId="i1", delta="who") == [TextDelta("who", "t1:i1")]
    assert item(dialect, "completed", type="agentMessage", text="whole") == [TextDelta("le", "t1:i1"), TextEnd("t1:i1")]


def test_what_was_said_cannot_be_taken_back() -> None:
    dialect = prompted()
    hear(dialect, "item/agentMessage/delta", itemId="i1", delta="one")
    assert item(dialect, "completed", type="agentMessage", text="two") == [TextEnd("t1:i1")]


def test_every_part_of_a_summary_is_a_thought_of_its_own() -> None:
    dialect = prompted()
    first = hear(dialect, "item/reasoning/summaryTextDelta", itemId="i1", delta="one", summaryIndex=0)
    second = hear(dialect, "item/reasoning/summaryTextDelta", itemId="i1", delta="two", summaryIndex=1)
    raw = hear(dialect, "item/reasoning/textDelta", itemId="i1", delta="raw", contentIndex=0)
    assert [*first, *second, *raw] == [
        ReasoningDelta("one", "t1:i1:s0"),
        ReasoningDelta("two", "t1:i1:s1"),
        ReasoningDelta("raw", "t1:i1:c0"),
    ]
    ends = item(dialect, "completed", type="reasoning", summary=["one", "two", "three"], content=["raw"])
    assert of(ends, ReasoningDelta) == [ReasoningDelta("three", "t1:i1:s2")]
    assert [event.message_id for event in of(ends, ReasoningEnd)] == ["t1:i1:s0", "t1:i1:s1", "t1:i1:s2", "t1:i1:c0"]


def test_a_plan_in_words_is_said() -> None:
    dialect = prompted()
    assert hear(dialect, "item/plan/delta", itemId="i1", delta="# Plan") == [TextDelta("# Plan", "t1:i1")]
    assert item(dialect, "completed", type="plan", text="# Plan") == [TextEnd("t1:i1")]


def test_a_plan_in_steps_is_shown_as_any_other_agents() -> None:
    dialect = prompted()
    steps = [{"step": "read", "status": "inProgress"}, {"step": "write", "status": "pending"}]
    entries = [{"content": "read", "status": "in_progress"}, {"content": "write", "status": "pending"}]
    assert hear(dialect, "turn/plan/updated", plan=steps) == [ActivitySet("t1:plan", "plan", {"entries": entries})]
    steps[0]["status"] = "completed"
    [patched] = hear(dialect, "turn/plan/updated", plan=steps)
    assert isinstance(patched, ActivityPatched) and len(patched.patch) == 1


# -- calls


def test_arguments_that_are_known_only_at_the_end_come_at_the_end() -> None:
    dialect = prompted()
    assert [type(event) for event in item(dialect, "started", type="webSearch", query="")] == [ToolStart]
    action = {"type": "search", "query": "weather"}
    events = item(dialect, "completed", type="webSearch", query="weather", action=action, results=[{"url": "u"}])
    assert [type(event) for event in events] == [ToolArgs, ToolEnd, ToolResult]
    assert json.loads(of(events, ToolArgs)[0].delta) == {"query": "weather", "action": action}
    assert of(events, ToolResult)[0].content == '[{"url":"u"}]'


def test_a_picture_that_was_made_is_the_calls_result() -> None:
    events = item(prompted(), "completed", type="imageGeneration", status="completed", result="AAAA", revisedPrompt="a cat")
    source = {"type": "data", "mimeType": "image/png", "value": "AAAA"}
    assert of(events, ToolResult)[0].content == [{"type": "image", "source": source}]


def test_what_an_mcp_tool_gives_may_be_a_picture_or_a_structure() -> None:
    blocks = [{"type": "text", "text": "see"}, {"type": "image", "data": "AAAA", "mimeType": "image/png"}]
    seen = item(prompted(), "completed", type="mcpToolCall", server="s", tool="t", result={"content": blocks})
    assert [part["type"] for part in of(seen, ToolResult)[0].content] == ["text", "image"]
    structured = {"content": [], "structuredContent": {"a": 1}}
    told_so = item(prompted(), "completed", type="mcpToolCall", server="s", tool="t", result=structured)
    assert of(told_so, ToolResult)[0].content == '{"a":1}'


def test_a_call_that_is_told_twice_is_one_call() -> None:
    dialect = prompted()
    assert len(item(dialect, "started", type="commandExecution", command="ls")) == 3
    assert item(dialect, "started", type="commandExecution", command="ls") == []
    assert len(item(dialect, "completed", type="commandExecution", aggregatedOutput="a", status="completed")) == 1
    assert item(dialect, "completed", type="commandExecution", aggregatedOutput="a", status="completed") == []


def test_a_failed_call_never_has_an_empty_result() -> None:
    [*_, result] = item(prompted(), "completed", type="commandExecution", status="failed", exitCode=2)
    assert isinstance(result, ToolResult) and result.content == "The agent reports: failed, exit code 2."


def test_a_command_that_outlives_its_turn_is_told_of_when_it_is_over() -> None:
    dialect = prompted()
    item(dialect, "started", type="commandExecution", command="make")
    [unreported, _] = completed(dialect)
    assert isinstance(unreported, ToolResult)
    dialect.prompt(Prompt([], "t2"))
    [late] = item(dialect, "completed", type="commandExecution", status="completed", exitCode=0, aggregatedOutput="ok")
    value = {"toolCallId": "t1:i1", "status": "completed", "exitCode": 0, "output": "ok"}
    assert late == Custom("codex.tool_call", value)


def test_a_tools_progress_is_shown_while_it_runs() -> None:
    dialect = prompted()
    item(dialect, "started", type="mcpToolCall", server="s", tool="t", arguments={})
    [first] = hear(dialect, "item/mcpToolCall/progress", itemId="i1", message="half")
    content = {"toolCallId": "t1:i1", "output": ["half\n"]}
    assert first == ActivitySet("t1:i1:output", "tool_output", content)


def test_the_first_words_of_a_command_that_were_missed_are_told_at_its_end() -> None:
    dialect = prompted()
    item(dialect, "started", type="commandExecution", command="x", cwd="/w")
    [shown] = hear(dialect, "item/commandExecution/outputDelta", itemId="i1", delta="two\n")
    about = {"terminalId": "i1", "toolCallId": "t1:i1", "cwd": "/w"}
    assert shown == ActivitySet("t1:terminal:i1", "terminal", {**about, "output": ["two\n"]})
    events = item(dialect, "completed", type="commandExecution", aggregatedOutput="one\ntwo\n", exitCode=0)
    patches = [event.patch for event in of(events, ActivityPatched)]
    assert patches == [
        [{"op": "replace", "path": "/output", "value": ["one\ntwo\n"]}],
        [{"op": "add", "path": "/exitCode", "value": 0}],
    ]


def test_the_turns_difference_is_told_once_for_each_change() -> None:
    dialect = prompted()
    first = hear(dialect, "turn/diff/updated", diff="+a")
    assert first == [Custom("codex.diff", {"diff": "+a"})]
    assert hear(dialect, "turn/diff/updated", diff="+a") == []


# -- subagents


def child(method: str, **params: Any) -> bytes:
    return compact({"method": method, "params": {"threadId": "ch", "turnId": "cu", **params}})


def spawned() -> Codex:
    dialect = prompted()
    item(dialect, "completed", type="collabAgentToolCall", tool="spawnAgent", receiverThreadIds=["ch"], prompt="look")
    return dialect


def test_a_subagents_words_are_its_own() -> None:
    events = spawned().read([child("item/agentMessage/delta", itemId="m", delta="hi")])
    assert events == [
        SubagentStart("t1/1", "subagent", "look", tool_call_id="t1:i1"),
        TextDelta("hi", "t1/1:m", "t1/1"),
    ]


def test_a_subagent_may_be_known_by_its_turn_alone() -> None:
    [start] = prompted().read([child("turn/started", turn={"id": "cu", "rootTurnId": "tu"})])
    assert isinstance(start, SubagentStart)


def test_a_subagents_end_is_not_the_turns() -> None:
    dialect = spawned()
    *_, ended = dialect.read([child("turn/completed", turn={"id": "cu", "status": "completed"})])
    assert isinstance(ended, SubagentEnd) and dialect.busy
    error = {"message": "no"}
    *_, broke = dialect.read([child("turn/completed", turn={"id": "cv", "status": "failed", "error": error})])
    assert broke == SubagentBroke("t1/2", "no", "MODEL_ERROR") and dialect.busy


def test_a_subagent_has_a_name_where_codex_gives_it_one() -> None:
    dialect = prompted()
    item(dialect, "started", type="subAgentActivity", kind="started", agentThreadId="ch", agentPath="/root/explorer")
    [start, _] = dialect.read([child("item/agentMessage/delta", itemId="m", delta="hi")])
    assert isinstance(start, SubagentStart) and start.name == "/root/explorer"


def test_other_sessions_threads_are_left_alone() -> None:
    dialect = prompted()
    stranger = {"threadId": "stranger", "turnId": "x"}
    messages = [
        {"method": "item/agentMessage/delta", "params": {**stranger, "itemId": "m", "delta": "hi"}},
        {"method": "turn/completed", "params": {**stranger, "turn": {"id": "tu", "status": "completed"}}},
        {"method": "item/commandExecution/requestApproval", "id": 0, "params": {**stranger, "itemId": "c"}},
        {"id": "other:3", "result": {}},
    ]
    assert dialect.read([compact(message) for message in messages]) == []
    assert dialect.busy and sent(dialect) == []


# -- usage


def usage(dialect: Codex, total: int, last: int, turn: str = "tu") -> list[Event]:
    counts = {"total": {"inputTokens": total, "outputTokens": 0}, "last": {"inputTokens": last, "outputTokens": 0}}
    return hear(dialect, "thread/tokenUsage/updated", turnId=turn, tokenUsage={**counts, "modelContextWindow": 1000})


def test_tokens_are_differences_of_the_total_so_that_none_counts_twice() -> None:
    dialect = prompted()
    [first] = usage(dialect, 10, 10)
    assert first == Used("lab", "gpt-5.5", input_tokens=10, output_tokens=0, total_tokens=10)
    assert usage(dialect, 10, 10) == [], "told twice"
    [second] = usage(dialect, 25, 99)
    assert isinstance(second, Used) and second.input_tokens == 15
    assert dialect.facts["custom.acp.usage.size"] == 1000


def test_what_a_thread_had_used_before_it_came_back_is_not_told_again() -> None:
    dialect = Codex()
    dialect.session_id = "th"
    dialect.begin(Begin("/workspace", "th", params={"connected": True}))
    dialect.read([b'{"id":"s:1","result":{"thread":{"id":"th"},"model":"m"}}'])
    dialect.prompt(Prompt([], "t1"))
    assert usage(dialect, 100, 7, "an old turn") == []
    hear(dialect, "turn/started", turn={"id": "tu"})
    [used] = usage(dialect, 105, 5)
    assert isinstance(used, Used) and used.input_tokens == 5


def test_without_a_count_from_before_the_last_call_is_what_counts() -> None:
    dialect = Codex()
    dialect.begin(Begin("/workspace", "th", params={"connected": True}))
    dialect.session_id = "th"
    dialect.read([b'{"id":"s:1","result":{"thread":{"id":"th"}}}'])
    dialect.prompt(Prompt([], "t1"))
    hear(dialect, "turn/started", turn={"id": "tu"})
    [used] = usage(dialect, 105, 5)
    assert isinstance(used, Used) and used.input_tokens == 5


# -- what else is told


def test_a_warning_is_told_once() -> None:
    dialect = prompted()
    assert [event.message for event in of(hear(dialect, "warning", message="old model"), Warned)] == ["old model"]
    assert hear(dialect, "warning", message="old model") == []


def test_an_mcp_server_that_does_not_start_is_told_of() -> None:
    dialect = prompted()
    assert hear(dialect, "mcpServer/startupStatus/updated", name="a", status="ready") == []
    [warned] = hear(dialect, "mcpServer/startupStatus/updated", name="a", status="failed", error="no such file")
    assert isinstance(warned, Warned) and "no such file" in warned.message


def test_settings_are_facts_of_the_session() -> None:
    dialect = prompted()
    settings = {
        "model": "gpt-6-sol", "effort": "high", "approvalPolicy": {"granular": {}}, "sandboxPolicy": {"type": "readOnly"}
    }  # fmt: skip
    assert hear(dialect, "thread/settings/updated", threadSettings=settings) == []
    assert dialect.facts["custom.acp.models.current"] == "gpt-6-sol"
    assert dialect.facts["custom.codex.approvalPolicy"] == "granular"
    assert dialect.facts["custom.codex.sandbox"] == "readOnly"
    hear(dialect, "thread/settings/updated", threadSettings={**settings, "effort": None})
    assert "custom.codex.effort" not in dialect.facts
    hear(dialect, "thread/name/updated", threadName="A title")
    assert dialect.facts["custom.acp.sessionInfo.title"] == "A title"


def test_another_model_than_asked_for_is_told_of() -> None:
    dialect = prompted()
    [warned] = hear(dialect, "model/rerouted", fromModel="a", toModel="b", reason="load")
    assert isinstance(warned, Warned) and dialect.facts["custom.acp.models.current"] == "b"


def test_what_has_no_event_of_its_own_is_handed_on_by_name() -> None:
    dialect = prompted()
    item(dialect, "started", type="commandExecution", command="cat")
    [stdin] = hear(dialect, "item/commandExecution/terminalInteraction", itemId="i1", processId="1", stdin="x\n")
    assert isinstance(stdin, Custom) and stdin.name == "codex.stdin" and stdin.value["toolCallId"] == "t1:i1"
    [compacted] = item(dialect, "completed", type="contextCompaction")
    assert isinstance(compacted, Custom) and compacted.name == "codex.compaction"


@pytest.mark.parametrize(
    "message",
    [
        b"not json",
        b"[1]",
        b"{}",
        b'{"id":"s:999","result":{}}',
        told("item/started", item={"id": "x", "type": "dream"}),
        told("item/completed", item={"type": "agentMessage", "text": "no id"}),
        told("item/completed", item=[]),
        told("item/agentMessage/delta", itemId="m"),
        told("item/commandExecution/outputDelta", itemId="unknown", delta="x"),
        told("turn/plan/updated", plan=7),
        told("turn/completed", turn={"id": "tu", "status": "dreaming"}),
        told("news/from/tomorrow"),
    ],
)
def test_what_is_not_understood_is_handed_on(message: bytes) -> None:
    dialect = prompted()
    assert [type(event) for event in dialect.read([message])] == [Unread]
    assert dialect.busy


# -- whose message


@pytest.mark.parametrize(
    ("message", "owner"),
    [
        ({"method": "x", "params": {"threadId": "a", "delta": '"threadId":"b"'}}, "a"),
        ({"method": "x", "params": {"item": {"arguments": {"threadId": "b"}}, "threadId": "a"}}, "a"),
        ({"method": "x", "id": 0, "params": {"threadId": "a", "arguments": {"threadId": "b"}}}, "a"),
        ({"method": "thread/started", "params": {"thread": {"id": "a"}}}, "a"),
        ({"method": "x", "params": {"threadId": None}}, None),
        ({"method": "x"}, None),
        ({"id": "tag:17", "result": {"threadId": "b"}}, "tag"),
        ({"id": 7, "result": {}}, None),
        ({"error": {"message": "x"}, "id": "tag:1"}, "tag"),
    ],
)
def test_the_owner_of_a_message_is_found_whatever_stands_in_it(message: dict[str, Any], owner: str | None) -> None:
    assert Codex.owner(compact(message)) == owner


def test_what_is_no_message_is_for_everybody() -> None:
    assert Codex.owner(b"Warning: none") is None


# -- actions


def test_a_fork_gives_the_id_of_the_copy() -> None:
    dialect = ready(params={"thread": {"sandbox": "read-only"}})
    ticket = dialect.do("fork")
    [request] = sent(dialect)
    wanted = {"threadId": "th", "excludeTurns": True, "cwd": "/workspace", "sandbox": "read-only"}
    assert request["method"] == "thread/fork" and request["params"] == wanted
    dialect.read([compact({"id": ticket, "result": {"thread": {"id": "copy"}}})])
    assert dialect.replies[ticket].value == "copy" and dialect.session_id == "th"


def test_a_model_that_was_set_is_known_at_once() -> None:
    dialect = ready()
    ticket = dialect.do("set_model", {"model": "gpt-6-sol"})
    [request] = sent(dialect)
    assert request["params"] == {"threadId": "th", "model": "gpt-6-sol"}
    dialect.read([compact({"id": ticket, "result": {}})])
    assert dialect.replies[ticket].error is None
    assert dialect.facts["custom.acp.models.current"] == "gpt-6-sol"


def test_a_mode_is_set_between_turns() -> None:
    dialect = ready(params={"modes": MODES}, directories=("/more",))
    dialect.do("set_mode", {"mode": "agent"})
    [request] = sent(dialect)
    assert request["method"] == "thread/settings/update"
    assert request["params"]["sandboxPolicy"]["writableRoots"] == ["/more"]
    assert request["params"]["collaborationMode"]["mode"] == "default"
    refused = dialect.do("set_mode", {"mode": "dream"})
    assert dialect.replies[refused].error is not None and sent(dialect) == []


def test_an_action_that_fails_says_why() -> None:
    dialect = ready()
    ticket = dialect.do("delete")
    dialect.read([compact({"id": ticket, "error": {"code": -32600, "message": "thread not found: th"}})])
    error = dialect.replies[ticket].error
    assert error is not None and error.code == "SESSION_NOT_FOUND"
