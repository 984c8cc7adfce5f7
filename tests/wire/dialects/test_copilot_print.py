"""The rules of `copilot --output-format json`: one process, one turn, and how it ends."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from gateway.events import Custom, Event, Raw, TextMessageContent, TurnEnded, TurnFailed
from gateway.wire.dialects import Prompt, SessionStart
from gateway.wire.dialects.copilot import CopilotPrintDialect
from tests.wire.dialects.copilot_server import SESSION


def prompted(session_id: str | None = None) -> CopilotPrintDialect:
    dialect = CopilotPrintDialect()
    dialect.start_session(SessionStart("/workspace", session_id))
    assert dialect.is_ready
    dialect.prompt(Prompt([{"type": "text", "text": "-x hello"}], "t1"))
    return dialect


def tell(dialect: CopilotPrintDialect, kind: str, **data: Any) -> list[Event]:
    return dialect.read([orjson.dumps({"type": kind, "data": data})])


def result(dialect: CopilotPrintDialect, **told: Any) -> list[Event]:
    return dialect.read([orjson.dumps({"type": "result", "sessionId": SESSION, **told})])


def test_the_prompt_is_all_of_stdin() -> None:
    assert prompted().outbox == [b"-x hello"]


def test_the_result_ends_the_turn_and_names_the_session() -> None:
    dialect = prompted()
    assert result(dialect, exitCode=0) == [TurnEnded()]
    assert dialect.session_id == SESSION and not dialect.is_busy
    assert result(dialect, exitCode=0) == []


def test_a_session_to_come_back_to_keeps_its_id() -> None:
    assert prompted(SESSION).session_id == SESSION


def test_an_error_is_told_when_the_result_comes() -> None:
    dialect = prompted()
    assert tell(dialect, "session.error", errorType="query", message="400 no", statusCode=400) == []
    assert result(dialect, exitCode=1) == [TurnFailed("400 no", "MODEL_ERROR")]


def test_an_exit_code_without_a_reason_is_a_failure_all_the_same() -> None:
    assert result(prompted(), exitCode=3) == [TurnFailed("the agent ended with exit code 3")]


def test_premium_requests_and_changed_files_are_told() -> None:
    changes = {"linesAdded": 2, "linesRemoved": 0, "filesModified": ["/workspace/a"]}
    found = result(prompted(), exitCode=0, usage={"premiumRequests": 1, "codeChanges": changes})
    assert found == [Custom("cost", {"premiumRequests": 1}), Custom("copilot.code_changes", changes), TurnEnded()]


def test_a_stopped_turn_is_cancelled_whatever_it_says_then() -> None:
    dialect = prompted()
    assert dialect.cancel() is False, "a signal stops it"
    tell(dialect, "session.error", errorType="query", message="aborted")
    assert result(dialect, exitCode=1) == [TurnEnded("cancelled")]
    other = prompted()
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
def test_what_stderr_says_is_the_reason_where_there_is_no_result(stderr: str, code: str) -> None:
    [broke] = prompted().on_process_exit(1, stderr)
    assert broke == TurnFailed(stderr.strip(), code)


def test_a_death_without_a_word_names_the_exit_code() -> None:
    [broke] = prompted().on_process_exit(-9, "")
    assert broke == TurnFailed("the agent ended with exit code -9 before its result", "AGENT_DIED")


def test_an_error_that_came_before_the_death_is_the_reason() -> None:
    dialect = prompted()
    tell(dialect, "session.error", errorType="query", message="500 no", statusCode=500)
    assert dialect.on_process_exit(1, "noise") == [TurnFailed("500 no", "MODEL_ERROR")]


def test_a_process_that_has_said_its_end_has_nothing_to_add() -> None:
    dialect = prompted()
    result(dialect, exitCode=0)
    assert dialect.on_process_exit(0, "noise") == []


def test_a_line_that_is_no_event_is_handed_on() -> None:
    dialect = prompted()
    assert dialect.read([b"Warning: old"]) == [Raw("Warning: old", "copilot-print")]
    assert isinstance(tell(dialect, "brand.new")[0], Raw)


def test_without_streaming_the_message_is_told_whole() -> None:
    [delta, _] = tell(prompted(), "assistant.message", messageId="a", content="hello", toolRequests=[])
    assert isinstance(delta, TextMessageContent) and delta.text == "hello"
