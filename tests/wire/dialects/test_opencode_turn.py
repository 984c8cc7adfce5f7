"""A turn of `opencode serve`: its text, its tools, its subagents, and its end."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from gateway.events import (
    Custom,
    SubagentError,
    SubagentFinished,
    SubagentStarted,
    TextMessageContent,
    TokenUsage,
    ToolCallArgs,
    ToolCallResult,
    TurnEnded,
    TurnFailed,
    Warning,
)
from gateway.wire.dialects import opencode
from gateway.wire.dialects.opencode.server_events import SESSION_READERS, TURN_READERS
from tests.wire.dialects.opencode_server import SESSION, Json, Server, working_server

STACK = "ProviderModelNotFoundError: Model not found: a/b.\n    at x"


# -- the end of a turn


def test_the_end_of_the_previous_turn_does_not_end_this_one() -> None:
    server = Server()
    assert server.report_idle() == []
    assert server.emit("session.error", error={"name": "UnknownError", "data": {"message": "old"}}) == []
    assert server.dialect.is_busy
    server.report_busy()
    server.update_message()
    assert server.complete_message() == []
    assert server.report_idle() == [TurnEnded("end_turn")]


def test_a_message_of_the_previous_turn_is_not_read() -> None:
    server = working_server()
    server.complete_message()
    server.report_idle()
    server.prompt()
    assert server.update_message() == []
    assert server.update_part("prt_9", "text", text="late") == []
    assert server.report_idle() == []
    assert server.dialect.is_busy


def test_a_turn_ends_when_its_last_message_is_complete() -> None:
    server = working_server()
    server.update_tool("running", input={"command": "sleep 9"})
    server.dialect.cancel()
    server.emit("session.error", error={"name": "MessageAbortedError", "data": {"message": "Aborted"}})
    assert server.report_idle() == []
    [result] = server.update_tool("completed", input={"command": "sleep 9"}, output="stopped")
    assert isinstance(result, ToolCallResult) and result.content == "stopped"
    assert server.complete_message() == [TurnEnded("cancelled")]


def test_a_second_idle_ends_the_turn_without_a_complete_message() -> None:
    server = working_server()
    assert server.report_idle() == []
    assert server.report_idle() == [TurnEnded("end_turn")]


def test_an_abort_by_another_client_is_a_cancelled_turn() -> None:
    server = working_server()
    server.complete_message(error={"name": "MessageAbortedError", "data": {"message": "Aborted"}})
    assert server.report_idle() == [TurnEnded("cancelled")]


@pytest.mark.parametrize(
    ("finish", "reason"), [("stop", "end_turn"), ("length", "max_tokens"), ("content-filter", "refusal")]
)
def test_the_stop_reason_is_the_models_finish_reason(finish: str, reason: str) -> None:
    server = working_server()
    server.update_part("prt_f", "step-finish", reason=finish)
    server.complete_message()
    assert server.report_idle() == [TurnEnded(reason)]


@pytest.mark.parametrize(
    ("error", "message", "code"),
    [
        ({"name": "APIError", "data": {"message": "overloaded", "statusCode": 529}}, "overloaded", "MODEL_ERROR"),
        ({"name": "APIError", "data": {"message": "bad key", "statusCode": 401}}, "bad key", "AUTH_REQUIRED"),
        ({"name": "ProviderAuthError", "data": {"message": "no key"}}, "no key", "AUTH_REQUIRED"),
        ({"name": "ContextOverflowError", "data": {"message": "too long"}}, "too long", "MODEL_ERROR"),
        (
            {"name": "UnknownError", "data": {"message": STACK}},
            "Model not found: a/b.",
            "MODEL_ERROR",
        ),
        ({"name": "UnknownError", "data": {}}, "UnknownError", "AGENT_ERROR"),
    ],
)
def test_an_error_ends_the_turn_with_the_message_of_its_cause(error: Json, message: str, code: str) -> None:
    server = working_server()
    server.emit("session.error", error=error)
    server.emit("session.error", error={"name": "UnknownError", "data": {"message": "a later one"}})
    server.complete_message(error=error)
    assert server.report_idle() == [TurnFailed(message, code)]


def test_an_answer_at_the_output_limit_is_no_failure() -> None:
    server = working_server()
    server.complete_message(error={"name": "MessageOutputLengthError", "data": {}})
    assert server.report_idle() == [TurnEnded("max_tokens")]


def test_structured_output_is_the_result_of_the_turn() -> None:
    server = working_server()
    server.complete_message(structured={"answer": 42})
    assert server.report_idle() == [TurnEnded("end_turn", {"answer": 42})]


def test_the_cost_of_a_turn_is_reported_once_at_its_end() -> None:
    server = working_server()
    tokens = {"input": 10, "output": 5, "reasoning": 3, "cache": {"read": 100, "write": 7}}
    assert server.update_part("prt_1", "step-finish", tokens=tokens, cost=0.25) == [
        TokenUsage("p", "m", 117, 8, 125, reasoning_tokens=3, cached_input_tokens=100, cache_write_input_tokens=7)
    ]
    server.update_part("prt_2", "step-finish", tokens={}, cost=0.5)
    server.complete_message()
    assert server.report_idle() == [Custom("cost", {"usd": 0.75}), TurnEnded("end_turn")]


# -- cancellation


def test_a_cancellation_before_the_agent_works_aborts_once_it_does() -> None:
    server = Server()
    server.take_calls()
    assert server.dialect.cancel()
    assert server.take_calls() == []
    server.report_busy()
    [abort] = server.take_calls()
    assert abort["path"] == f"/session/{SESSION}/abort?directory=%2Fworkspace"
    server.report_busy()
    assert server.take_calls() == []


def test_a_prompt_that_fails_after_a_cancellation_is_a_cancelled_turn() -> None:
    server = Server()
    server.dialect.cancel()
    assert server.answer_last_call(None, 500) == [TurnEnded("cancelled")]


# -- text and tools


def test_the_rest_of_a_text_that_is_longer_than_its_deltas_is_sent() -> None:
    server = working_server()
    server.update_part("prt_1", "text", text="")
    server.emit("message.part.delta", messageID="msg_1", partID="prt_1", field="text", delta="Hel")
    [more, _] = server.update_part("prt_1", "text", text="Hello", time={"end": 1})
    assert isinstance(more, TextMessageContent) and more.text == "lo"


def test_the_prompt_is_not_read_as_an_answer() -> None:
    server = working_server()
    server.emit("message.updated", info={"id": "msg_0", "role": "user"})
    assert server.update_part("prt_0", "text", message="msg_0", text="hello") == []


def test_a_call_that_was_never_reported_running_has_its_arguments() -> None:
    server = working_server()
    server.update_tool("pending", input={}, raw="")
    arguments, _, result = server.update_tool("error", input={"command": "ls"}, error="no")
    assert isinstance(arguments, ToolCallArgs) and arguments.delta == '{"command":"ls"}'
    assert isinstance(result, ToolCallResult) and result.content == "no" and result.is_error is True
    assert server.update_tool("completed", input={}, output="again") == []


def test_a_retry_is_one_warning_for_each_attempt() -> None:
    server = working_server()
    status = {"type": "retry", "attempt": 1, "message": "overloaded", "next": 5}
    [warning] = server.emit("session.status", status=status)
    assert isinstance(warning, Warning) and "overloaded" in warning.message
    assert server.emit("session.status", status=status) == []
    assert len(server.emit("session.status", status={**status, "attempt": 2})) == 1


def test_a_changed_diff_is_reported_once() -> None:
    server = working_server()
    assert server.emit("session.diff", diff=[]) == []
    files = [{"file": "a", "additions": 1, "deletions": 0}]
    assert server.emit("session.diff", diff=files) == [Custom("opencode.diff", {"files": files})]
    assert server.emit("session.diff", diff=files) == []
    assert server.emit("session.diff", "ses_other", diff=[]) == []


def test_another_sessions_events_are_not_read() -> None:
    server = working_server()
    assert server.update_message("msg_x", "ses_other") == []
    assert server.update_part("prt_x", "text", "msg_x", "ses_other", text="other") == []
    assert server.report_idle("ses_other") == []
    assert server.dialect.is_busy


# -- subagents

CHILD = {"id": "ses_c", "parentID": SESSION, "agent": "explore", "title": "Look (@explore subagent)"}


def server_with_subagent() -> Server:
    server = working_server()
    server.update_tool("pending", input={})
    server.emit("session.created", "ses_c", info=CHILD)
    server.update_tool("running", input={"prompt": "look"}, metadata={"sessionId": "ses_c"})
    server.report_busy("ses_c")
    server.update_message("msg_c", "ses_c")
    return server


def test_a_subagent_belongs_to_the_tool_call_that_started_it() -> None:
    server = working_server()
    server.update_tool("pending", input={})
    server.emit("session.created", "ses_c", info=CHILD)
    started = server.update_tool("running", input={"prompt": "look"}, metadata={"sessionId": "ses_c"})[-1]
    assert started == SubagentStarted("k:ses_c", "explore", "Look", None, "k:prt_t")


def test_a_subagent_has_its_own_text_and_does_not_end_the_turn() -> None:
    server = server_with_subagent()
    [content] = server.update_part("prt_c", "text", "msg_c", "ses_c", text="found it")
    assert isinstance(content, TextMessageContent) and content.subagent == "k:ses_c"
    server.complete_message("msg_c", "ses_c")
    assert server.report_idle("ses_c") == [SubagentFinished("k:ses_c")]
    assert server.dialect.is_busy


def test_a_subagent_whose_text_comes_before_its_tool_call_starts_with_the_text() -> None:
    server = working_server()
    server.emit("session.created", "ses_c", info=CHILD)
    server.update_message("msg_c", "ses_c")
    started, content = server.update_part("prt_c", "text", "msg_c", "ses_c", text="found it")
    assert isinstance(started, SubagentStarted) and isinstance(content, TextMessageContent)


def test_a_failed_subagent_has_its_error() -> None:
    server = server_with_subagent()
    server.update_part("prt_c", "text", "msg_c", "ses_c", text="x")
    error = {"name": "APIError", "data": {"message": "overloaded", "statusCode": 529}}
    server.complete_message("msg_c", "ses_c", error=error)
    assert server.report_idle("ses_c") == [SubagentError("k:ses_c", "overloaded", "MODEL_ERROR")]


def test_a_resumed_subagent_is_another_subagent() -> None:
    server = server_with_subagent()
    server.update_part("prt_c", "text", "msg_c", "ses_c", text="x")
    server.complete_message("msg_c", "ses_c")
    server.report_idle("ses_c")
    server.report_busy("ses_c")
    server.update_message("msg_d", "ses_c")
    started, content = server.update_part("prt_d", "text", "msg_d", "ses_c", text="more")
    assert isinstance(started, SubagentStarted) and started.id == "k:ses_c:2"
    assert isinstance(content, TextMessageContent) and content.subagent == "k:ses_c:2"


def test_a_child_of_another_session_is_not_read() -> None:
    server = working_server()
    server.emit("session.created", "ses_x", info={**CHILD, "id": "ses_x", "parentID": "ses_other"})
    assert server.update_message("msg_x", "ses_x") == []
    assert server.update_part("prt_x", "text", "msg_x", "ses_x", text="other") == []


# -- malformed events

SOURCES = sorted(Path(opencode.__path__[0]).glob("*.py"))
FIELDS = sorted({name for path in SOURCES for name in re.findall(r'get\("(\w+)"', path.read_text("utf-8"))})
"""The fields that the dialect reads."""
KINDS = sorted({"message.part.delta", *SESSION_READERS, *TURN_READERS})
CONTAINERS = ("info", "part", "status", "tool", "error")
VALUES: list[Any] = [None, True, -1, 1.5, "", "x", [], [[]], [{}], {}, {"type": 7}]
IDS = {"messageID": "msg_1", "id": "prt_1"}


@pytest.mark.parametrize("kind", KINDS)
def test_a_value_of_any_type_in_any_field_is_read(kind: str) -> None:
    for value in VALUES:
        fields = dict.fromkeys(FIELDS, value)
        parts = [fields | IDS | {"type": part} for part in ("text", "tool", "step-finish", "patch", "file")]
        tools = [parts[1] | {"state": fields | {"status": status}} for status in ("running", "error")]
        for nested in (value, fields, *parts, *tools):
            server = working_server()
            properties = fields | dict.fromkeys(CONTAINERS, nested) | {"sessionID": SESSION}
            server.dialect.read([json.dumps({"type": kind, "properties": properties}).encode()])
