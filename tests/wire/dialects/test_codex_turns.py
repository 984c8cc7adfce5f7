"""Turns of Codex: how they end, are cancelled and counted; and notifications beside them."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.events import Custom, Event, Raw, TokenUsage, TurnEnded, TurnFailed, Warning
from gateway.wire.dialects import Prompt, SessionStart
from gateway.wire.dialects.codex import Codex
from tests.wire.dialects.codex_replay import (
    compact,
    completed,
    item,
    notification,
    notify,
    prompted,
    ready,
    select,
    sent,
)

# -- the end of a turn


def test_a_turn_ends_by_its_own_id_only() -> None:
    dialect = prompted()
    assert completed(dialect, turn="another") == [] and dialect.is_busy
    assert completed(dialect) == [TurnEnded("end_turn")] and not dialect.is_busy


def test_the_end_of_the_turn_before_is_not_that_of_this_one() -> None:
    dialect = prompted()
    completed(dialect)
    dialect.prompt(Prompt([], "t2"))
    assert completed(dialect) == [] and dialect.is_busy


def test_a_turn_that_codex_started_does_not_end_the_gateways_turn() -> None:
    dialect = ready()
    notify(dialect, "turn/started", turn={"id": "unasked"})
    dialect.prompt(Prompt([], "t1"))
    assert completed(dialect, turn="unasked") == [] and dialect.is_busy


def test_an_interrupted_turn_is_cancelled_whichever_client_did_it() -> None:
    assert completed(prompted(), "interrupted") == [TurnEnded("cancelled")]


def test_a_turn_that_fails_while_it_is_cancelled_was_cancelled() -> None:
    dialect = prompted()
    dialect.cancel()
    assert completed(dialect, "failed", error={"message": "x"}) == [TurnEnded("cancelled")]


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
    assert completed(prompted(), "failed", error=error) == [TurnFailed("it broke: in two", code)]


def test_a_failure_without_a_message_takes_the_error_before_it() -> None:
    dialect = prompted()
    assert notify(dialect, "error", error={"message": "the model is gone"}, willRetry=False) == []
    assert completed(dialect, "failed") == [TurnFailed("the model is gone", "MODEL_ERROR")]


def test_a_retry_is_no_end() -> None:
    dialect = prompted()
    [warned] = notify(dialect, "error", error={"message": "Reconnecting... 1/5"}, willRetry=True)
    assert isinstance(warned, Warning) and warned.code == "MODEL_RETRY" and dialect.is_busy


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
    notify(dialect, "turn/started", turn={"id": "tu"})
    assert [message["method"] for message in sent(dialect)] == ["turn/interrupt"]


def test_a_process_that_dies_while_it_is_cancelled_has_ended_its_turn() -> None:
    dialect = prompted()
    item(dialect, "started", type="commandExecution", command="sleep 9")
    dialect.cancel()
    events = dialect.on_process_exit(-15, "")
    assert [type(event).__name__ for event in events] == ["ToolCallResult", "TurnEnded"]
    assert events[-1] == TurnEnded("cancelled")


def test_a_process_that_dies_leaves_no_call_and_no_action_open() -> None:
    dialect = prompted()
    item(dialect, "started", type="commandExecution", command="sleep 9")
    ticket = dialect.start_action("models")
    assert [type(event).__name__ for event in dialect.on_process_exit(1, "")] == ["ToolCallResult"]
    assert dialect.action_results[ticket].error is not None


# -- usage


def usage(dialect: Codex, total: int, last: int, turn: str = "tu") -> list[Event]:
    counts = {"total": {"inputTokens": total, "outputTokens": 0}, "last": {"inputTokens": last, "outputTokens": 0}}
    return notify(dialect, "thread/tokenUsage/updated", turnId=turn, tokenUsage={**counts, "modelContextWindow": 1000})


def test_tokens_are_differences_of_the_total_so_that_none_counts_twice() -> None:
    dialect = prompted()
    [first] = usage(dialect, 10, 10)
    assert first == TokenUsage("lab", "gpt-5.5", input_tokens=10, output_tokens=0, total_tokens=10)
    assert usage(dialect, 10, 10) == [], "a repetition"
    [second] = usage(dialect, 25, 99)
    assert isinstance(second, TokenUsage) and second.input_tokens == 15
    assert dialect.session_layer["custom.session.usage.size"] == 1000


def test_the_usage_of_a_resumed_thread_before_this_turn_is_not_reported() -> None:
    dialect = Codex()
    dialect.session_id = "th"
    dialect.start_session(SessionStart("/workspace", "th", params={"connected": True}))
    dialect.read([b'{"id":"s:1","result":{"thread":{"id":"th"},"model":"m"}}'])
    dialect.prompt(Prompt([], "t1"))
    assert usage(dialect, 100, 7, "an old turn") == []
    notify(dialect, "turn/started", turn={"id": "tu"})
    [used] = usage(dialect, 105, 5)
    assert isinstance(used, TokenUsage) and used.input_tokens == 5


def test_without_a_count_from_before_the_last_call_is_what_counts() -> None:
    dialect = Codex()
    dialect.start_session(SessionStart("/workspace", "th", params={"connected": True}))
    dialect.session_id = "th"
    dialect.read([b'{"id":"s:1","result":{"thread":{"id":"th"}}}'])
    dialect.prompt(Prompt([], "t1"))
    notify(dialect, "turn/started", turn={"id": "tu"})
    [used] = usage(dialect, 105, 5)
    assert isinstance(used, TokenUsage) and used.input_tokens == 5


# -- other notifications


def test_a_warning_is_reported_once() -> None:
    dialect = prompted()
    assert [event.message for event in select(notify(dialect, "warning", message="old model"), Warning)] == [
        "old model"
    ]
    assert notify(dialect, "warning", message="old model") == []


def test_an_mcp_server_that_does_not_start_is_reported() -> None:
    dialect = prompted()
    assert notify(dialect, "mcpServer/startupStatus/updated", name="a", status="ready") == []
    [warned] = notify(dialect, "mcpServer/startupStatus/updated", name="a", status="failed", error="no such file")
    assert isinstance(warned, Warning) and "no such file" in warned.message
    notify(dialect, "mcpServer/startupStatus/updated", name="b", status="starting")
    assert dialect.session_layer["custom.session.mcpServers"] == [
        {"name": "a", "status": "failed", "error": "no such file"},
        {"name": "b", "status": "starting"},
    ]


def test_settings_are_facts_of_the_session() -> None:
    dialect = prompted()
    permissions = {"approvalPolicy": {"granular": {}}, "sandboxPolicy": {"type": "readOnly"}}
    settings = {"model": "gpt-6-sol", "effort": "high", **permissions}
    assert notify(dialect, "thread/settings/updated", threadSettings=settings) == []
    assert dialect.session_layer["custom.session.models.current"] == "gpt-6-sol"
    assert dialect.session_layer["custom.session.permissions.mode"] == "granular"
    assert dialect.session_layer["custom.session.permissions.sandbox"] == "readOnly"
    notify(dialect, "thread/settings/updated", threadSettings={**settings, "effort": None})
    assert "custom.session.effort" not in dialect.session_layer
    notify(dialect, "thread/name/updated", threadName="A title")
    assert dialect.session_layer["custom.session.info.title"] == "A title"


def test_another_model_than_requested_is_reported() -> None:
    dialect = prompted()
    [warned] = notify(dialect, "model/rerouted", fromModel="a", toModel="b", reason="load")
    assert isinstance(warned, Warning) and dialect.session_layer["custom.session.models.current"] == "b"


def test_what_has_no_event_of_its_own_is_handed_on_by_name() -> None:
    dialect = prompted()
    item(dialect, "started", type="commandExecution", command="cat")
    [stdin] = notify(dialect, "item/commandExecution/terminalInteraction", itemId="i1", processId="1", stdin="x\n")
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
        notification("item/started", item={"id": "x", "type": "dream"}),
        notification("item/completed", item={"type": "agentMessage", "text": "no id"}),
        notification("item/completed", item=[]),
        notification("item/agentMessage/delta", itemId="m"),
        notification("item/commandExecution/outputDelta", itemId="unknown", delta="x"),
        notification("turn/plan/updated", plan=7),
        notification("turn/completed", turn={"id": "tu", "status": "dreaming"}),
        notification("news/from/tomorrow"),
    ],
)
def test_what_is_not_understood_is_handed_on(message: bytes) -> None:
    dialect = prompted()
    assert [type(event) for event in dialect.read([message])] == [Raw]
    assert dialect.is_busy
