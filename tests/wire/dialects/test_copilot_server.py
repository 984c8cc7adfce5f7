"""Copilot's SDK server: sessions, owners of messages, actions. Against a scripted server, without a process."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from gateway.wire.dialects import Prompt, SessionStart
from gateway.wire.dialects.copilot import CopilotDialect
from tests.wire.dialects.copilot_server import SESSION, Json, Server, ready_server, server_in_turn

# -- sessions


def test_a_session_is_created_that_streams_and_requests_approval() -> None:
    start = SessionStart(
        "/workspace",
        directories=("/other",),
        mcp_servers=(
            {"name": "one", "command": "srv", "args": ["-x"], "env": [{"name": "A", "value": "b"}]},
            {"name": "two", "type": "http", "url": "https://mcp.example", "headers": [{"name": "H", "value": "v"}]},
        ),
        params={"session": {"enableConfigDiscovery": True}},
        tag="s",
    )
    params = Server(start).take_request("session.create")["params"]
    assert params["streaming"] and params["requestPermission"] and params["requestUserInput"]
    assert params["requestElicitation"] and params["requestExitPlanMode"] and params["enableConfigDiscovery"]
    assert params["workingDirectory"] == "/workspace"
    assert params["additionalDirectories"] == ["/other"]
    assert params["mcpServers"] == {
        "one": {"type": "stdio", "command": "srv", "args": ["-x"], "env": {"A": "b"}},
        "two": {"type": "http", "url": "https://mcp.example", "headers": {"H": "v"}},
    }
    assert "provider" not in params and "model" not in params


def test_the_operators_own_provider_is_read_from_the_agents_environment() -> None:
    env = {
        "COPILOT_PROVIDER_BASE_URL": "http://127.0.0.1:1/v1",
        "COPILOT_PROVIDER_TYPE": "azure",
        "COPILOT_PROVIDER_API_KEY": "key",
        "COPILOT_PROVIDER_WIRE_API": "responses",
        "COPILOT_PROVIDER_MAX_PROMPT_TOKENS": "1000",
        "COPILOT_PROVIDER_MAX_OUTPUT_TOKENS": "many",
        "COPILOT_PROVIDER_AZURE_API_VERSION": "2024-10-21",
        "COPILOT_PROVIDER_HEADERS": "A: b\\nC: d:e\nnonsense",
        "COPILOT_MODEL": "gpt-5.4",
    }
    params = Server(SessionStart("/workspace", params={"env": env}, tag="s")).take_request("session.create")["params"]
    assert params["model"] == "gpt-5.4"
    assert params["provider"] == {
        "type": "azure",
        "baseUrl": "http://127.0.0.1:1/v1",
        "apiKey": "key",
        "wireApi": "responses",
        "maxPromptTokens": 1000,
        "azure": {"apiVersion": "2024-10-21"},
        "headers": {"A": "b", "C": "d:e"},
    }


def test_the_session_is_ready_when_it_has_an_id_and_its_settings_are_known() -> None:
    server = Server()
    assert not server.dialect.is_ready
    server.open_session(modelState={"modelId": "gpt-5.4", "reasoningEffort": "high"}, mode="plan")
    dialect = server.dialect
    assert dialect.is_ready and dialect.session_id == SESSION
    assert dialect.session_layer["custom.session.models.current"] == "gpt-5.4"
    assert dialect.session_layer["custom.session.modes.current"] == "plan"
    modes = dialect.session_layer["custom.session.modes.available"]
    assert [mode["id"] for mode in modes] == ["interactive", "plan", "autopilot"]


def test_the_version_is_requested_once_for_the_process() -> None:
    server = Server()
    connect, create = server.take_requests()
    assert connect["method"] == "connect"
    server.reply(connect, {"version": "1.0.102"})
    server.reply(create, {"sessionId": SESSION})
    assert server.dialect.handshake_layer == {"identity.version": "1.0.102"}
    again = Server(SessionStart("/workspace", params={"connected": True}, tag="s"))
    assert [request["method"] for request in again.take_requests()] == ["session.create"]


def test_a_session_is_resumed_by_its_id() -> None:
    server = Server(SessionStart("/workspace", SESSION, tag="s"))
    request = server.take_request("session.resume")
    assert request["params"]["sessionId"] == SESSION
    server.reply(request, {"sessionId": SESSION})
    assert server.dialect.is_ready and not server.dialect.has_lost_history


def test_a_fork_is_created_and_then_resumed() -> None:
    server = Server(SessionStart("/workspace", SESSION, fork=True, tag="s"))
    server.reply(server.take_request("sessions.fork"), {"sessionId": "copy"})
    request = server.take_request("session.resume")
    assert request["params"]["sessionId"] == "copy"
    server.reply(request, {"sessionId": "copy"})
    assert server.dialect.session_id == "copy"


NOT_FOUND = {"code": -32603, "message": f"Request session.resume failed with message: Session not found: {SESSION}"}
NOT_FORKED = {"code": -32603, "message": "Cannot fork session x: no persisted or in-memory events found"}
NOT_SIGNED_IN = {"code": -32603, "message": "Request session.create failed with message: Not authenticated."}


@pytest.mark.parametrize(
    ("start", "method", "error", "code"),
    [
        (SessionStart("/w", SESSION, tag="s"), "session.resume", NOT_FOUND, "SESSION_NOT_FOUND"),
        (SessionStart("/w", SESSION, fork=True, tag="s"), "sessions.fork", NOT_FORKED, "SESSION_NOT_FOUND"),
        (SessionStart("/w", tag="s"), "session.create", NOT_SIGNED_IN, "AUTH_REQUIRED"),
        (SessionStart("/w", tag="s"), "session.create", {"code": 1, "message": "no"}, "AGENT_ERROR"),
        (SessionStart("/w", tag="s"), "session.create", "nonsense", "AGENT_ERROR"),
    ],
)
def test_a_session_that_cannot_be_opened_fails_with_its_reason(
    start: SessionStart, method: str, error: Any, code: str
) -> None:
    server = Server(start)
    server.reply(server.take_request(method), error=error)
    assert not server.dialect.is_ready
    assert server.dialect.failure is not None and server.dialect.failure.code == code


def test_an_answer_without_a_session_id_is_a_protocol_error() -> None:
    server = Server()
    server.reply(server.take_request("session.create"), {"sessionId": 7})
    assert server.dialect.failure is not None and server.dialect.failure.code == "AGENT_PROTOCOL_ERROR"


# -- owners of messages


@pytest.mark.parametrize(
    ("message", "owner"),
    [
        ({"id": "ab12cd34.7", "result": {}}, "ab12cd34"),
        ({"method": "session.event", "params": {"sessionId": SESSION, "event": {}}}, SESSION),
        ({"id": 1, "method": "userInput.request", "params": {"sessionId": SESSION}}, SESSION),
        ({"method": "host.event", "params": {"scope": {"type": "session", "sessionId": SESSION}}}, SESSION),
        ({"method": "host.event", "params": {}}, None),
        ({"id": 7, "result": {}}, None),
        ([], None),
    ],
)
def test_a_message_belongs_to_the_session_that_it_names(message: Any, owner: str | None) -> None:
    assert CopilotDialect.read_owner(orjson.dumps(message)) == owner


def test_events_of_another_session_are_ignored() -> None:
    server = server_in_turn()
    assert server.emit("assistant.message_delta", session="other", messageId="a", deltaContent="x") == []
    assert server.emit("session.idle", session="other") == []
    assert server.dialect.is_busy


# -- actions


def test_models_are_listed_as_the_catalog_has_them() -> None:
    server = ready_server()
    action_id = server.dialect.start_action("models")
    model: Json = {
        "id": "gpt-5.5",
        "name": "GPT-5.5",
        "vendor": "OpenAI",
        "supportedReasoningEfforts": ["low", "high"],
        "capabilities": {
            "supports": {"vision": True, "toolCalls": True},
            "limits": {"max_context_window_tokens": 400000, "max_output_tokens": 128000},
        },
    }
    server.reply(server.take_request("models.list"), {"models": [model, {"name": "nameless"}]})
    assert server.dialect.action_results[action_id].value == [
        {
            "id": "gpt-5.5",
            "name": "GPT-5.5",
            "context": 400000,
            "output": 128000,
            "image_input": True,
            "tools": True,
            "efforts": ["low", "high"],
            "provider": "OpenAI",
        }
    ]


def test_the_model_list_requires_a_signed_in_user() -> None:
    server = ready_server()
    action_id = server.dialect.start_action("models")
    server.reply(server.take_request("models.list"), error={"code": -32603, "message": "Not authenticated."})
    error = server.dialect.action_results[action_id].error
    assert error is not None and error.code == "AUTH_REQUIRED"


@pytest.mark.parametrize(
    ("action", "params", "method", "sent", "result", "value"),
    [
        ("fork", {}, "sessions.fork", {}, {"sessionId": "copy"}, "copy"),
        ("delete", {}, "sessions.delete", {}, {}, None),
        ("set_mode", {"mode": "plan"}, "session.mode.set", {"mode": "plan"}, {}, None),
        (
            "set_model",
            {"model": "m"},
            "session.model.switchTo",
            {"modelId": "m"},
            {"modelState": {"modelId": "m"}},
            None,
        ),
    ],
)
def test_an_action_is_one_request(
    action: str, params: Json, method: str, sent: Json | None, result: Json, value: Any
) -> None:
    server = ready_server()
    action_id = server.dialect.start_action(action, params)
    request = server.take_request(method)
    assert request["params"] == ({} if sent is None else {"sessionId": SESSION, **sent})
    server.reply(request, result)
    assert server.dialect.action_results[action_id].value == value


def test_a_mode_set_between_turns_is_not_set_again() -> None:
    server = ready_server()
    server.dialect.start_action("set_mode", {"mode": "plan"})
    server.reply(server.take_request("session.mode.set"), {})
    server.dialect.prompt(Prompt([], "t1", mode="plan"))
    assert [request["method"] for request in server.take_requests()] == ["session.send"]


def test_every_declared_action_can_be_started() -> None:
    for action in CopilotDialect.actions:
        assert ready_server().dialect.start_action(action)
