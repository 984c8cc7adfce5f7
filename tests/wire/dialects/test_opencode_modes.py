"""The modes of an opencode session: its primary agents, and the rules that each of them brings."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from gateway.capability_paths import MODE, MODEL, MODES
from gateway.events import TurnEnded, TurnFailed
from gateway.wire.dialects import Prompt, SessionStart
from gateway.wire.dialects.opencode import OpenCode
from tests.wire.dialects.opencode_server import SESSION, answer_last_call, last_call, start_dialect

ASK_BASH = {"permission": "bash", "pattern": "*", "action": "ask"}
ASK_EDIT = {"permission": "edit", "pattern": "*", "action": "ask"}
DENY_EDIT = {"permission": "edit", "pattern": "*", "action": "deny"}
DENY_BASH = {"permission": "bash", "pattern": "*", "action": "deny"}
ALLOW_ALL = {"permission": "*", "pattern": "*", "action": "allow"}
ALLOW_PLANS = {"permission": "edit", "pattern": "plans/*.md", "action": "allow"}
CODE = "execution.codeExecution"

AGENTS: list[dict[str, Any]] = [
    {"name": "build", "mode": "primary", "description": "The default agent.", "permission": [ALLOW_ALL]},
    {"name": "plan", "mode": "primary", "permission": [ALLOW_ALL, DENY_EDIT, ALLOW_PLANS]},
    {"name": "reviewer", "mode": "all", "permission": [ALLOW_ALL, DENY_BASH]},
    {"name": "general", "mode": "subagent", "permission": []},
    {"name": "title", "mode": "primary", "hidden": True, "permission": []},
    {"mode": "primary"},
]
START = SessionStart("/w", params={"permission": [ASK_BASH, ASK_EDIT]}, tag="s")


def open_session(start: SessionStart = START, **info: Any) -> OpenCode:
    dialect = start_dialect(start, AGENTS)
    rules = info.pop("permission", [ASK_BASH, ASK_EDIT])
    answer_last_call(dialect, {"id": SESSION, "permission": rules, **info})
    return dialect


def prompt(dialect: OpenCode, mode: str | None = None) -> None:
    dialect.outbox.clear()
    dialect.prompt(Prompt(({"type": "text", "text": "hello"},), "k", mode=mode))


def test_a_session_lists_its_primary_agents_as_modes() -> None:
    dialect = open_session()
    assert dialect.is_ready
    assert dialect.session_layer[MODES] == [
        {"id": "build", "description": "The default agent."},
        {"id": "plan"},
        {"id": "reviewer"},
    ]
    assert dialect.session_layer[MODE] == "build", "the first is the one that it starts in"


def test_a_mode_that_was_set_is_the_current_one_at_once() -> None:
    dialect = open_session()
    action = dialect.start_action("set_mode", {"mode": "plan"})
    assert dialect.action_results[action].error is None
    assert dialect.session_layer[MODE] == "plan"


def test_a_model_that_was_set_is_the_current_one_at_once() -> None:
    dialect = open_session()
    dialect.start_action("set_model", {"model": "p/m"})
    assert dialect.session_layer[MODEL] == "p/m"


def test_a_session_keeps_its_mode_for_later_prompts() -> None:
    dialect = open_session()
    dialect.start_action("set_mode", {"mode": "reviewer"})
    prompt(dialect)
    answer_last_call(dialect, {"id": SESSION})
    assert last_call(dialect)["body"]["agent"] == "reviewer"


def test_an_agent_that_may_run_no_commands_runs_no_code() -> None:
    dialect = open_session()
    assert dialect.session_layer[CODE] is True
    dialect.start_action("set_mode", {"mode": "reviewer"})
    assert dialect.session_layer[CODE] is False


def test_what_the_mode_denies_is_not_asked_about() -> None:
    """The gateway's rules come after the agent's own and would turn its denial into a question."""
    dialect = open_session()
    prompt(dialect, "plan")
    call = last_call(dialect)
    assert (call["method"], call["path"]) == ("PATCH", f"/session/{SESSION}?directory=%2Fw")
    assert call["body"] == {"permission": [ASK_BASH, ASK_EDIT, DENY_EDIT, ALLOW_PLANS]}
    answer_last_call(dialect, {"id": SESSION})
    assert last_call(dialect)["body"]["agent"] == "plan"


def test_the_rules_are_sent_once_for_a_mode() -> None:
    dialect = open_session()
    prompt(dialect, "plan")
    answer_last_call(dialect, {"id": SESSION})
    dialect.is_busy = False
    prompt(dialect, "plan")
    assert [orjson.loads(message)["method"] for message in dialect.outbox] == ["POST"]


def test_a_session_that_returns_to_another_mode_is_asked_about_edits_again() -> None:
    dialect = open_session()
    prompt(dialect, "plan")
    answer_last_call(dialect, {"id": SESSION})
    dialect.is_busy = False
    prompt(dialect, "build")
    assert last_call(dialect)["body"] == {"permission": [ASK_BASH, ASK_EDIT]}


def test_an_old_report_of_the_server_does_not_undo_what_was_set() -> None:
    """It repeats the mode of the last prompt when the rules of the session change."""
    dialect = open_session(agent="build", model={"providerID": "p", "id": "old"})
    dialect.start_action("set_mode", {"mode": "plan"})
    dialect.start_action("set_model", {"model": "p/new"})
    report = {"id": SESSION, "agent": "build", "model": {"providerID": "p", "id": "old"}}
    event = {"id": "e", "type": "session.updated", "properties": {"sessionID": SESSION, "info": report}}
    dialect.read([orjson.dumps(event)])
    assert (dialect.session_layer[MODE], dialect.session_layer[MODEL]) == ("plan", "p/new")
    event["properties"] = {"sessionID": SESSION, "info": report | {"agent": "reviewer"}}
    dialect.read([orjson.dumps(event)])
    assert (dialect.session_layer[MODE], dialect.session_layer[CODE]) == ("reviewer", False), "the agent changed it"


def test_a_resumed_session_gets_the_rules_of_its_mode() -> None:
    """It has the denials of the mode that it was in before; the last rules decide."""
    start = SessionStart("/w", SESSION, params={"permission": [ASK_BASH, ASK_EDIT]})
    dialect = open_session(start, permission=[ASK_BASH, ASK_EDIT, DENY_EDIT], agent="build")
    assert not dialect.is_ready
    assert last_call(dialect)["body"] == {"permission": [ASK_BASH, ASK_EDIT]}
    answer_last_call(dialect, {"id": SESSION})
    assert dialect.is_ready


def test_a_user_s_own_rule_that_asks_again_holds() -> None:
    """opencode's configuration comes after the agent's rules: whoever asks about edits there is asked in plan too."""
    agents = [{"name": "plan", "mode": "primary", "permission": [ALLOW_ALL, DENY_EDIT, ASK_EDIT]}]
    dialect = start_dialect(START, agents)
    assert last_call(dialect)["body"] == {"permission": [ASK_BASH, ASK_EDIT]}


def test_a_prompt_whose_rules_are_refused_fails() -> None:
    dialect = open_session()
    prompt(dialect, "plan")
    [failure] = answer_last_call(dialect, {"message": "no"}, 500)
    assert isinstance(failure, TurnFailed)
    assert "did not take the session's rules" in failure.message
    assert not dialect.is_busy


def test_a_prompt_that_was_cancelled_before_its_rules_are_set_is_not_sent() -> None:
    dialect = open_session()
    prompt(dialect, "plan")
    dialect.cancel()
    [end] = answer_last_call(dialect, {"id": SESSION})
    assert isinstance(end, TurnEnded) and end.stop_reason == "cancelled"
    assert not any(b"prompt_async" in message for message in dialect.outbox)


@pytest.mark.parametrize(
    "answer", [None, {}, [{"name": 1}, "x", {"name": "a", "permission": [1, {"permission": "bash"}]}]]
)
def test_a_strange_list_of_agents_does_no_harm(answer: Any) -> None:
    dialect = start_dialect(START, answer)
    answer_last_call(dialect, {"id": SESSION, "permission": [ASK_BASH, ASK_EDIT]})
    assert dialect.is_ready
