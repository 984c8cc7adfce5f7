"""The rules of `copilot --output-format json`: one process, one turn, and how it ends."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from gateway.events import (
    Custom,
    Event,
    Raw,
    TextMessageContent,
    ToolCallArgs,
    ToolCallStart,
    TurnEnded,
    TurnFailed,
)
from gateway.wire.dialects import Prompt, SessionStart
from gateway.wire.dialects.copilot import CopilotPrintDialect
from tests.wire.dialects.copilot_server import SESSION


def prompted_dialect(session_id: str | None = None) -> CopilotPrintDialect:
    dialect = CopilotPrintDialect()
    dialect.start_session(SessionStart("/workspace", session_id))
    assert dialect.is_ready
    dialect.prompt(Prompt([{"type": "text", "text": "-x hello"}], "t1"))
    return dialect


def emit(dialect: CopilotPrintDialect, kind: str, **data: Any) -> list[Event]:
    return dialect.read([orjson.dumps({"type": kind, "data": data})])


def send_result(dialect: CopilotPrintDialect, **fields: Any) -> list[Event]:
    return dialect.read([orjson.dumps({"type": "result", "sessionId": SESSION, **fields})])


def test_the_prompt_is_all_of_stdin() -> None:
    assert prompted_dialect().outbox == [b"-x hello"]


def test_the_result_ends_the_turn_and_names_the_session() -> None:
    dialect = prompted_dialect()
    assert send_result(dialect, exitCode=0) == [TurnEnded()]
    assert dialect.session_id == SESSION and not dialect.is_busy
    assert send_result(dialect, exitCode=0) == []


def test_a_resumed_session_keeps_its_id() -> None:
    assert prompted_dialect(SESSION).session_id == SESSION


def test_an_error_fails_the_turn_when_the_result_comes() -> None:
    dialect = prompted_dialect()
    assert emit(dialect, "session.error", errorType="query", message="400 no", statusCode=400) == []
    assert send_result(dialect, exitCode=1) == [TurnFailed("400 no", "MODEL_ERROR")]


def test_an_exit_code_without_a_reason_is_a_failure() -> None:
    assert send_result(prompted_dialect(), exitCode=3) == [TurnFailed("the agent ended with exit code 3")]


def test_premium_requests_and_changed_files_are_reported() -> None:
    changes = {"linesAdded": 2, "linesRemoved": 0, "filesModified": ["/workspace/a"]}
    events = send_result(prompted_dialect(), exitCode=0, usage={"premiumRequests": 1, "codeChanges": changes})
    assert events == [Custom("cost", {"premiumRequests": 1}), Custom("copilot.code_changes", changes), TurnEnded()]


def test_a_stopped_turn_ends_as_cancelled_whatever_the_agent_reports() -> None:
    dialect = prompted_dialect()
    assert dialect.cancel() is False, "a signal stops it"
    emit(dialect, "session.error", errorType="query", message="aborted")
    assert send_result(dialect, exitCode=1) == [TurnEnded("cancelled")]
    other = prompted_dialect()
    other.cancel()
    assert other.on_process_exit(-2, "") == [TurnEnded("cancelled")]


NO_LOGIN = "Error: No authentication information found.\n\nCopilot can be authenticated with GitHub…"
NO_SESSION = "Error: No session, task, or name matched '11111111'.\n"


@pytest.mark.parametrize(
    ("stderr", "code"),
    [
        (NO_LOGIN, "AUTH_REQUIRED"),
        ("Offline mode requires a local model provider. Set COPILOT_PROVIDER_BASE_URL.", "AUTH_REQUIRED"),
        (NO_SESSION, "SESSION_NOT_FOUND"),
        ("error: unknown option '--dance'", "AGENT_ERROR"),
    ],
)
def test_without_a_result_stderr_has_the_reason(stderr: str, code: str) -> None:
    [failure] = prompted_dialect().on_process_exit(1, stderr)
    assert failure == TurnFailed(stderr.strip(), code)


def test_a_crash_without_stderr_names_the_exit_code() -> None:
    [failure] = prompted_dialect().on_process_exit(-9, "")
    assert failure == TurnFailed("the agent ended with exit code -9 before its result", "AGENT_DIED")


def test_an_error_before_a_crash_is_the_reason() -> None:
    dialect = prompted_dialect()
    emit(dialect, "session.error", errorType="query", message="500 no", statusCode=500)
    assert dialect.on_process_exit(1, "noise") == [TurnFailed("500 no", "MODEL_ERROR")]


def test_the_exit_after_a_result_adds_nothing() -> None:
    dialect = prompted_dialect()
    send_result(dialect, exitCode=0)
    assert dialect.on_process_exit(0, "noise") == []


def test_a_line_that_is_no_event_becomes_raw() -> None:
    dialect = prompted_dialect()
    assert dialect.read([b"Warning: old"]) == [Raw("Warning: old", "copilot-print")]
    assert isinstance(emit(dialect, "brand.new")[0], Raw)


def test_without_streaming_the_message_comes_in_one_piece() -> None:
    [delta, _] = emit(prompted_dialect(), "assistant.message", messageId="a", content="hello", toolRequests=[])
    assert isinstance(delta, TextMessageContent) and delta.text == "hello"


def test_half_a_surrogate_pair_in_a_custom_tool_s_input_is_passed_on() -> None:
    line = (
        rb'{"type":"assistant.tool_call_delta","data":{"toolCallId":"c","toolName":"apply_patch","toolType":"custom",'
    )
    [start, arguments] = prompted_dialect().read([line + rb'"inputDelta":"\ud800"}}'])
    assert isinstance(start, ToolCallStart) and isinstance(arguments, ToolCallArgs)
    assert arguments.delta == '{"input":"\\ud800'
