"""Turns with Claude Code: the handshake, the prompt, messages and tool calls."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.events import (
    Custom,
    Raw,
    ReasoningEncryptedValue,
    ReasoningMessageContent,
    ReasoningMessageEnd,
    TextMessageContent,
    TextMessageEnd,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallResult,
    ToolCallStart,
    Warning,
)
from gateway.wire.dialects import Prompt, SessionStart
from tests.wire.dialects.claude_conversation import (
    MESSAGE,
    STOPPED,
    Json,
    assistant,
    block_start,
    block_stop,
    can_use_tool,
    delta,
    failed,
    prompt_uuid,
    prompted,
    read,
    ready,
    response,
    started,
    stream,
    streamed,
    system,
    tool_result,
)
from tests.wire.dialects.claude_replay import sent, text

MODELS = [
    {"value": "default", "resolvedModel": "claude-o", "displayName": "Default"},
    {"value": "opus", "resolvedModel": "claude-o", "displayName": "Opus", "supportsAdaptiveThinking": True},
    {
        "value": "haiku",
        "resolvedModel": "claude-h",
        "displayName": "Haiku",
        "supportsEffort": True,
        "supportedEffortLevels": ["low", "max"],
    },
]

# -- the beginning


def test_it_is_ready_when_it_has_introduced_itself() -> None:
    dialect = started()
    [request] = sent(dialect)
    before = dialect.is_ready
    assert request["request"] == {"subtype": "initialize"} and not before
    account = {"email": "ada@example.com", "organization": "Ada's", "apiProvider": "bedrock"}
    agents = [{"name": "Explore", "description": "looks around"}]
    commands = [{"name": "compact", "description": "makes room", "argumentHint": "<what to keep>"}]
    about = {"account": account, "agents": agents, "models": MODELS, "commands": commands}
    read(dialect, response(request, {"claude_code_version": "2.1.325", "current_permission_mode": "plan", **about}))
    assert dialect.is_ready
    assert dialect.handshake_layer["identity.version"] == "2.1.325"
    assert dialect.handshake_layer["multiAgent.subagents"] == agents
    assert dialect.handshake_layer["custom.claude.provider"] == "bedrock"
    assert "ada" not in str(dialect.handshake_layer).lower()
    assert dialect.session_layer["custom.session.modes.current"] == "plan"
    assert dialect.session_layer["custom.session.commands"][0]["hint"] == "<what to keep>"


def test_one_that_refuses_is_never_ready() -> None:
    dialect = started()
    [request] = sent(dialect)
    read(dialect, response(request, subtype="error", error="too old", error_code="x"))
    assert not dialect.is_ready and dialect.failure is not None and dialect.failure.detail == "too old"


LOST = "No conversation found with session ID: 1"


def test_a_session_that_is_gone_is_known_before_the_first_prompt() -> None:
    dialect = started(SessionStart("/workspace", session_id="1"))
    read(dialect, failed(subtype="error_during_execution", errors=[LOST]))
    assert dialect.failure is not None and dialect.failure.code == "SESSION_NOT_FOUND"


def test_a_missing_session_may_be_reported_on_stderr_only() -> None:
    dialect = started(SessionStart("/workspace", session_id="1"))
    assert dialect.on_process_exit(1, f"{LOST}\n") == []
    assert dialect.failure is not None and dialect.failure.code == "SESSION_NOT_FOUND"


def test_every_turn_reports_the_session_state() -> None:
    dialect = prompted()
    servers = [{"name": "crm", "status": "connected"}, {}]
    modes = {"model": "claude-h", "permissionMode": "plan"}
    read(dialect, system("init", session_id="s7", tools=["Bash", 7, "Read"], mcp_servers=servers, **modes))
    assert dialect.session_id == "s7"
    assert [tool["name"] for tool in dialect.session_layer["tools.items"]] == ["Bash", "Read"]
    assert dialect.session_layer["custom.session.models.current"] == "claude-h"
    assert dialect.session_layer["custom.session.modes.current"] == "plan"
    assert dialect.session_layer["custom.session.mcpServers"] == [{"name": "crm", "status": "connected"}]


def test_a_plugin_that_does_not_load_is_reported_once() -> None:
    dialect = prompted()
    init = system("init", plugin_errors=[{"message": "Path not found: /x"}])
    assert read(dialect, init, init) == [
        Warning("PLUGIN_NOT_LOADED", "Claude Code did not load a plugin: Path not found: /x")
    ]


# -- the prompt


def test_a_prompt_carries_text_images_and_documents() -> None:
    dialect = ready()
    pdf = {"uri": "agui://m/1/paper.pdf", "mimeType": "application/pdf", "blob": "cGRm"}
    blocks = [
        *text("look"),
        {"type": "image", "data": "aW1n", "mimeType": "image/png"},
        {"type": "resource", "resource": pdf},
        {"type": "resource_link", "uri": "https://x.example/a", "name": "a"},
    ]
    dialect.prompt(Prompt(blocks, "t1"))
    [line] = sent(dialect)
    assert line["message"]["content"] == [
        {"type": "text", "text": "look"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aW1n"}},
        {
            "type": "document",
            "source": {"type": "base64", "media_type": "application/pdf", "data": "cGRm"},
            "title": "paper.pdf",
        },
        {"type": "text", "text": "[a](https://x.example/a)"},
    ]


def test_unsupported_content_is_dropped_with_a_warning() -> None:
    blocks = [*text("listen"), {"type": "audio", "data": "c25k", "mimeType": "audio/wav"}]
    dialect = prompted(blocks=blocks)
    [warned] = read(dialect, system("init"))
    assert isinstance(warned, Warning) and warned.code == "CONTENT_DROPPED" and "audio (audio/wav)" in warned.message


def test_no_two_prompts_have_the_same_uuid() -> None:
    """Claude leaves out what it has seen."""
    dialect = ready()
    uuids = [prompt_uuid(dialect, key, message) for key in ("t1", "t2") for message in ("hello", "again")]
    assert len(set(uuids)) == 4


# -- what is said


def test_text_goes_out_token_by_token_and_the_whole_of_it_not_again() -> None:
    dialect = prompted()
    events = read(
        dialect,
        MESSAGE,
        block_start(0, "text", text=""),
        delta(0, "text_delta", text="a"),
        delta(0, "text_delta", text=""),
        delta(0, "text_delta", text="b"),
        streamed({"type": "text", "text": "ab"}),
        block_stop(0),
        STOPPED,
    )
    assert events == [TextMessageContent("a", "t1:m1:0"), TextMessageContent("b"), TextMessageEnd("t1:m1:0")]


def test_a_message_that_was_not_streamed_comes_whole() -> None:
    thought = {"type": "thinking", "thinking": "hm", "signature": "s"}
    events = read(prompted(), assistant(thought, {"type": "text", "text": "x"}))
    assert events == [
        ReasoningMessageContent("hm", "t1:m2"),
        ReasoningMessageEnd("t1:m2"),
        ReasoningEncryptedValue("message", "t1:m2", "s"),
        TextMessageContent("x", "t1:m2.2"),
        TextMessageEnd("t1:m2.2"),
    ]


def test_thinking_that_is_not_shown_is_still_handed_back() -> None:
    events = read(prompted(), MESSAGE, block_start(0, "redacted_thinking", data="secret"), block_stop(0))
    assert events == [ReasoningEncryptedValue("message", "t1:m1:0", "secret")]


def test_a_call_without_deltas_is_sent_by_the_whole_message() -> None:
    block = {"type": "tool_use", "id": "c1", "name": "Bash", "input": {"command": "ls"}}
    whole = streamed(block)
    started = [ToolCallStart("t1:c1", "Bash"), ToolCallArgs("t1:c1", '{"command":"ls"}'), ToolCallEnd("t1:c1")]
    assert read(prompted(), MESSAGE, whole, whole) == started


def test_tools_that_the_provider_runs_have_their_results_in_the_message() -> None:
    found = [{"type": "web_search_result", "url": "https://x.example"}]
    searched = {"type": "web_search_tool_result", "tool_use_id": "w1", "content": found}
    events = read(
        prompted(),
        MESSAGE,
        block_start(0, "server_tool_use", id="w1", name="web_search"),
        delta(0, "input_json_delta", partial_json="{}"),
        block_stop(0),
        stream("content_block_start", index=1, content_block=searched),
        streamed(searched),
    )
    assert events[:3] == [ToolCallStart("t1:w1", "web_search"), ToolCallArgs("t1:w1", "{}"), ToolCallEnd("t1:w1")]
    [result_event] = events[3:]
    assert isinstance(result_event, ToolCallResult) and "https://x.example" in str(result_event.content)


def test_a_result_may_hold_an_image() -> None:
    image = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "aW1n"}}
    dialect = prompted()
    read(dialect, assistant({"type": "tool_use", "id": "c1", "name": "Read", "input": {}}))
    [event] = read(dialect, tool_result("c1", [{"type": "text", "text": "see"}, image]))
    assert isinstance(event, ToolCallResult) and event.content == [
        {"type": "text", "text": "see"},
        {"type": "image", "source": {"type": "data", "value": "aW1n", "mimeType": "image/png"}},
    ]


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (None, ""),
        ({"a": 1}, '{"a":1}'),
        ([{"type": "text", "text": "a"}, {"type": "text", "text": "b"}], "a\nb"),
        ([{"type": "tool_reference", "tool_name": "x"}], '{"type":"tool_reference","tool_name":"x"}'),
        ([{"type": "document", "source": {"type": "text", "data": "a note"}}], "a note"),
        (
            [{"type": "image", "source": {"type": "url", "url": "https://x.example/i"}}],
            [{"type": "image", "source": {"type": "url", "value": "https://x.example/i"}}],
        ),
        (
            [{"type": "document", "source": {"type": "base64", "media_type": "application/pdf", "data": "cGRm"}}],
            [{"type": "document", "source": {"type": "data", "value": "cGRm", "mimeType": "application/pdf"}}],
        ),
    ],
)
def test_any_content_of_a_tool_is_its_result(content: Any, expected: Any) -> None:
    dialect = prompted()
    read(dialect, assistant({"type": "tool_use", "id": "c1", "name": "Read", "input": {}}))
    assert read(dialect, tool_result("c1", content)) == [ToolCallResult("t1:c1", expected, is_error=False)]


def test_a_result_of_an_unknown_call_starts_the_call() -> None:
    events = read(prompted(), tool_result("c1", "ok"))
    assert [type(event) for event in events] == [ToolCallStart, ToolCallArgs, ToolCallEnd, ToolCallResult]


def test_a_second_result_of_a_call_is_handed_on_as_it_is() -> None:
    dialect = prompted()
    read(dialect, tool_result("c1", "ok"))
    [event] = read(dialect, tool_result("c1", "ok"))
    assert isinstance(event, Raw)


def test_a_refused_call_gets_a_result_with_the_reason() -> None:
    dialect = prompted()
    read(dialect, can_use_tool())
    [event] = read(dialect, tool_result("c1", "The user refused this.", is_error=True))
    metadata = {"claude": {"isError": True}}
    assert event == ToolCallResult("t1:c1", "The user refused this.", metadata=metadata, is_error=True)


def test_a_call_whose_stream_broke_is_answered_and_taken_back() -> None:
    broken = stream("message_stop", extra={"abandoned_blocks": {"from_block_index": 1}})
    events = read(
        prompted(),
        MESSAGE,
        block_start(0, "text", text="kept"),
        block_stop(0),
        block_start(1, "tool_use", id="c1", name="Bash"),
        delta(1, "input_json_delta", partial_json='{"co'),
        broken,
    )
    assert events[-3] == ToolCallEnd("t1:c1")
    assert events[-2] == Custom("claude.retracted", {"ids": ["t1:c1"]})
    assert isinstance(events[-1], ToolCallResult)


def test_a_citation_is_a_custom_event_beside_the_text() -> None:
    cited = {"url": "https://x.example"}
    lines = (MESSAGE, block_start(0, "text", text="a"), delta(0, "citations_delta", citation=cited))
    assert read(prompted(), *lines)[-1] == Custom("claude.citation", cited)


@pytest.mark.parametrize(
    "late", [delta(7, "text_delta", text="x"), delta(0, "thinking_delta", thinking="x"), block_start(1, "hologram")]
)
def test_a_delta_that_fits_no_block_is_handed_on(late: Json) -> None:
    dialect = prompted()
    [event] = read(dialect, MESSAGE, block_start(0, "text"), late)
    assert isinstance(event, Raw)


def test_a_message_that_begins_ends_the_one_before() -> None:
    """The end of that message was lost."""
    lines = (MESSAGE, block_start(0, "tool_use", id="c1", name="Bash"), stream("message_start", message={"id": "m9"}))
    assert read(prompted(), *lines)[-1] == ToolCallEnd("t1:c1")


def test_a_changed_list_of_commands_is_reported() -> None:
    dialect = prompted()
    listed = [{"name": "deploy", "description": "ships it"}]
    events = read(dialect, system("commands_changed", commands=[*listed, {"description": "nameless"}]))
    assert events == [Custom("session.commands", {"commands": listed})]
    assert dialect.session_layer["custom.session.commands"] == listed


def test_a_lone_surrogate_is_read() -> None:
    """JavaScript writes one where a pair is cut."""
    dialect = prompted()
    read(dialect, MESSAGE, block_start(0, "text"), delta(0, "text_delta", text="a"))
    raw = b'{"type":"stream_event","event":{"type":"content_block_delta","index":0,"delta":{"type":"text_delta",'
    assert dialect.read([raw + b'"text":"\\ud83d"}},"parent_tool_use_id":null}']) == [TextMessageContent("\ud83d")]


@pytest.mark.parametrize("raw", [b"npm warn", b"[1,2]", b"null", b'"x"', b"{", b'{"type":"stream_event"}', b"\xff"])
def test_what_is_not_understood_is_handed_on(raw: bytes) -> None:
    [event] = prompted().read([raw])
    assert isinstance(event, Raw) and event.source == "claude"


def test_a_command_of_claude_codes_own_answers_as_the_agent() -> None:
    events = read(prompted(), system("local_command_output", content="Total cost: $1"))
    assert events == [TextMessageContent("Total cost: $1", "t1:output"), TextMessageEnd("t1:output")]
