"""Requests to Codex: opening a session, prompts, actions between turns; and the owner of a message."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.errors import AgentFault
from gateway.events import TurnEnded, TurnFailed, Warning
from gateway.wire.dialects import Prompt, SessionStart
from gateway.wire.dialects.codex import Codex
from tests.wire.dialects.codex_replay import compact, completed, item, prompted, ready, select, sent

MODES = {
    "agent": {"approvalPolicy": "untrusted", "sandbox": "workspace-write"},
    "plan": {"approvalPolicy": "on-request", "sandbox": "read-only", "collaboration": "plan"},
}


def begun(**fields: Any) -> Codex:
    dialect = Codex()
    dialect.start_session(SessionStart("/workspace", **fields))
    return dialect


def answer(dialect: Codex, result: Any = None, error: Any = None) -> None:
    """To the newest request of the dialect's."""
    [*_, request] = [message for message in sent(dialect) if "id" in message]
    body = {"id": request["id"], **({"result": result} if error is None else {"error": error})}
    dialect.read([compact(body)])


# -- opening


def test_a_session_is_opened_in_three_steps() -> None:
    dialect = begun(params={"thread": {"approvalPolicy": "untrusted"}})
    [first] = sent(dialect)
    assert first["method"] == "initialize" and first["id"] == "s:1"
    assert "thread/started" in first["params"]["capabilities"]["optOutNotificationMethods"]
    dialect.read([b'{"id":"s:1","result":{"userAgent":"agui_gateway/0.166.0 (Debian 12; x86_64)"}}'])
    second, third = sent(dialect)
    assert second == {"method": "initialized"}
    assert third["method"] == "thread/start"
    assert third["params"] == {"cwd": "/workspace", "approvalPolicy": "untrusted"}
    dialect.read([b'{"id":"s:2","result":{"thread":{"id":"th"},"model":"gpt-5.5"}}'])
    assert dialect.is_ready and dialect.session_id == "th"
    assert dialect.handshake_layer == {"identity.version": "0.166.0"}
    assert dialect.session_layer["custom.session.models.current"] == "gpt-5.5"


def test_a_second_session_of_a_process_does_not_introduce_itself_again() -> None:
    [first] = sent(begun(params={"connected": True}, tag="other"))
    assert first["method"] == "thread/start" and first["id"] == "other:1"


def test_that_another_session_was_faster_is_no_failure() -> None:
    dialect = begun()
    answer(dialect, error={"code": -32600, "message": "Already initialized"})
    assert dialect.failure is None
    assert [message["method"] for message in sent(dialect)] == ["thread/start"]


@pytest.mark.parametrize(
    ("message", "code"), [("Not initialized", "AGENT_ERROR"), ("you are not logged in", "AUTH_REQUIRED")]
)
def test_any_other_error_at_the_start_is_one(message: str, code: str) -> None:
    dialect = begun()
    answer(dialect, error={"code": -32600, "message": message})
    assert dialect.failure is not None and dialect.failure.code == code and message in dialect.failure.detail
    assert not dialect.is_ready


@pytest.mark.parametrize(("fork", "method"), [(False, "thread/resume"), (True, "thread/fork")])
def test_a_thread_comes_back_with_the_permissions_of_today_and_without_its_past(fork: bool, method: str) -> None:
    thread = {"approvalPolicy": "untrusted", "sandbox": "read-only"}
    dialect = begun(session_id="old", fork=fork, params={"thread": thread, "connected": True})
    [request] = sent(dialect)
    assert request["method"] == method
    assert request["params"] == {"threadId": "old", "excludeTurns": True, "cwd": "/workspace", **thread}


def test_a_fork_of_what_is_gone_fails() -> None:
    dialect = begun(session_id="old", fork=True, params={"connected": True})
    answer(dialect, error={"code": -32600, "message": "no rollout found for thread id old"})
    assert isinstance(dialect.failure, AgentFault) and dialect.failure.code == "SESSION_NOT_FOUND"


def test_an_answer_without_a_thread_is_a_failure() -> None:
    dialect = begun(params={"connected": True})
    answer(dialect, {"thread": {}})
    assert dialect.failure is not None


def test_mcp_servers_and_directories_become_configuration() -> None:
    servers = (
        {"name": "a", "command": "x", "args": ["-y"], "env": [{"name": "K", "value": "v"}]},
        {"type": "http", "name": "b", "url": "http://b/mcp", "headers": [{"name": "H", "value": "v"}]},
    )
    config = {"model_reasoning_summary": "auto"}
    params = {"thread": {"config": config}, "connected": True}
    [request] = sent(begun(mcp_servers=servers, directories=("/more",), params=params))
    assert request["params"]["config"] == {
        "model_reasoning_summary": "auto",
        "mcp_servers": {
            "a": {"command": "x", "args": ["-y"], "env": {"K": "v"}},
            "b": {"url": "http://b/mcp", "http_headers": {"H": "v"}},
        },
        "sandbox_workspace_write.writable_roots": ["/more"],
    }


# -- prompts


def test_a_prompt_is_a_turn_with_all_its_options() -> None:
    dialect = ready()
    blocks: list[dict[str, Any]] = [
        {"type": "text", "text": "look"},
        {"type": "image", "data": "AAAA", "mimeType": "image/jpeg"},
        {"type": "resource", "resource": {"uri": "x", "blob": "AAAA", "mimeType": "application/pdf"}},
    ]
    thinking = {"effort": "high", "summary": "detailed"}
    schema = {"type": "object"}
    dialect.prompt(
        Prompt(blocks, "t1", model="gpt-6-sol", thinking=thinking, output_schema=schema, files={2: "/tmp/a.pdf"})
    )
    [request] = sent(dialect)
    assert request["method"] == "turn/start"
    assert request["params"] == {
        "threadId": "th",
        "input": [
            {"type": "text", "text": "look", "text_elements": []},
            {"type": "image", "url": "data:image/jpeg;base64,AAAA"},
            {"type": "text", "text": "The user attached a file: /tmp/a.pdf", "text_elements": []},
        ],
        "model": "gpt-6-sol",
        "effort": "high",
        "summary": "detailed",
        "outputSchema": schema,
    }


def test_a_mode_is_set_with_the_turn() -> None:
    dialect = ready(params={"modes": MODES, "mode": "agent"}, directories=("/more",))
    assert dialect.session_layer["custom.session.modes.current"] == "agent"
    assert [mode["id"] for mode in dialect.session_layer["custom.session.modes.available"]] == ["agent", "plan"]
    dialect.prompt(Prompt([], "t1", mode="plan", thinking={"effort": "low"}))
    [request] = sent(dialect)
    assert request["params"]["approvalPolicy"] == "on-request"
    assert request["params"]["sandboxPolicy"] == {"type": "readOnly", "networkAccess": False}
    settings = {"model": "gpt-5.5", "reasoning_effort": "low", "developer_instructions": None}
    assert request["params"]["collaborationMode"] == {"mode": "plan", "settings": settings}
    assert dialect.session_layer["custom.session.modes.current"] == "plan"


def test_the_permissions_of_a_mode_show_before_codex_confirms_them() -> None:
    dialect = ready(params={"modes": MODES, "mode": "agent"})
    dialect.start_action("set_mode", {"mode": "plan"})
    layer = dialect.session_layer
    assert layer["custom.session.permissions.mode"] == "on-request"
    assert layer["custom.session.permissions.sandbox"] == "readOnly"


def test_an_unknown_mode_gives_a_warning_and_changes_nothing() -> None:
    dialect = ready(params={"modes": MODES})
    dialect.prompt(Prompt([], "t1", mode="dream"))
    [request] = sent(dialect)
    assert set(request["params"]) == {"threadId", "input"}
    assert [event.code for event in select(dialect.read([]), Warning)] == ["UNKNOWN_MODE"]


def test_a_turn_that_is_refused_has_failed() -> None:
    dialect = ready()
    dialect.prompt(Prompt([], "t1"))
    [request] = sent(dialect)
    error = {"code": -32600, "message": "thread not found: th"}
    [broke] = dialect.read([compact({"id": request["id"], "error": error})])
    assert isinstance(broke, TurnFailed) and broke.code == "SESSION_NOT_FOUND" and not dialect.is_busy


def test_an_answer_that_fits_a_schema_is_the_turns_result() -> None:
    dialect = prompted(output_schema={"type": "object"})
    item(dialect, "completed", type="agentMessage", text='{"a": 1}')
    assert completed(dialect) == [TurnEnded("end_turn", {"a": 1})]


# -- whose message


@pytest.mark.parametrize(
    ("message", "owner"),
    [
        ({"method": "x", "params": {"threadId": "a", "delta": '"threadId":"b"'}}, "a"),
        ({"method": "x", "params": {"item": {"arguments": {"threadId": "b"}}, "threadId": "a"}}, "a"),
        ({"method": "x", "id": 0, "params": {"threadId": "a", "arguments": {"threadId": "b"}}}, "a"),
        ({"method": "thread/started", "params": {"thread": {"id": "a"}}}, "a"),
        ({"method": "x", "params": {"threadId": None}}, None),
        ({"method": "x"}, None),
        ({"id": "tag:17", "result": {"threadId": "b"}}, "tag"),
        ({"id": 7, "result": {}}, None),
        ({"error": {"message": "x"}, "id": "tag:1"}, "tag"),
    ],
)
def test_the_owner_of_a_message_is_found_whatever_stands_in_it(message: dict[str, Any], owner: str | None) -> None:
    assert Codex.read_owner(compact(message)) == owner


def test_what_is_no_message_is_for_everybody() -> None:
    assert Codex.read_owner(b"Warning: none") is None


# -- actions


def test_a_fork_returns_the_id_of_the_copy() -> None:
    dialect = ready(params={"thread": {"sandbox": "read-only"}})
    ticket = dialect.start_action("fork")
    [request] = sent(dialect)
    wanted = {"threadId": "th", "excludeTurns": True, "cwd": "/workspace", "sandbox": "read-only"}
    assert request["method"] == "thread/fork" and request["params"] == wanted
    dialect.read([compact({"id": ticket, "result": {"thread": {"id": "copy"}}})])
    assert dialect.action_results[ticket].value == "copy" and dialect.session_id == "th"


def test_a_model_that_was_set_is_known_at_once() -> None:
    dialect = ready()
    ticket = dialect.start_action("set_model", {"model": "gpt-6-sol"})
    [request] = sent(dialect)
    assert request["params"] == {"threadId": "th", "model": "gpt-6-sol"}
    dialect.read([compact({"id": ticket, "result": {}})])
    assert dialect.action_results[ticket].error is None
    assert dialect.session_layer["custom.session.models.current"] == "gpt-6-sol"


def test_a_mode_is_set_between_turns() -> None:
    dialect = ready(params={"modes": MODES}, directories=("/more",))
    dialect.start_action("set_mode", {"mode": "agent"})
    [request] = sent(dialect)
    assert request["method"] == "thread/settings/update"
    assert request["params"]["sandboxPolicy"]["writableRoots"] == ["/more"]
    assert request["params"]["collaborationMode"]["mode"] == "default"
    refused = dialect.start_action("set_mode", {"mode": "dream"})
    assert dialect.action_results[refused].error is not None and sent(dialect) == []


def test_a_failed_action_has_its_reason() -> None:
    dialect = ready()
    ticket = dialect.start_action("delete")
    dialect.read([compact({"id": ticket, "error": {"code": -32600, "message": "thread not found: th"}})])
    error = dialect.action_results[ticket].error
    assert error is not None and error.code == "SESSION_NOT_FOUND"
