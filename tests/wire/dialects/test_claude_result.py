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
    answers,
    assistant,
    at_work,
    failed,
    may_use,
    notice,
    prompted,
    ready,
    response,
    result,
    told,
    tool_result,
    uuid_of,
)
from tests.wire.dialects.claude_replay import sent, text

LOST = "No conversation found with session ID: 1"

# -- subagents


AGENT = {"type": "tool_use", "id": "c1", "name": "Agent", "input": {}}
ABOUT = {"task_type": "local_agent", "subagent_type": "Explore", "description": "look"}
STARTED = notice("task_started", task_id="a1", tool_use_id="c1", is_backgrounded=True, **ABOUT)
DONE = notice("task_notification", task_id="a1", tool_use_id="c1", status="completed", summary="seen")


def test_a_subagent_speaks_in_a_lane_of_its_own() -> None:
    dialect = prompted()
    told(dialect, assistant(AGENT))
    assert told(dialect, STARTED) == [SubagentStarted("t1:agent:a1", "Explore", "look", None, "t1:c1")]
    events = told(dialect, assistant({"type": "text", "text": "hm"}, parent="c1", agent_id="a1"))
    assert events[0] == TextMessageContent("hm", "t1:m2", "t1:agent:a1")
    assert told(dialect, DONE) == [SubagentFinished("t1:agent:a1", "seen")]


def test_a_subagent_that_nobody_announced_begins_with_its_first_word_and_ends_with_its_call() -> None:
    dialect = prompted()
    told(dialect, assistant(AGENT))
    events = told(dialect, assistant({"type": "text", "text": "hm"}, parent="c1"))
    assert events[0] == SubagentStarted("t1:agent:c1", "subagent", None, None, "t1:c1")
    assert told(dialect, tool_result("c1", "report"))[0] == SubagentFinished("t1:agent:c1")


@pytest.mark.parametrize(("status", "code"), [("failed", None), ("stopped", "CANCELLED")])
def test_a_subagent_may_fail(status: str, code: str | None) -> None:
    dialect = prompted()
    told(dialect, STARTED)
    [event] = told(dialect, DONE | {"status": status})
    assert isinstance(event, SubagentError) and event.code == code


def test_a_subagent_that_is_sent_to_the_background_holds_the_turn() -> None:
    dialect = prompted()
    moved = notice("task_updated", task_id="a1", patch={"is_backgrounded": True})
    told(dialect, STARTED | {"is_backgrounded": False}, moved)
    assert told(dialect, result()) == [] and dialect.is_busy


def test_a_subagent_that_outlives_its_turn_begins_anew_in_the_next() -> None:
    dialect = prompted()
    told(dialect, STARTED, at_work("a1"), failed(result="no"))
    dialect.prompt(Prompt(text("go on"), "t2"))
    events = told(dialect, assistant({"type": "text", "text": "hm"}, parent="c1", agent_id="a1"))
    assert events[0] == SubagentStarted("t2:agent:a1", "Explore", "look")


def test_a_subagent_that_comes_back_is_a_new_one() -> None:
    dialect = prompted()
    told(dialect, STARTED, DONE)
    [again] = told(dialect, STARTED)
    assert isinstance(again, SubagentStarted) and again.id == "t1:agent:a1.2"


def test_a_turn_lasts_until_its_subagents_are_done_and_the_agent_has_answered() -> None:
    """Of a version that does not tell when it is idle."""
    dialect = prompted()
    assert told(dialect, STARTED, at_work("a1"), result())[1:] == [] and dialect.is_busy
    assert told(dialect, DONE, at_work(), notice("init"))[1:] == [] and dialect.is_busy
    assert told(dialect, result(origin={"kind": "task-notification"})) == [TurnEnded()] and not dialect.is_busy


def test_a_turn_of_a_version_that_tells_when_it_is_idle_lasts_until_then() -> None:
    dialect = prompted()
    told(dialect, notice("session_state_changed", state="running"), STARTED, at_work("a1"), result(), DONE, at_work())
    assert told(dialect, notice("init"), result(origin={"kind": "task-notification"})) == []
    assert told(dialect, notice("session_state_changed", state="idle")) == [TurnEnded()]


def test_a_shell_in_the_background_holds_nothing_up() -> None:
    dialect = prompted()
    shell = notice("background_tasks_changed", tasks=[{"task_id": "b1", "task_type": "local_bash"}])
    started = notice("task_started", task_id="b1", task_type="local_bash", is_backgrounded=True, description="make")
    events = told(dialect, started, shell, result())
    shown = {"taskId": "b1", "description": "make", "status": "running", "type": "local_bash"}
    assert events == [Custom("claude.task", shown), TurnEnded()]


def test_a_failure_does_not_wait_for_subagents() -> None:
    dialect = prompted()
    assert told(dialect, at_work("a1"), failed(result="no")) == [TurnFailed("no")]


# -- the end


def test_the_result_that_names_our_prompt_ends_it() -> None:
    dialect = ready()
    uuid = uuid_of(dialect)
    assert told(dialect, result(user_message_uuids=["another"])) == [] and dialect.is_busy
    assert told(dialect, result(user_message_uuids=["another", uuid])) == [TurnEnded()]


def test_older_versions_tell_by_its_origin_that_a_turn_was_not_asked_for() -> None:
    dialect = prompted()
    assert told(dialect, result(origin={"kind": "task-notification"})) == [] and dialect.is_busy
    assert told(dialect, result(origin={"kind": "human"})) == [TurnEnded()]


def test_between_turns_a_result_ends_nothing() -> None:
    dialect = ready()
    assert told(dialect, result(usage={"input_tokens": 1, "output_tokens": 2})) == [
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
def test_a_failure_says_whose_it_is(fields: Json, expected: tuple[str, str]) -> None:
    assert told(prompted(), failed(**fields)) == [TurnFailed(*expected)]


@pytest.mark.parametrize(("error", "code"), [("authentication_failed", "AUTH_REQUIRED"), ("overloaded", "MODEL_ERROR")])
def test_an_error_that_is_dressed_as_an_answer_is_told_as_an_error_only(error: str, code: str) -> None:
    dialect = prompted()
    words = {"type": "text", "text": "Not logged in"}
    assert told(dialect, assistant(words, is_api_error_message=True, error=error)) == []
    assert told(dialect, failed(result="Not logged in")) == [TurnFailed("Not logged in", code)]


def test_an_error_that_the_turn_survived_is_told_as_the_answer_it_looks_like() -> None:
    dialect = prompted()
    told(dialect, assistant({"type": "text", "text": "cut short"}, is_api_error_message=True))
    assert told(dialect, result()) == [TextMessageContent("cut short", "t1:error"), TurnEnded()]


@pytest.mark.parametrize(
    ("told_by", "reason"), [("refusal", "refusal"), ("max_tokens", "max_tokens"), ("tool_use", "end_turn")]
)
def test_why_the_model_stopped_is_told_where_it_matters(told_by: str, reason: str) -> None:
    assert told(prompted(), result(stop_reason=told_by)) == [TurnEnded(reason)]


def test_a_structured_output_is_the_result_of_the_run() -> None:
    assert told(prompted(), result(structured_output={"a": 1})) == [TurnEnded(result={"a": 1})]


def test_a_session_that_is_gone_may_be_known_by_the_end_of_the_process_only() -> None:
    dialect = prompted()
    assert dialect.on_process_exit(1, f"warning\n{LOST}\n") == [TurnFailed(LOST, "SESSION_NOT_FOUND")]


def test_a_process_that_dies_says_nothing_of_its_turn() -> None:
    dialect = prompted()
    assert dialect.on_process_exit(1, "Segmentation fault") == [] and dialect.is_busy


# -- cancelling


def test_a_cancelled_turn_is_interrupted_and_its_questions_are_refused() -> None:
    dialect = prompted()
    told(dialect, may_use())
    assert dialect.cancel()
    lines = sent(dialect)
    assert lines[0]["response"]["response"]["behavior"] == "deny"
    assert lines[1]["request"] == {"subtype": "interrupt", "cancel_queued": True}
    aborted = failed(subtype="error_during_execution", terminal_reason="aborted_tools")
    assert told(dialect, response(lines[1], {"still_queued": [], "cancelled": []}), aborted) == [TurnEnded("cancelled")]


def test_whatever_a_turn_ends_with_after_it_was_told_to_stop_it_is_cancelled() -> None:
    dialect = prompted()
    dialect.cancel()
    assert told(dialect, failed(result="API Error: 500", terminal_reason="api_error")) == [TurnEnded("cancelled")]


def test_a_prompt_that_was_still_waiting_is_gone_at_once() -> None:
    dialect = ready()
    uuid = uuid_of(dialect)
    dialect.cancel()
    [line] = sent(dialect)
    assert told(dialect, response(line, {"cancelled": [uuid]})) == [TurnEnded("cancelled")]


def test_a_turn_that_only_waits_for_subagents_ends_when_it_is_interrupted() -> None:
    dialect = prompted()
    told(dialect, at_work("a1"), result())
    dialect.cancel()
    [line] = sent(dialect)
    assert told(dialect, at_work(), response(line, {"cancelled": []})) == [TurnEnded("cancelled")]


def test_nobody_is_interrupted_between_turns() -> None:
    dialect = ready()
    assert dialect.cancel() and sent(dialect) == []


def test_a_turn_that_somebody_else_stopped_is_cancelled_too() -> None:
    aborted = failed(subtype="error_during_execution", terminal_reason="aborted_streaming")
    assert told(prompted(), aborted) == [TurnEnded("cancelled")]


def test_after_a_cancelled_turn_the_next_one_is_like_any_other() -> None:
    dialect = prompted()
    dialect.cancel()
    told(dialect, failed(terminal_reason="aborted_streaming"))
    sent(dialect)
    dialect.prompt(Prompt(text("go on"), "t2"))
    assert told(dialect, result()) == [TurnEnded()] and answers(dialect) == []
