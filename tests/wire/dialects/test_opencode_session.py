"""Sessions of `opencode serve`: created, resumed, forked, prompted, and actions between turns."""

from __future__ import annotations

import orjson
import pytest

from gateway.events import TurnFailed, Warning
from gateway.wire.dialects import Prompt, SessionStart
from tests.wire.dialects.opencode_server import (
    SESSION,
    Json,
    Server,
    answer_last_call,
    idle_dialect,
    last_call,
    start_dialect,
    working_server,
)

ASK: Json = {"permission": "bash", "pattern": "*", "action": "ask"}


# -- sessions


def test_a_new_session_has_the_rules_of_the_definition() -> None:
    dialect = start_dialect(
        SessionStart("/work space", directories=("/data/",), params={"permission": [ASK, {"nonsense": 1}]})
    )
    directory_rule = {"permission": "external_directory", "pattern": "/data/*", "action": "allow"}
    path = "/session?directory=%2Fwork%20space"
    assert last_call(dialect) == {"method": "POST", "path": path, "body": {"permission": [ASK, directory_rule]}}
    before = dialect.is_ready
    answer_last_call(dialect, {"id": SESSION, "version": "1.18.33", "permission": [ASK, directory_rule]})
    assert (before, dialect.is_ready, dialect.session_id) == (False, True, SESSION)
    assert dialect.handshake_layer == {"identity.version": "1.18.33"}


def test_a_session_is_resumed() -> None:
    dialect = start_dialect(SessionStart("/w", SESSION))
    assert last_call(dialect)["method"] == "GET"
    answer_last_call(dialect, {"id": SESSION})
    assert dialect.is_ready and not dialect.has_lost_history and dialect.session_id == SESSION


def test_a_session_of_another_client_gets_the_rules_it_lacks() -> None:
    dialect = start_dialect(SessionStart("/w", SESSION, params={"permission": [ASK]}))
    answer_last_call(dialect, {"id": SESSION})
    assert not dialect.is_ready
    path = f"/session/{SESSION}?directory=%2Fw"
    assert last_call(dialect) == {"method": "PATCH", "path": path, "body": {"permission": [ASK]}}
    answer_last_call(dialect, {"id": SESSION, "permission": [ASK]})
    assert dialect.is_ready


def test_a_session_that_does_not_take_its_rules_is_not_used() -> None:
    dialect = start_dialect(SessionStart("/w", SESSION, params={"permission": [ASK]}))
    answer_last_call(dialect, {"id": SESSION})
    answer_last_call(dialect, {"name": "BadRequest", "data": {"message": "no such action"}}, 400)
    assert not dialect.is_ready
    assert dialect.failure is not None and "no such action" in dialect.failure.detail


@pytest.mark.parametrize("session_id", ["ses_gone", "never-opencodes"])
def test_a_deleted_session_is_replaced_by_a_new_one(session_id: str) -> None:
    dialect = start_dialect(SessionStart("/w", session_id))
    if last_call(dialect)["method"] == "GET":
        answer_last_call(dialect, {"name": "NotFoundError", "data": {"message": "Session not found"}}, 404)
    assert last_call(dialect)["method"] == "POST"
    answer_last_call(dialect, {"id": "ses_new"})
    assert dialect.is_ready and dialect.has_lost_history and dialect.session_id == "ses_new"


@pytest.mark.parametrize("session_id", ["ses_gone", "never-opencodes"])
def test_a_deleted_session_cannot_be_forked(session_id: str) -> None:
    dialect = start_dialect(SessionStart("/w", session_id, fork=True))
    if dialect.outbox:
        assert last_call(dialect)["path"] == f"/session/{session_id}/fork?directory=%2Fw"
        answer_last_call(dialect, {"name": "NotFoundError", "data": {"message": "Session not found"}}, 404)
    assert dialect.failure is not None and dialect.failure.code == "SESSION_NOT_FOUND"


def test_a_fork_has_its_own_id() -> None:
    dialect = start_dialect(SessionStart("/w", SESSION, fork=True))
    answer_last_call(dialect, {"id": "ses_copy"})
    assert dialect.is_ready and dialect.session_id == "ses_copy" and not dialect.has_lost_history


def test_no_connection_is_a_failure_with_its_reason() -> None:
    dialect = start_dialect(SessionStart("/w"))
    call = orjson.loads(dialect.outbox[-1])
    dialect.read([orjson.dumps({"id": call["id"], "status": 0, "error": "ConnectError: refused"})])
    assert dialect.failure is not None and "ConnectError: refused" in dialect.failure.detail


def test_mcp_servers_are_added_one_after_the_other_and_a_bad_one_is_a_warning() -> None:
    local = {"name": "a", "command": "prog", "args": ["-x"], "env": [{"name": "K", "value": "v"}]}
    remote = {"name": "b", "type": "http", "url": "http://h", "headers": []}
    dialect = start_dialect(SessionStart("/w", mcp_servers=(local, remote)))
    config: Json = {"type": "local", "command": ["prog", "-x"], "environment": {"K": "v"}}
    assert last_call(dialect)["body"] == {"name": "a", "config": config}
    assert answer_last_call(dialect, {"a": {"status": "connected"}}) == []
    assert last_call(dialect)["body"] == {"name": "b", "config": {"type": "remote", "url": "http://h"}}
    [warning] = answer_last_call(dialect, {"b": {"status": "failed", "error": "cannot connect"}})
    assert isinstance(warning, Warning) and "'b'" in warning.message and "cannot connect" in warning.message
    assert last_call(dialect)["path"] == "/session?directory=%2Fw"


# -- prompts


def test_a_prompt_carries_the_options_of_the_run() -> None:
    dialect = start_dialect(SessionStart("/w", params={"system": "Be brief."}))
    answer_last_call(dialect, {"id": SESSION})
    blocks = (
        {"type": "text", "text": "look"},
        {"type": "image", "data": "QQ==", "mimeType": "image/png"},
        {"type": "resource", "resource": {"blob": "Qg==", "uri": "thread://1/plan.pdf", "mimeType": "application/pdf"}},
    )
    thinking = {"variant": "high"}
    dialect.prompt(Prompt(blocks, "k", model="p/m/x", mode="plan", thinking=thinking, output_schema={"type": "object"}))
    image = {"type": "file", "mime": "image/png", "filename": "image-2", "url": "data:image/png;base64,QQ=="}
    pdf_url = "data:application/pdf;base64,Qg=="
    pdf = {"type": "file", "mime": "application/pdf", "filename": "plan.pdf", "url": pdf_url}
    assert last_call(dialect) == {
        "method": "POST",
        "path": f"/session/{SESSION}/prompt_async?directory=%2Fw",
        "body": {
            "parts": [{"type": "text", "text": "look"}, image, pdf],
            "model": {"providerID": "p", "modelID": "m/x"},
            "agent": "plan",
            "variant": "high",
            "system": "Be brief.",
            "format": {"type": "json_schema", "schema": {"type": "object"}, "retryCount": 2},
        },
    }


@pytest.mark.parametrize(("status", "code"), [(404, "SESSION_NOT_FOUND"), (400, "AGENT_ERROR"), (500, "AGENT_ERROR")])
def test_a_prompt_that_is_not_taken_fails_the_turn(status: int, code: str) -> None:
    server = Server()
    [failure] = server.answer_last_call({"name": "BadRequest", "data": {"message": "not so"}}, status)
    assert isinstance(failure, TurnFailed) and failure.code == code and "not so" in failure.message
    assert not server.dialect.is_busy


# -- between turns


def test_models_are_listed_without_api_keys() -> None:
    dialect = idle_dialect()
    action_id = dialect.start_action("models")
    model = {
        "name": "Scripted",
        "capabilities": {"reasoning": True, "toolcall": True, "input": {"image": True, "pdf": False}},
        "cost": {"input": 2, "output": 10, "cache": {"read": 0.2, "write": 2.5}},
        "limit": {"context": 1000, "output": 100},
        "status": "active",
        "options": {"apiKey": "sk-secret"},
        "variants": {"low": {}, "high": {}},
    }
    free = {"name": "Free", "cost": {"input": 0, "output": 0}, "status": "deprecated"}
    provider = {"id": "p", "options": {"apiKey": "sk-secret"}, "models": {"m": model, "free": free}}
    answer_last_call(dialect, {"providers": [provider], "default": {"p": "m"}})
    answer_last_call(dialect, {"model": "p/m", "provider": {"p": {"options": {"apiKey": "sk-secret"}}}})
    models = dialect.action_results[action_id].value
    assert "sk-secret" not in str(models)
    assert models == [
        {
            "id": "p/m",
            "name": "Scripted",
            "provider": "p",
            "context": 1000,
            "output": 100,
            "thinking": True,
            "tools": True,
            "image_input": True,
            "pdf_input": False,
            "deprecated": False,
            "price": {"input": 2, "cached_input": 0.2, "cache_write": 2.5, "output": 10},
            "efforts": ["low", "high"],
            "default": True,
        },
        {"id": "p/free", "name": "Free", "provider": "p", "deprecated": True},
    ]


def test_a_session_is_forked_and_deleted() -> None:
    dialect = idle_dialect()
    action_id = dialect.start_action("fork")
    answer_last_call(dialect, {"id": "ses_copy"})
    assert dialect.action_results[action_id].value == "ses_copy"
    action_id = dialect.start_action("delete", {"sessionId": "ses_copy"})
    assert last_call(dialect)["method"] == "DELETE" and "/ses_copy?" in last_call(dialect)["path"]
    answer_last_call(dialect, True)
    assert dialect.action_results[action_id].error is None


def test_an_action_that_fails_has_the_servers_reason() -> None:
    dialect = idle_dialect()
    action_id = dialect.start_action("delete")
    answer_last_call(dialect, {"name": "NotFoundError", "data": {"message": "Session not found"}}, 404)
    error = dialect.action_results[action_id].error
    assert error is not None and error.code == "SESSION_NOT_FOUND"


@pytest.mark.parametrize("action", ["set_model", "set_mode"])
def test_the_model_and_the_mode_go_with_the_next_prompt(action: str) -> None:
    dialect = idle_dialect()
    action_id = dialect.start_action(action, {"model": "p/m", "mode": "plan"})
    assert dialect.action_results[action_id].error is None and dialect.outbox == []


def test_a_new_process_starts_without_the_state_of_the_previous_one() -> None:
    server = working_server()
    stale = server.dialect.start_action("models")
    server.dialect.on_process_exit(1, "")
    server.dialect.start_session(SessionStart("/workspace", SESSION, tag="s"))
    assert server.send_messages({"id": stale, "status": 200, "body": []}) == []
    assert stale not in server.dialect.action_results
    assert not server.dialect.is_busy and not server.dialect.is_ready


def test_title_and_model_are_updated_between_turns() -> None:
    dialect = idle_dialect()
    info = {"id": SESSION, "title": "A chat", "agent": "plan", "model": {"id": "m", "providerID": "p"}}
    event = {"id": "evt_1", "type": "session.updated", "properties": {"sessionID": SESSION, "info": info}}
    assert dialect.read([orjson.dumps(event)]) == []
    assert dialect.session_layer == {
        "custom.session.cwd": "/w",
        "custom.session.info.title": "A chat",
        "custom.session.modes.current": "plan",
        "custom.session.models.current": "p/m",
    }
