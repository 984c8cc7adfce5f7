"""How a turn with Claude Code ends: by its result, after its subagents, by being cancelled."""

from __future__ import annotations

import pytest

from gateway.events import (
    Custom,
    SubagentError,
    SubagentFinished,
    SubagentStarted,
    TextMessageContent,
    TokenUsage,
    TurnEnded,
    TurnFailed,
)
from gateway.wire.dialects import Prompt
from tests.wire.dialects.claude_conversation import (
    Json,
    assistant,
    background,
    can_use_tool,
    failed,
    prompt_uuid,
    prompted,
    read,
    ready,
    response,
    responses_sent,
    result,
    system,
    tool_result,
)
from tests.wire.dialects.claude_replay import sent, text

LOST = "No conversation found with session ID: 1"

# -- subagents


AGENT = {"type": "tool_use", "id": "c1", "name": "Agent", "input": {}}
ABOUT = {"task_type": "local_agent", "subagent_type": "Explore", "description": "look"}
STARTED = system("task_started", task_id="a1", tool_use_id="c1", is_backgrounded=True, **ABOUT)
DONE = system("task_notification", task_id="a1", tool_use_id="c1", status="completed", summary="seen")


def test_a_subagents_messages_are_its_own() -> None:
    dialect = prompted()
    read(dialect, assistant(AGENT))
    assert read(dialect, STARTED) == [SubagentStarted("t1:agent:a1", "Explore", "look", None, "t1:c1")]
    events = read(dialect, assistant({"type": "text", "text": "hm"}, parent="c1", agent_id="a1"))
    assert events[0] == TextMessageContent("hm", "t1:m2", "t1:agent:a1")
    assert read(dialect, DONE) == [SubagentFinished("t1:agent:a1", "seen")]


def test_an_unannounced_subagent_starts_with_its_first_message_and_ends_with_its_call() -> None:
    dialect = prompted()
    read(dialect, assistant(AGENT))
    events = read(dialect, assistant({"type": "text", "text": "hm"}, parent="c1"))
    assert events[0] == SubagentStarted("t1:agent:c1", "subagent", None, None, "t1:c1")
    assert read(dialect, tool_result("c1", "report"))[0] == SubagentFinished("t1:agent:c1")


@pytest.mark.parametrize(("status", "code"), [("failed", None), ("stopped", "CANCELLED")])
def test_a_subagent_may_fail(status: str, code: str | None) -> None:
    dialect = prompted()
    read(dialect, STARTED)
    [event] = read(dialect, DONE | {"status": status})
    assert isinstance(event, SubagentError) and event.code == code


def test_a_subagent_that_is_sent_to_the_background_holds_the_turn() -> None:
    dialect = prompted()
    moved = system("task_updated", task_id="a1", patch={"is_backgrounded": True})
    read(dialect, STARTED | {"is_backgrounded": False}, moved)
    assert read(dialect, result()) == [] and dialect.is_busy


def test_a_subagent_that_outlives_its_turn_starts_again_in_the_next() -> None:
    dialect = prompted()
    read(dialect, STARTED, background("a1"), failed(result="no"))
    dialect.prompt(Prompt(text("go on"), "t2"))
    events = read(dialect, assistant({"type": "text", "text": "hm"}, parent="c1", agent_id="a1"))
    assert events[0] == SubagentStarted("t2:agent:a1", "Explore", "look")


def test_a_subagent_that_comes_back_is_a_new_one() -> None:
    dialect = prompted()
    read(dialect, STARTED, DONE)
    [again] = read(dialect, STARTED)
    assert isinstance(again, SubagentStarted) and again.id == "t1:agent:a1.2"


def test_a_turn_lasts_until_its_subagents_are_done_and_the_agent_has_answered() -> None:
    """A version that does not report when it is idle."""
    dialect = prompted()
    assert read(dialect, STARTED, background("a1"), result())[1:] == [] and dialect.is_busy
    assert read(dialect, DONE, background(), system("init"))[1:] == [] and dialect.is_busy
    assert read(dialect, result(origin={"kind": "task-notification"})) == [TurnEnded()] and not dialect.is_busy


def test_a_turn_of_a_version_that_reports_idle_lasts_until_then() -> None:
    dialect = prompted()
    read(
        dialect,
        system("session_state_changed", state="running"),
        STARTED,
        background("a1"),
        result(),
        DONE,
        background(),
    )
    assert read(dialect, system("init"), result(origin={"kind": "task-notification"})) == []
    assert read(dialect, system("session_state_changed", state="idle")) == [TurnEnded()]


def test_a_shell_in_the_background_holds_nothing_up() -> None:
    dialect = prompted()
    shell = system("background_tasks_changed", tasks=[{"task_id": "b1", "task_type": "local_bash"}])
    started = system("task_started", task_id="b1", task_type="local_bash", is_backgrounded=True, description="make")
    events = read(dialect, started, shell, result())
    shown = {"taskId": "b1", "description": "make", "status": "running", "type": "local_bash"}
    assert events == [Custom("claude.task", shown), TurnEnded()]


def test_a_failure_does_not_wait_for_subagents() -> None:
    dialect = prompted()
    assert read(dialect, background("a1"), failed(result="no")) == [TurnFailed("no")]


# -- the end


def test_the_result_that_names_our_prompt_ends_it() -> None:
    dialect = ready()
    uuid = prompt_uuid(dialect)
    assert read(dialect, result(user_message_uuids=["another"])) == [] and dialect.is_busy
    assert read(dialect, result(user_message_uuids=["another", uuid])) == [TurnEnded()]


def test_older_versions_report_by_its_origin_that_claude_started_a_turn() -> None:
    dialect = prompted()
    assert read(dialect, result(origin={"kind": "task-notification"})) == [] and dialect.is_busy
    assert read(dialect, result(origin={"kind": "human"})) == [TurnEnded()]


def test_between_turns_a_result_ends_nothing() -> None:
    dialect = ready()
    assert read(dialect, result(usage={"input_tokens": 1, "output_tokens": 2})) == [
        TokenUsage(input_tokens=1, output_tokens=2, total_tokens=3, cached_input_tokens=0, cache_write_input_tokens=0)
    ]
    assert dialect.failure is None


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"result": "API Error: 500", "terminal_reason": "api_error"}, ("API Error: 500", "MODEL_ERROR")),
        ({"result": "denied", "api_error_status": 403}, ("denied", "AUTH_REQUIRED")),
        ({"subtype": "error_max_turns", "errors": ["Reached 3"]}, ("Reached 3", "TURN_LIMIT")),
        ({"subtype": "error_max_turns"}, ("The turn reached its limit of model calls.", "TURN_LIMIT")),
        ({"result": "enough", "terminal_reason": "max_turns"}, ("enough", "TURN_LIMIT")),
        ({"subtype": "error_max_budget_usd"}, ("The turn reached its limit of cost.", "BUDGET_LIMIT")),
        (
            {"subtype": "error_max_structured_output_retries"},
            ("The answer did not fit its schema.", "OUTPUT_INVALID"),
        ),
        ({"subtype": "error_during_execution", "errors": [LOST]}, (LOST, "SESSION_NOT_FOUND")),
        (
            {"subtype": "error_during_execution", "errors": ["[ede_diagnostic] x", "boom", 7]},
            ("boom", "AGENT_ERROR"),
        ),
        ({"errors": "boom"}, ("Claude Code ended the turn with an error.", "AGENT_ERROR")),
    ],
)
def test_the_code_of_a_failure_names_the_party_at_fault(fields: Json, expected: tuple[str, str]) -> None:
    assert read(prompted(), failed(**fields)) == [TurnFailed(*expected)]


@pytest.mark.parametrize(("error", "code"), [("authentication_failed", "AUTH_REQUIRED"), ("overloaded", "MODEL_ERROR")])
def test_a_model_error_in_an_assistant_message_is_reported_as_an_error_only(error: str, code: str) -> None:
    dialect = prompted()
    error_text = {"type": "text", "text": "Not logged in"}
    assert read(dialect, assistant(error_text, is_api_error_message=True, error=error)) == []
    assert read(dialect, failed(result="Not logged in")) == [TurnFailed("Not logged in", code)]


def test_a_model_error_that_the_turn_survived_is_sent_as_a_message() -> None:
    dialect = prompted()
    read(dialect, assistant({"type": "text", "text": "cut short"}, is_api_error_message=True))
    assert read(dialect, result()) == [TextMessageContent("cut short", "t1:error"), TurnEnded()]


@pytest.mark.parametrize(
    ("line_reason", "reason"), [("refusal", "refusal"), ("max_tokens", "max_tokens"), ("tool_use", "end_turn")]
)
def test_an_unusual_stop_reason_is_passed_on(line_reason: str, reason: str) -> None:
    assert read(prompted(), result(stop_reason=line_reason)) == [TurnEnded(reason)]


def test_a_structured_output_is_the_result_of_the_run() -> None:
    assert read(prompted(), result(structured_output={"a": 1})) == [TurnEnded(result={"a": 1})]


def test_a_session_that_is_gone_may_be_known_by_the_end_of_the_process_only() -> None:
    dialect = prompted()
    assert dialect.on_process_exit(1, f"warning\n{LOST}\n") == [TurnFailed(LOST, "SESSION_NOT_FOUND")]


def test_a_process_that_dies_does_not_end_its_turn() -> None:
    dialect = prompted()
    assert dialect.on_process_exit(1, "Segmentation fault") == [] and dialect.is_busy


# -- cancelling


def test_a_cancelled_turn_is_interrupted_and_its_questions_are_refused() -> None:
    dialect = prompted()
    read(dialect, can_use_tool())
    assert dialect.cancel()
    lines = sent(dialect)
    assert lines[0]["response"]["response"]["behavior"] == "deny"
    assert lines[1]["request"] == {"subtype": "interrupt", "cancel_queued": True}
    aborted = failed(subtype="error_during_execution", terminal_reason="aborted_tools")
    assert read(dialect, response(lines[1], {"still_queued": [], "cancelled": []}), aborted) == [TurnEnded("cancelled")]


def test_a_turn_ends_as_cancelled_after_a_cancel_whatever_its_result() -> None:
    dialect = prompted()
    dialect.cancel()
    assert read(dialect, failed(result="API Error: 500", terminal_reason="api_error")) == [TurnEnded("cancelled")]


def test_a_prompt_that_was_still_waiting_is_gone_at_once() -> None:
    dialect = ready()
    uuid = prompt_uuid(dialect)
    dialect.cancel()
    [line] = sent(dialect)
    assert read(dialect, response(line, {"cancelled": [uuid]})) == [TurnEnded("cancelled")]


def test_a_turn_that_only_waits_for_subagents_ends_when_it_is_interrupted() -> None:
    dialect = prompted()
    read(dialect, background("a1"), result())
    dialect.cancel()
    [line] = sent(dialect)
    assert read(dialect, background(), response(line, {"cancelled": []})) == [TurnEnded("cancelled")]


def test_no_interrupt_is_sent_between_turns() -> None:
    dialect = ready()
    assert dialect.cancel() and sent(dialect) == []


def test_a_turn_that_another_client_stopped_is_cancelled_too() -> None:
    aborted = failed(subtype="error_during_execution", terminal_reason="aborted_streaming")
    assert read(prompted(), aborted) == [TurnEnded("cancelled")]


def test_after_a_cancelled_turn_the_next_one_is_like_any_other() -> None:
    dialect = prompted()
    dialect.cancel()
    read(dialect, failed(terminal_reason="aborted_streaming"))
    sent(dialect)
    dialect.prompt(Prompt(text("go on"), "t2"))
    assert read(dialect, result()) == [TurnEnded()] and responses_sent(dialect) == []
