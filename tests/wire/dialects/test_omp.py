"""What omp has beyond pi: a greeting, long messages, approvals, commands, subagents, a directory of its own choice."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

import pytest

from gateway.events import (
    Event,
    InterruptRequested,
    Raw,
    SubagentError,
    SubagentFinished,
    SubagentStarted,
    TextMessageContent,
    TokenUsage,
    ToolCallEnd,
    ToolCallResult,
    ToolCallStart,
    TurnEnded,
)
from gateway.turn import Answer
from gateway.wire.dialects import Prompt, SessionStart
from gateway.wire.dialects.pi import OmpJson, OmpRpc
from gateway.wire.dialects.pi.omp import is_of_other_directory
from tests.wire.dialects.pi_replay import READY, STATE, Json, line, opened, reply, sent
from tests.wire.dialects.test_pi_turns import PROMPT, answer, read


def new_omp(start: SessionStart | None = None, **state: Any) -> OmpRpc:
    omp = opened(OmpRpc(), start, **state)
    assert isinstance(omp, OmpRpc)
    return omp


def started(**prompt: Any) -> OmpRpc:
    omp = new_omp()
    omp.prompt(Prompt(PROMPT, "t1", **prompt))
    [command] = sent(omp)
    omp.read([reply(command), line({"type": "agent_start"})])
    assert sent(omp) == [], "its ends say whether they are the last: there is nothing to ask"
    return omp


def calls(*commands: str) -> list[bytes]:
    blocks = [
        {"type": "toolCall", "id": f"c{number}", "name": "bash", "arguments": {"command": command, "i": "why"}}
        for number, command in enumerate(commands)
    ]
    return answer(content=blocks)


def approval(number: int, command: str, tool: str = "bash") -> Json:
    title, options = f"Allow tool: {tool}\nCommand: {command}", ["Approve", "Deny"]
    return {"type": "extension_ui_request", "id": f"u{number}", "method": "select", "title": title, "options": options}


# -- the session


def test_no_command_is_sent_before_the_greeting() -> None:
    omp = OmpRpc()
    omp.start_session(SessionStart("/workspace"))
    assert sent(omp) == [] and not omp.is_ready
    omp.read([line(READY)])
    commands = sent(omp)
    assert [command["type"] for command in commands] == [
        "negotiate_protocol",
        "set_subagent_subscription",
        "get_state",
    ]
    omp.read([reply(command, success=False, error="what?") for command in commands[:2]])
    omp.read([reply(commands[2], STATE)])
    assert omp.is_ready, "an older one that knows less is good enough"


def test_chunks_are_not_requested_from_an_older_protocol() -> None:
    omp = OmpRpc()
    omp.start_session(SessionStart("/workspace"))
    omp.read([line({"type": "ready", "protocolVersion": 1})])
    assert "negotiate_protocol" not in [command["type"] for command in sent(omp)]


@pytest.mark.parametrize(
    ("file", "cwd", "other"),
    [
        ("/home/user/.omp/agent/sessions/-work-otter/x.jsonl", "/home/user/work/otter", False),
        ("/home/user/.omp/agent/sessions/-work-seal/x.jsonl", "/home/user/work/otter", True),
        ("/home/user/.omp/agent/sessions/--srv-otter--/x.jsonl", "/srv/otter", False),
        ("/home/user/.omp/agent/sessions/--srv-otter--/x.jsonl", "/srv/seal", True),
        ("/home/user/.omp/agent/sessions/-tmp-otter/x.jsonl", "/tmp/otter", False),
        ("/home/user/.omp/agent/sessions/-tmp-otter/x.jsonl", "/var/folders/9/otter", False),
        ("/home/user/.omp/agent/sessions/-tmp-otter/x.jsonl", "/tmp/seal", True),
        ("/home/user/.omp/agent/sessions/-/x.jsonl", "/home/user", False),
        ("", "/home/user", False),
    ],
)
def test_a_sessions_folder_names_its_directory(file: str, cwd: str, other: bool) -> None:
    assert is_of_other_directory(file, cwd) is other


def test_a_session_of_another_directory_does_not_come_back() -> None:
    omp = OmpRpc()
    omp.start_session(SessionStart("/workspace", "s1"))
    omp.read([line(READY)])
    state = {**STATE, "sessionId": "s1", "sessionFile": "/home/user/.omp/agent/sessions/-elsewhere/x.jsonl"}
    omp.read([reply(command, state) for command in sent(omp)])
    assert not omp.is_ready and omp.failure is not None and omp.failure.code == "SESSION_NOT_FOUND"


def test_a_copy_of_it_may_be_taken_here() -> None:
    assert new_omp(SessionStart("/workspace", "s1", fork=True), sessionFile="/x/sessions/-elsewhere/y.jsonl").is_ready


# -- long messages


def chunks(message: Json, size: int = 40) -> list[Json]:
    data = line(message)
    pieces = [data[at : at + size] for at in range(0, len(data), size)]
    about = {"type": "rpc_chunk", "chunkId": "rpc-1", "count": len(pieces), "byteLength": len(data)}
    return [{**about, "index": index, "data": b64encode(piece).decode()} for index, piece in enumerate(pieces)]


def test_a_message_in_chunks_is_read_whole() -> None:
    message = {"type": "command_output", "text": "otters " * 20}
    assert read(started(), *chunks(message)) == [TextMessageContent(("otters " * 20).strip(), "t1:c1")]


def test_chunks_out_of_order_are_handed_on() -> None:
    omp = started()
    first, *_, last = chunks({"type": "command_output", "text": "otters " * 20})
    assert read(omp, first) == []
    [event] = read(omp, last)
    assert isinstance(event, Raw)
    [event] = read(omp, {**first, "data": "?"})
    assert isinstance(event, Raw)


def test_a_chunk_in_a_chunk_goes_no_further() -> None:
    [inner] = chunks({"type": "agent_start"}, 1000)
    *_, event = read(started(), *chunks(inner))
    assert isinstance(event, Raw)


# -- ends


def test_an_end_that_is_not_the_last_is_none() -> None:
    omp = started()
    assert read(omp, {"type": "agent_end", "messages": [], "isTerminal": False}) == [] and omp.is_busy
    assert read(omp, {"type": "agent_start"}, {"type": "agent_end", "isTerminal": True}) == [TurnEnded("end_turn")]


def test_an_end_before_the_prompt_was_taken_is_that_of_a_job_of_its_own() -> None:
    omp = new_omp()
    omp.prompt(Prompt(PROMPT, "t1"))
    assert read(omp, {"type": "agent_end", "messages": [], "isTerminal": True}) == [] and omp.is_busy


def test_an_end_that_was_cut_short_is_checked() -> None:
    omp = started()
    assert read(omp, {"type": "agent_end", "messages": [], "messageCount": 900}) == []
    [command] = sent(omp)
    assert omp.read([reply(command, STATE)]) == [TurnEnded("end_turn")]


def test_a_retry_has_no_end_before_it() -> None:
    omp = started()
    omp.read(answer(stopReason="error", errorMessage="503 no\nraw-http-request=/home/user/.omp/logs/1.json"))
    [event] = read(omp, {"type": "auto_retry_start", "attempt": 1, "errorMessage": "503\nraw-http-request=/x/1.json"})
    assert getattr(event, "value", None) == {"attempt": 1, "message": "503"}
    assert omp.is_busy


@pytest.mark.parametrize(
    "response", [{"type": "response", "command": "prompt", "success": True, "data": {"agentInvoked": False}}, None]
)
def test_a_command_of_its_own_ends_without_a_model(response: Json | None) -> None:
    omp = new_omp()
    omp.prompt(Prompt([{"type": "text", "text": "/model"}], "t1"))
    [command] = sent(omp)
    [message] = read(omp, {"type": "command_output", "text": "Current model: lab/otter-2\n"})
    assert message == TextMessageContent("Current model: lab/otter-2", "t1:c1")
    if response is not None:
        assert omp.read([line({**response, "id": command["id"]})]) == [TurnEnded("end_turn")]
    else:
        omp.read([reply(command)])
        assert read(omp, {"type": "prompt_result", "id": command["id"], "agentInvoked": False}) == [
            TurnEnded("end_turn")
        ]


def test_what_it_sets_by_a_command_is_known() -> None:
    omp = started()
    read(omp, {"type": "config_update", "model": {"id": "otter-2", "provider": "lab"}, "thinkingLevel": "low"})
    read(omp, {"type": "available_commands_update", "commands": [{"name": "model", "source": "builtin"}, {"x": 1}]})
    assert omp.session_layer == {
        "custom.session.cwd": "/workspace",
        "custom.session.models.current": "lab/otter-2",
        "custom.session.effort": "low",
        "custom.session.commands": [{"name": "model"}],
    }


def test_a_tool_of_the_hosts_that_there_is_not_is_not_waited_for() -> None:
    omp = started()
    assert read(omp, {"type": "host_tool_call", "id": "h1", "toolCallId": "c1", "toolName": "x"}) == []
    assert read(omp, {"type": "host_uri_request", "id": "h2", "url": "db://x"}) == []
    tool, uri = sent(omp)
    assert (tool["type"], tool["id"], tool["isError"]) == ("host_tool_result", "h1", True)
    assert (uri["type"], uri["id"], uri["isError"]) == ("host_uri_result", "h2", True)


# -- approvals


def test_an_approval_belongs_to_the_call_whose_arguments_it_shows() -> None:
    omp = started()
    omp.read(calls("echo one", "echo two"))
    events = read(omp, approval(2, "echo two"), approval(1, "echo one"))
    interrupts = [event.interrupts[0] for event in events if isinstance(event, InterruptRequested)]
    assert [question.tool_call_id for question in interrupts] == ["t1:c1", "t1:c0"]
    assert all(question.reason == "tool_call" for question in interrupts)


def test_approvals_of_two_equal_calls_follow_their_order() -> None:
    omp = started()
    omp.read(calls("echo", "echo"))
    events = read(omp, approval(1, "echo"), approval(2, "echo"))
    ids = [event.interrupts[0].tool_call_id for event in events if isinstance(event, InterruptRequested)]
    assert ids == ["t1:c0", "t1:c1"]


def test_an_approval_of_an_unknown_tool_is_a_plain_confirmation() -> None:
    omp = started()
    omp.read(calls("echo"))
    [event] = read(omp, approval(1, "x", tool="seal"))
    assert isinstance(event, InterruptRequested)
    assert (event.interrupts[0].reason, event.interrupts[0].tool_call_id) == ("confirmation", None)


def test_a_question_of_a_tools_is_about_no_call() -> None:
    omp = started()
    omp.read(calls("echo"))
    ask = {"type": "extension_ui_request", "id": "u1", "method": "select", "title": "Which?", "options": ["a", "b"]}
    [event] = read(omp, ask)
    assert isinstance(event, InterruptRequested) and event.interrupts[0].tool_call_id is None
    omp.answer(event.interrupts[0].id, Answer("x", "resolved", {"optionId": "b"}))
    assert sent(omp) == [{"type": "extension_ui_response", "id": "u1", "value": "b"}]


# -- arguments


def test_the_intent_is_in_the_metadata() -> None:
    events = started().read(calls("echo"))
    ends = [event for event in events if isinstance(event, ToolCallEnd)]
    assert ends == [ToolCallEnd("t1:c0", {"omp": {"intent": "why"}})]


def test_in_json_mode_a_call_starts_when_its_name_is_known() -> None:
    omp = OmpJson()
    omp.start_session(SessionStart("/workspace"))
    omp.prompt(Prompt(PROMPT, "t1"))

    def update(kind: str, **fields: Any) -> bytes:
        event = {"type": kind, "contentIndex": 0, **fields}
        return line({"type": "message_update", "assistantMessageEvent": event})

    pieces = [update("toolcall_delta", delta=piece) for piece in ('{"i":', '"why","command"', ':"ls"}')]
    assert omp.read([update("toolcall_start"), *pieces]) == []
    call = {"id": "c1", "name": "bash", "arguments": {"i": "why", "command": "ls"}}
    start, args, end = omp.read([update("toolcall_end", toolCall=call)])
    assert start == ToolCallStart("t1:c1", "bash")
    assert getattr(args, "delta", None) == '{"command":"ls"}'
    assert end == ToolCallEnd("t1:c1", {"omp": {"intent": "why"}})


# -- subagents


def lifecycle(status: str, agents_id: str = "Sub", **fields: Any) -> Json:
    return {"type": "subagent_lifecycle", "payload": {"id": agents_id, "agent": "task", "status": status, **fields}}


def inside(event: Json, agents_id: str = "Sub") -> Json:
    return {"type": "subagent_event", "payload": {"id": agents_id, "event": event}}


def test_a_subagent_has_messages_of_its_own() -> None:
    omp = started()
    omp.read(calls("x"))
    [start] = read(omp, lifecycle("started", parentToolCallId="c0", description="Looks for otters"))
    assert start == SubagentStarted("t1:sub:Sub", "task", "Looks for otters", None, "t1:c0")
    message = {"role": "assistant", "content": [{"type": "text", "text": "hi"}], "usage": {"input": 1, "output": 1}}
    content, used = read(
        omp, inside({"type": "message_start", "message": message}), inside({"type": "message_end", "message": message})
    )
    assert content == TextMessageContent("hi", "t1:sub:Sub:m1.0", "t1:sub:Sub")
    assert isinstance(used, TokenUsage)
    assert read(omp, inside({"type": "agent_end", "isTerminal": True})) == [] and omp.is_busy
    assert read(omp, lifecycle("completed")) == [SubagentFinished("t1:sub:Sub")]


def test_a_subagent_of_a_subagent_knows_its_parent() -> None:
    omp = started()
    read(omp, lifecycle("started"))
    read(omp, inside({"type": "tool_execution_start", "toolCallId": "c7", "toolName": "task", "args": {}}))
    [start] = read(omp, lifecycle("started", "Sub2", parentToolCallId="c7"))
    assert isinstance(start, SubagentStarted)
    assert (start.parent, start.tool_call_id) == ("t1:sub:Sub", "t1:sub:Sub:c7")


@pytest.mark.parametrize("status", ["failed", "aborted"])
def test_a_subagent_that_fails_leaves_nothing_open(status: str) -> None:
    omp = started()
    read(omp, lifecycle("started"))
    read(omp, inside({"type": "tool_execution_start", "toolCallId": "c7", "toolName": "bash", "args": {}}))
    result, broke = read(omp, lifecycle(status))
    assert isinstance(result, ToolCallResult) and result.subagent == "t1:sub:Sub"
    assert broke == SubagentError("t1:sub:Sub", f"The subagent {status}.")


def test_unknown_events_of_subagents_become_raw() -> None:
    odd: list[Event] = read(
        started(), inside({"type": "turn_start"}, "Who"), lifecycle("dancing"), {"type": "subagent_lifecycle"}
    )
    assert len(odd) == 3 and all(isinstance(event, Raw) for event in odd)
    assert read(started(), lifecycle("completed")) == [], "it began before anybody listened"


@pytest.mark.parametrize("name", [[], {}, None, 7, ["look"]])
def test_a_host_tool_whose_name_is_no_text_is_refused(name: Any) -> None:
    omp = started()
    assert read(omp, {"type": "host_tool_call", "id": "h1", "toolCallId": "c1", "toolName": name}) == []
    [result] = sent(omp)
    assert (result["id"], result["isError"]) == ("h1", True)


@pytest.mark.parametrize("levels", [1, 140, 300])
@pytest.mark.parametrize("kind", ["host_tool_call", "host_uri_request"])
def test_a_request_whose_id_is_nested_is_not_answered(kind: str, levels: int) -> None:
    omp = started()
    [raw] = omp.read([b'{"type":"%b","id":%b}' % (kind.encode(), b"[" * levels + b"]" * levels)])
    assert isinstance(raw, Raw) and sent(omp) == []


def test_a_subagent_may_outlive_the_turn() -> None:
    omp = started()
    read(omp, lifecycle("started"))
    assert read(omp, {"type": "agent_end", "isTerminal": True})[-1] == TurnEnded("end_turn")
    omp.prompt(Prompt(PROMPT, "t2"))
    assert read(omp, lifecycle("completed")) == [SubagentFinished("t1:sub:Sub")]
