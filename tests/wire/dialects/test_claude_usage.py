"""Usage and cost of Claude Code, actions between turns, and its print mode."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.events import Custom, Event, TokenUsage, TurnEnded, Warning
from gateway.wire.dialects import Prompt, SessionStart
from gateway.wire.dialects.claude import ClaudePrint
from tests.wire.dialects.claude_conversation import (
    COMPLETE,
    MESSAGE,
    STOPPED,
    Json,
    background,
    prompted,
    read,
    ready,
    response,
    result,
    system,
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

# -- tokens and money


def usage(given: int, made: int, **fields: Any) -> Json:
    return {"inputTokens": given, "outputTokens": made, "provider": "firstParty", **fields}


def tokens(events: list[Event]) -> list[tuple[str | None, int | None, int | None]]:
    return [(e.model, e.input_tokens, e.output_tokens) for e in events if isinstance(e, TokenUsage)]


def test_the_cache_is_counted_into_the_input() -> None:
    counts = usage(1, 20, cacheReadInputTokens=300, cacheCreationInputTokens=4000, thinkingTokens=5)
    events = read(prompted(), result(modelUsage={"m": counts}, model_usage_since_last_result={"m": counts}))
    assert events[0] == TokenUsage("anthropic", "m", 4301, 20, 4321, 5, 300, 4000)


def test_what_was_used_before_is_not_counted_again() -> None:
    """Of a version that only adds up."""
    dialect = prompted()
    assert tokens(read(dialect, result(modelUsage={"a": usage(10, 1)}))) == [("a", 10, 1)]
    dialect.prompt(Prompt(text("more"), "t2"))
    both = {"a": usage(15, 3), "b": usage(7, 7)}
    assert tokens(read(dialect, result(modelUsage=both))) == [("a", 5, 2), ("b", 7, 7)]


def test_after_a_clear_it_counts_afresh() -> None:
    dialect = prompted()
    read(dialect, result(modelUsage={"a": usage(900, 90)}))
    dialect.prompt(Prompt(text("/clear"), "t2"))
    assert tokens(read(dialect, result(modelUsage={"a": usage(10, 1)}))) == [("a", 10, 1)]


def test_of_a_session_that_came_back_only_this_turn_is_counted() -> None:
    dialect = ready(SessionStart("/workspace", session_id="s1"))
    dialect.prompt(Prompt(text("hello"), "t1"))
    old = result(modelUsage={"a": usage(900, 90)}, usage={"input_tokens": 10, "output_tokens": 1}, total_cost_usd=9.0)
    events = read(dialect, system("init", model="a"), old)
    assert tokens(events) == [("a", 10, 1)]
    assert [event for event in events if isinstance(event, Custom)] == []  # the cost of this turn is unknown


def test_the_cost_is_reported_once_with_the_end() -> None:
    dialect = prompted()
    read(dialect, background("a1"), result(total_cost_usd=0.5), background())
    events = read(dialect, result(total_cost_usd=0.75, origin={"kind": "task-notification"}))
    assert events == [Custom("cost", {"usd": 0.75}), TurnEnded()]
    dialect.prompt(Prompt(text("more"), "t2"))
    assert read(dialect, result(total_cost_usd=1.0)) == [Custom("cost", {"usd": 0.25}), TurnEnded()]


@pytest.mark.parametrize("nonsense", [True, -1, "1", None, [], 1e30])
def test_a_count_that_is_none_is_not_counted(nonsense: Any) -> None:
    usage = {"m": {"inputTokens": nonsense, "costUSD": nonsense}}
    assert read(prompted(), result(model_usage_since_last_result=usage, total_cost_usd=nonsense)) == [TurnEnded()]


# -- between turns


def test_models_are_listed_once_each_with_their_short_names() -> None:
    dialect = ready(models=MODELS)
    ticket = dialect.start_action("models")
    assert sent(dialect) == []
    assert dialect.action_results[ticket].value == [
        {"id": "claude-o", "aliases": ["opus"], "default": True, "name": "Opus", "thinking": True},
        {"id": "claude-h", "aliases": ["haiku"], "default": False, "name": "Haiku", "efforts": ["low", "max"]},
    ]


def test_unknown_models_are_requested() -> None:
    dialect = ready()
    ticket = dialect.start_action("models")
    [line] = sent(dialect)
    assert line["request"] == {"subtype": "list_models"} and ticket not in dialect.action_results
    read(dialect, response(line, {"models": MODELS}))
    assert len(dialect.action_results[ticket].value) == 2


@pytest.mark.parametrize(
    ("action", "params", "subtype", "place"),
    [
        ("set_model", {"model": "haiku"}, "set_model", "custom.session.models.current"),
        ("set_mode", {"mode": "plan"}, "set_permission_mode", "custom.session.modes.current"),
    ],
)
def test_model_and_mode_can_be_set(action: str, params: Json, subtype: str, place: str) -> None:
    dialect = ready()
    ticket = dialect.start_action(action, params)
    [line] = sent(dialect)
    assert line["request"] == {"subtype": subtype, **params}
    read(dialect, response(line, {"model": "claude-h"} if action == "set_model" else params))
    assert dialect.action_results[ticket].error is None
    assert dialect.session_layer[place] == ("claude-h" if action == "set_model" else "plan")


def test_a_failed_setting_has_the_message_of_claude() -> None:
    dialect = ready()
    ticket = dialect.start_action("set_mode", {"mode": "bypassPermissions"})
    [line] = sent(dialect)
    read(dialect, response(line, subtype="error", error="not launched so", error_code="bypass_not_launched"))
    error = dialect.action_results[ticket].error
    assert error is not None and (error.detail, error.extra["agentCode"]) == ("not launched so", "bypass_not_launched")
    assert dialect.session_layer["custom.session.modes.current"] == "default"


def test_a_mode_that_claude_changes_is_reported() -> None:
    dialect = prompted()
    assert read(dialect, system("status", permissionMode="acceptEdits")) == [
        Custom("session.mode", {"mode": "acceptEdits"})
    ]
    assert dialect.session_layer["custom.session.modes.current"] == "acceptEdits"


# -- one prompt


def printed(*blocks: Json) -> ClaudePrint:
    dialect = ClaudePrint()
    dialect.start_session(SessionStart("/workspace"))
    assert dialect.is_ready
    dialect.prompt(Prompt(list(blocks) or text("hello"), "t1"))
    return dialect


def test_for_one_prompt_the_text_stands_on_stdin() -> None:
    assert printed(*text("-x"), *text("and more")).outbox == [b"-x\n\nand more"]


def test_print_mode_drops_images_with_a_warning() -> None:
    dialect = printed(*text("look"), {"type": "image", "data": "aW1n", "mimeType": "image/png"})
    assert dialect.outbox == [b"look"]
    [event] = dialect.read([])
    assert isinstance(event, Warning) and event.code == "CONTENT_DROPPED"


def test_for_one_prompt_the_last_result_is_the_end() -> None:
    dialect = printed()
    lines = [b'{"type":"result","is_error":true,"result":"no"}', b'{"type":"result","is_error":false}']
    assert dialect.read(lines) == [] and dialect.is_busy
    assert dialect.on_process_exit(1, "") == [TurnEnded()]


def test_for_one_prompt_there_is_no_way_to_cancel_but_a_signal() -> None:
    dialect = printed()
    assert dialect.cancel() is False
    assert dialect.on_process_exit(143, "") == [TurnEnded("cancelled")]


def test_completeness_of_a_message_is_no_end_of_the_turn() -> None:
    assert read(prompted(), MESSAGE, COMPLETE, STOPPED) == []
