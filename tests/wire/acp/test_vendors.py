"""What single agents add to ACP, or say in their own way: read as what it means."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from gateway.events import (
    Custom,
    Event,
    Raw,
    ReasoningMessageContent,
    SubagentFinished,
    SubagentStarted,
    TextMessageContent,
    TokenUsage,
    ToolCallArgs,
    ToolCallResult,
    ToolCallStart,
    TurnEnded,
    TurnFailed,
)
from gateway.wire.acp.session import SessionReader
from gateway.wire.acp.session_state import session_layer
from tests.wire.acp.session_helper import call, change, message, printed, read, reader

MODES = {"modes": {"currentModeId": "default", "availableModes": [{"id": "default"}, {"id": "yolo"}]}}


def of(kind: type[Event], events: list[Event]) -> list[Any]:
    return [event for event in events if isinstance(event, kind)]


def test_minion_code_input_that_is_the_text_of_an_object_becomes_the_object() -> None:
    events = read(reader(), call(rawInput='{"command": "ls"}', status="in_progress"))
    [arguments] = of(ToolCallArgs, events)
    assert json.loads(arguments.delta) == {"command": "ls"}


@pytest.mark.parametrize("raw", ["ls -l", "{not json", "[1]"])
def test_any_other_text_as_input_stays_the_text(raw: str) -> None:
    [arguments] = of(ToolCallArgs, read(reader(), call(rawInput=raw, status="in_progress")))
    assert json.loads(arguments.delta) == raw


def test_gemini_a_mode_in_the_answer_is_a_mode_and_no_text() -> None:
    session = reader()
    session.state.read_result(MODES)
    events = read(session, message("[MODE_UPDATE] yolo"), message("Hello"), message("[MODE_UPDATE] default"))
    assert [event.text for event in of(TextMessageContent, events)] == ["Hello"]
    assert [event.value for event in of(Custom, events)] == [{"mode": "yolo"}, {"mode": "default"}]
    assert session.state.mode == "default"


def test_gemini_a_mode_in_a_batch_of_texts_is_no_text_either() -> None:
    session = reader()
    session.state.read_result(MODES)
    events = session.read_all([message("a"), message("[MODE_UPDATE] yolo"), message("b")])
    assert [event.text for event in of(TextMessageContent, events)] == ["a", "b"]


def test_a_text_that_only_looks_like_a_mode_is_shown() -> None:
    [event] = read(reader(), message("[MODE_UPDATE] unknown"))
    assert event == TextMessageContent("[MODE_UPDATE] unknown", "t1:m1")


def test_openhands_system_prompt_is_no_thought() -> None:
    events = read(reader(), message("System Prompt:\nYou are…", kind="agent_thought_chunk"))
    assert events == [Custom("acp.system_prompt", {"text": "You are…"})]
    assert of(ReasoningMessageContent, read(reader(), message("hm", kind="agent_thought_chunk")))


def openhands_permission() -> dict[str, Any]:
    asked = {"toolCallId": "confirmation-s1", "title": "Confirm Agent Actions", "kind": "other", "status": "pending"}
    options = [{"optionId": "accept", "name": "Yes", "kind": "allow_once"}]
    return {"sessionId": "s1", "toolCall": asked, "options": options}


def test_openhands_permission_is_about_the_calls_that_wait() -> None:
    session = reader()
    read(session, call("a", title="one", rawInput={"command": "ls"}, status="in_progress"))
    read(session, call("b", title="two", rawInput={"command": "rm"}, status="in_progress"))
    events, interrupt = session.read_permission(1, openhands_permission())
    assert of(ToolCallStart, events) == [], "no call of its own that never gets a result"
    assert interrupt.tool_call_id == "t1:b"
    assert interrupt.message == "Confirm Agent Actions\none\ntwo"
    assert interrupt.metadata is not None
    assert interrupt.metadata["acp"]["subject"]["rawInput"] == {"command": "rm"}
    session.set_permission_outcome(openhands_permission(), "Yes")
    results = of(ToolCallResult, session.end_turn("end_turn"))
    assert [result.id for result in results] == ["t1:a", "t1:b"]
    assert all("Permission: Yes." in result.content for result in results)


def test_a_permission_that_is_the_first_word_of_its_call_creates_the_call() -> None:
    session = reader()
    read(session, call("a", status="in_progress"))
    request = openhands_permission() | {"toolCall": {"toolCallId": "c2", "title": "Another"}}
    events, interrupt = session.read_permission(1, request)
    assert len(of(ToolCallStart, events)) == 1
    assert interrupt.tool_call_id == "t1:c2"


@pytest.mark.parametrize(
    "meta",
    [
        {"goose": {"toolCall": {"toolName": "shell", "extensionName": "developer"}}},
        {"x.ai/tool": {"name": "shell", "kind": "execute"}},
        {"toolName": "shell"},
        {"tool_name": "shell"},
        {"claudeCode": {"toolName": "shell"}},
    ],
)
def test_the_vendors_name_of_the_tool_is_the_calls_name(meta: dict[str, Any]) -> None:
    [start] = of(ToolCallStart, read(reader(), call(_meta=meta)))
    assert start.name == "shell"


# -- qwen-code: a subagent's updates, marked, in the session of the agent

MARK = {"parentToolCallId": "task", "subagentType": "searcher"}


def marked(update: dict[str, Any]) -> dict[str, Any]:
    return {**update, "_meta": MARK}


def test_qwen_code_a_subagents_text_is_apart_from_the_agents_own() -> None:
    session = reader()
    events = read(
        session,
        message("I ask another. "),
        call("task", title="Agent", status="in_progress"),
        marked(change("task", status="in_progress")),
        marked(message("I search. ")),
        marked(call("inner", status="in_progress")),
        marked(change("inner", status="completed", content=[printed("found")])),
        change("task", status="completed", content=[printed("it was found")]),
        message("It was found."),
    )
    [started] = of(SubagentStarted, events)
    assert (started.name, started.tool_call_id) == ("searcher", "t1:task")
    texts = [(event.text, event.subagent) for event in of(TextMessageContent, events)]
    assert texts == [("I ask another. ", None), ("I search. ", started.id), ("It was found.", None)]
    results = [(event.id, event.subagent) for event in of(ToolCallResult, events)]
    assert results == [(f"{started.id}:inner", started.id), ("t1:task", None)]
    [finished] = of(SubagentFinished, events)
    assert finished.id == started.id
    assert events.index(finished) < events.index(of(ToolCallResult, events)[-1])


def test_qwen_code_a_subagents_permission_is_about_the_subagents_call() -> None:
    session = reader()
    read(session, call("task", status="in_progress"), marked(call("inner", rawInput={"command": "ls"})))
    request = {"sessionId": "s1", "toolCall": {"toolCallId": "inner"}, "options": []}
    events, interrupt = session.read_permission(1, request)
    assert of(ToolCallStart, events) == []
    assert interrupt.tool_call_id == f"{interrupt.subagent}:inner"


def test_a_subagent_of_the_turn_before_is_started_again_in_the_next() -> None:
    session = reader()
    first = read(session, call("task", status="in_progress"), marked(message("one")))
    session.end_turn("end_turn")
    session.begin_turn("t2")
    second = read(session, call("task", status="in_progress"), marked(message("two")))
    assert len({event.id for event in of(SubagentStarted, first + second)}) == 2


# -- grok: notifications of its own


def grok_update(**update: Any) -> dict[str, Any]:
    return {"sessionId": "s", "update": update}


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("_x.ai/session/setup", {"phase": "auth"}),
        ("_x.ai/queue/changed", {"sessionId": "s", "entries": []}),
        ("_x.ai/sessions/changed", {"upserted": [], "removed": []}),
        ("_x.ai/session/prompt_complete", {"sessionId": "s", "stopReason": "end_turn"}),
        ("_x.ai/session_notification", grok_update(sessionUpdate="turn_completed", stop_reason="end_turn")),
        ("_x.ai/session_notification", grok_update(sessionUpdate="tool_call_delta_chunk", arguments_delta="{")),
    ],
)
def test_grok_bookkeeping_is_no_event(method: str, params: dict[str, Any]) -> None:
    assert reader().read_notification(method, params) == []


def test_grok_a_failure_that_is_tried_again_is_a_notice() -> None:
    update = grok_update(sessionUpdate="retry_state", type="retrying", attempt=2, max_retries=15, reason="status 500")
    [notice] = reader().read_notification("_x.ai/session_notification", update)
    assert isinstance(notice, Custom)
    title = "The model failed; the agent tries again (attempt 2 of 15)"
    assert notice.value == {"severity": "warning", "title": title, "description": "status 500"}


def test_grok_a_change_of_the_model_is_in_the_sessions_layer() -> None:
    session = reader()
    update = grok_update(sessionUpdate="model_changed", model_id="grok-4.6")
    assert session.read_notification("_x.ai/session_notification", update) == []
    assert session_layer(session.state)["custom.session.models.current"] == "grok-4.6"


def test_grok_the_status_of_an_mcp_server_is_in_the_sessions_layer() -> None:
    session = reader()
    for status, reason in (("connecting", "started"), ("ready", "initialized")):
        params = {"sessionId": "s", "name": "one", "status": status, "reason": reason}
        assert session.read_notification("_x.ai/mcp/server_status", params) == []
    assert session_layer(session.state)["custom.session.mcpServers"] == [{"name": "one", "status": "ready"}]


@pytest.mark.parametrize(
    ("method", "params"),
    [
        ("_x.ai/unheard_of", {"a": 1}),
        ("_x.ai/session_notification", grok_update(sessionUpdate="unheard_of")),
        ("_other/thing", None),
    ],
)
def test_an_unknown_notification_is_handed_on_as_it_is(method: str, params: Any) -> None:
    assert reader().read_notification(method, params) == [Raw({"method": method, "params": params}, "acp")]


def test_grok_the_tokens_of_a_turn_are_in_the_answers_meta() -> None:
    usage = {"inputTokens": 10, "outputTokens": 5, "totalTokens": 15, "cachedReadTokens": 4, "reasoningTokens": 2}
    session = reader()
    read(session, message("hi"))
    [tokens] = of(TokenUsage, session.end_turn("end_turn", meta={"usage": usage}))
    assert (tokens.input_tokens, tokens.output_tokens, tokens.reasoning_tokens) == (10, 5, 2)


# -- failures that an agent words as an answer


def failing(*patterns: str) -> SessionReader:
    return reader(failure_texts=[re.compile(pattern) for pattern in patterns])


def test_goose_an_answer_that_the_agents_file_calls_a_failure_fails_the_turn() -> None:
    session = failing("^Ran into this error:")
    read(session, message("Ran into this error: Request failed: Bad request (400): no.\n\nPlease retry."))
    end = session.end_turn("end_turn")[-1]
    assert isinstance(end, TurnFailed)
    assert end.code == "MODEL_ERROR"
    assert end.message.startswith("Ran into this error: Request failed: Bad request (400)")


def test_another_answer_of_that_agent_ends_the_turn_well() -> None:
    session = failing("^Ran into this error:")
    read(session, message("The log says: Ran into this error: no."))
    assert session.end_turn("end_turn")[-1] == TurnEnded("end_turn")


def test_a_cancelled_turn_has_not_failed_whatever_its_text() -> None:
    session = failing("^Ran into this error:")
    read(session, message("Ran into this error: cancelled"))
    assert session.end_turn("end_turn", cancelled=True)[-1] == TurnEnded("cancelled")
