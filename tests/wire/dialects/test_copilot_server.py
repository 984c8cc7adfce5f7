"""The rules of Copilot's SDK server: opening, whose message it is, actions. Playbooks, without a process."""

from __future__ import annotations

from typing import Any

import orjson
import pytest

from gateway.wire.dialects import Prompt, SessionStart
from gateway.wire.dialects.copilot import CopilotDialect
from tests.wire.dialects.copilot_server import SESSION, Json, Server, in_turn, ready

# -- opening


def test_a_session_is_created_that_streams_and_asks() -> None:
    begin = SessionStart(
        "/workspace",
        directories=("/other",),
        mcp_servers=(
            {"name": "one", "command": "srv", "args": ["-x"], "env": [{"name": "A", "value": "b"}]},
            {"name": "two", "type": "http", "url": "https://mcp.example", "headers": [{"name": "H", "value": "v"}]},
        ),
        params={"session": {"enableConfigDiscovery": True}},
        tag="s",
    )
    params = Server(begin).request("session.create")["params"]
    assert params["streaming"] and params["requestPermission"] and params["requestUserInput"]
    assert params["requestElicitation"] and params["requestExitPlanMode"] and params["enableConfigDiscovery"]
    assert params["workingDirectory"] == "/workspace"
    assert params["additionalDirectories"] == ["/other"]
    assert params["mcpServers"] == {
        "one": {"type": "stdio", "command": "srv", "args": ["-x"], "env": {"A": "b"}},
        "two": {"type": "http", "url": "https://mcp.example", "headers": {"H": "v"}},
    }
    assert "provider" not in params and "model" not in params


def test_a_provider_of_ones_own_is_read_off_the_agents_environment() -> None:
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
    params = Server(SessionStart("/workspace", params={"env": env}, tag="s")).request("session.create")["params"]
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


def test_the_session_is_ready_when_it_has_an_id_and_says_what_it_is_set_to() -> None:
    server = Server()
    assert not server.dialect.is_ready
    server.open(modelState={"modelId": "gpt-5.4", "reasoningEffort": "high"}, mode="plan")
    dialect = server.dialect
    assert dialect.is_ready and dialect.session_id == SESSION
    assert dialect.session_layer["custom.session.models.current"] == "gpt-5.4"
    assert dialect.session_layer["custom.session.modes.current"] == "plan"
    modes = dialect.session_layer["custom.session.modes.available"]
    assert [mode["id"] for mode in modes] == ["interactive", "plan", "autopilot"]


def test_the_version_is_announced_once_for_the_process() -> None:
    server = Server()
    connect, create = server.asked()
    assert connect["method"] == "connect"
    server.reply(connect, {"version": "1.0.102"})
    server.reply(create, {"sessionId": SESSION})
    assert server.dialect.handshake_layer == {"identity.version": "1.0.102"}
    again = Server(SessionStart("/workspace", params={"connected": True}, tag="s"))
    assert [request["method"] for request in again.asked()] == ["session.create"]


def test_a_session_comes_back_by_its_id() -> None:
    server = Server(SessionStart("/workspace", SESSION, tag="s"))
    request = server.request("session.resume")
    assert request["params"]["sessionId"] == SESSION
    server.reply(request, {"sessionId": SESSION})
    assert server.dialect.is_ready and not server.dialect.has_lost_history


def test_a_fork_is_made_first_and_then_come_back_to() -> None:
    server = Server(SessionStart("/workspace", SESSION, fork=True, tag="s"))
    server.reply(server.request("sessions.fork"), {"sessionId": "copy"})
    request = server.request("session.resume")
    assert request["params"]["sessionId"] == "copy"
    server.reply(request, {"sessionId": "copy"})
    assert server.dialect.session_id == "copy"


LOST = {"code": -32603, "message": f"Request session.resume failed with message: Session not found: {SESSION}"}
COPYLESS = {"code": -32603, "message": "Cannot fork session x: no persisted or in-memory events found"}
LOGIN = {"code": -32603, "message": "Request session.create failed with message: Not authenticated."}


@pytest.mark.parametrize(
    ("begin", "method", "error", "code"),
    [
        (SessionStart("/w", SESSION, tag="s"), "session.resume", LOST, "SESSION_NOT_FOUND"),
        (SessionStart("/w", SESSION, fork=True, tag="s"), "sessions.fork", COPYLESS, "SESSION_NOT_FOUND"),
        (SessionStart("/w", tag="s"), "session.create", LOGIN, "AUTH_REQUIRED"),
        (SessionStart("/w", tag="s"), "session.create", {"code": 1, "message": "no"}, "AGENT_ERROR"),
        (SessionStart("/w", tag="s"), "session.create", "nonsense", "AGENT_ERROR"),
    ],
)
def test_a_session_that_cannot_be_had_fails_with_its_reason(
    begin: SessionStart, method: str, error: Any, code: str
) -> None:
    server = Server(begin)
    server.reply(server.request(method), error=error)
    assert not server.dialect.is_ready
    assert server.dialect.failure is not None and server.dialect.failure.code == code


def test_an_answer_without_an_id_is_nonsense() -> None:
    server = Server()
    server.reply(server.request("session.create"), {"sessionId": 7})
    assert server.dialect.failure is not None and server.dialect.failure.code == "AGENT_PROTOCOL_ERROR"


# -- whose message it is


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


def test_what_another_session_does_is_not_heard() -> None:
    server = in_turn()
    assert server.tell("assistant.message_delta", session="other", messageId="a", deltaContent="x") == []
    assert server.tell("session.idle", session="other") == []
    assert server.dialect.is_busy


# -- actions


def test_models_are_listed_in_the_catalogs_words() -> None:
    server = ready()
    ticket = server.dialect.start_action("models")
    told: Json = {
        "id": "gpt-5.5",
        "name": "GPT-5.5",
        "vendor": "OpenAI",
        "supportedReasoningEfforts": ["low", "high"],
        "capabilities": {
            "supports": {"vision": True, "toolCalls": True},
            "limits": {"max_context_window_tokens": 400000, "max_output_tokens": 128000},
        },
    }
    server.reply(server.request("models.list"), {"models": [told, {"name": "nameless"}]})
    assert server.dialect.action_results[ticket].value == [
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


def test_models_want_somebody_who_is_signed_in() -> None:
    server = ready()
    ticket = server.dialect.start_action("models")
    server.reply(server.request("models.list"), error={"code": -32603, "message": "Not authenticated."})
    error = server.dialect.action_results[ticket].error
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
def test_an_action_is_one_call(
    action: str, params: Json, method: str, sent: Json | None, result: Json, value: Any
) -> None:
    server = ready()
    ticket = server.dialect.start_action(action, params)
    request = server.request(method)
    assert request["params"] == ({} if sent is None else {"sessionId": SESSION, **sent})
    server.reply(request, result)
    assert server.dialect.action_results[ticket].value == value


def test_what_was_set_between_turns_is_known() -> None:
    server = ready()
    server.dialect.start_action("set_mode", {"mode": "plan"})
    server.reply(server.request("session.mode.set"), {})
    server.dialect.prompt(Prompt([], "t1", mode="plan"))
    assert [request["method"] for request in server.asked()] == ["session.send"]


def test_every_action_that_is_promised_can_be_done() -> None:
    for action in CopilotDialect.actions:
        assert ready().dialect.start_action(action)
