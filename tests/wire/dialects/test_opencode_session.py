"""Sessions of `opencode serve`: begun, brought back, copied, prompted, and what is asked of them between turns."""

from __future__ import annotations

import orjson
import pytest

from gateway.events import TurnFailed, Warning
from gateway.wire.dialects import Prompt, SessionStart
from tests.wire.dialects.opencode_server import SESSION, Json, Server, begun, heard, idle, last, working

ASK: Json = {"permission": "bash", "pattern": "*", "action": "ask"}


# -- sessions


def test_a_new_session_is_made_with_the_rules_of_the_definition() -> None:
    dialect = begun(SessionStart("/work space", directories=("/data/",), params={"permission": [ASK, {"nonsense": 1}]}))
    entered = {"permission": "external_directory", "pattern": "/data/*", "action": "allow"}
    path = "/session?directory=%2Fwork%20space"
    assert last(dialect) == {"method": "POST", "path": path, "body": {"permission": [ASK, entered]}}
    before = dialect.is_ready
    heard(dialect, {"id": SESSION, "version": "1.18.33", "permission": [ASK, entered]})
    assert (before, dialect.is_ready, dialect.session_id) == (False, True, SESSION)
    assert dialect.handshake_layer == {"identity.version": "1.18.33"}


def test_a_session_comes_back() -> None:
    dialect = begun(SessionStart("/w", SESSION))
    assert last(dialect)["method"] == "GET"
    heard(dialect, {"id": SESSION})
    assert dialect.is_ready and not dialect.has_lost_history and dialect.session_id == SESSION


def test_a_session_from_elsewhere_is_given_the_rules_it_lacks() -> None:
    dialect = begun(SessionStart("/w", SESSION, params={"permission": [ASK]}))
    heard(dialect, {"id": SESSION})
    assert not dialect.is_ready
    path = f"/session/{SESSION}?directory=%2Fw"
    assert last(dialect) == {"method": "PATCH", "path": path, "body": {"permission": [ASK]}}
    heard(dialect, {"id": SESSION, "permission": [ASK]})
    assert dialect.is_ready


def test_a_session_that_does_not_take_its_rules_is_not_worked_in() -> None:
    dialect = begun(SessionStart("/w", SESSION, params={"permission": [ASK]}))
    heard(dialect, {"id": SESSION})
    heard(dialect, {"name": "BadRequest", "data": {"message": "no such action"}}, 400)
    assert not dialect.is_ready
    assert dialect.failure is not None and "no such action" in dialect.failure.detail


@pytest.mark.parametrize("session_id", ["ses_gone", "never-opencodes"])
def test_a_session_that_is_gone_is_replaced_by_a_new_one(session_id: str) -> None:
    dialect = begun(SessionStart("/w", session_id))
    if last(dialect)["method"] == "GET":
        heard(dialect, {"name": "NotFoundError", "data": {"message": "Session not found"}}, 404)
    assert last(dialect)["method"] == "POST"
    heard(dialect, {"id": "ses_new"})
    assert dialect.is_ready and dialect.has_lost_history and dialect.session_id == "ses_new"


@pytest.mark.parametrize("session_id", ["ses_gone", "never-opencodes"])
def test_a_copy_of_a_session_that_is_gone_cannot_be_had(session_id: str) -> None:
    dialect = begun(SessionStart("/w", session_id, fork=True))
    if dialect.outbox:
        assert last(dialect)["path"] == f"/session/{session_id}/fork?directory=%2Fw"
        heard(dialect, {"name": "NotFoundError", "data": {"message": "Session not found"}}, 404)
    assert dialect.failure is not None and dialect.failure.code == "SESSION_NOT_FOUND"


def test_a_copy_has_an_id_of_its_own() -> None:
    dialect = begun(SessionStart("/w", SESSION, fork=True))
    heard(dialect, {"id": "ses_copy"})
    assert dialect.is_ready and dialect.session_id == "ses_copy" and not dialect.has_lost_history


def test_no_connection_is_a_failure_with_its_reason() -> None:
    dialect = begun(SessionStart("/w"))
    call = orjson.loads(dialect.outbox[-1])
    dialect.read([orjson.dumps({"id": call["id"], "status": 0, "error": "ConnectError: refused"})])
    assert dialect.failure is not None and "ConnectError: refused" in dialect.failure.detail


def test_mcp_servers_are_added_one_after_the_other_and_a_bad_one_is_told() -> None:
    local = {"name": "a", "command": "prog", "args": ["-x"], "env": [{"name": "K", "value": "v"}]}
    remote = {"name": "b", "type": "http", "url": "http://h", "headers": []}
    dialect = begun(SessionStart("/w", mcp_servers=(local, remote)))
    config: Json = {"type": "local", "command": ["prog", "-x"], "environment": {"K": "v"}}
    assert last(dialect)["body"] == {"name": "a", "config": config}
    assert heard(dialect, {"a": {"status": "connected"}}) == []
    assert last(dialect)["body"] == {"name": "b", "config": {"type": "remote", "url": "http://h"}}
    [warned] = heard(dialect, {"b": {"status": "failed", "error": "cannot connect"}})
    assert isinstance(warned, Warning) and "'b'" in warned.message and "cannot connect" in warned.message
    assert last(dialect)["path"] == "/session?directory=%2Fw"


# -- prompts


def test_a_prompt_carries_what_the_run_wishes_for() -> None:
    dialect = begun(SessionStart("/w", params={"system": "Be brief."}))
    heard(dialect, {"id": SESSION})
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
    assert last(dialect) == {
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
    [broke] = server.answer({"name": "BadRequest", "data": {"message": "not so"}}, status)
    assert isinstance(broke, TurnFailed) and broke.code == code and "not so" in broke.message
    assert not server.dialect.is_busy


# -- between turns


def test_models_are_listed_without_their_keys() -> None:
    dialect = idle()
    ticket = dialect.start_action("models")
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
    heard(dialect, {"providers": [provider], "default": {"p": "m"}})
    listed = dialect.action_results[ticket].value
    assert "sk-secret" not in str(listed)
    assert listed == [
        {
            "id": "p/m",
            "name": "Scripted",
            "provider": "p",
            "context": 1000,
            "output": 100,
            "thinking": True,
            "tools": True,
            "image_input": True,
            "file_input": False,
            "deprecated": False,
            "price": {"input": 2, "cached_input": 0.2, "output": 10},
            "efforts": ["low", "high"],
        },
        {"id": "p/free", "name": "Free", "provider": "p", "deprecated": True},
    ]


def test_a_session_is_copied_and_deleted() -> None:
    dialect = idle()
    ticket = dialect.start_action("fork")
    heard(dialect, {"id": "ses_copy"})
    assert dialect.action_results[ticket].value == "ses_copy"
    ticket = dialect.start_action("delete", {"sessionId": "ses_copy"})
    assert last(dialect)["method"] == "DELETE" and "/ses_copy?" in last(dialect)["path"]
    heard(dialect, True)
    assert dialect.action_results[ticket].error is None


def test_what_cannot_be_done_is_told_with_its_reason() -> None:
    dialect = idle()
    ticket = dialect.start_action("delete")
    heard(dialect, {"name": "NotFoundError", "data": {"message": "Session not found"}}, 404)
    error = dialect.action_results[ticket].error
    assert error is not None and error.code == "SESSION_NOT_FOUND"


@pytest.mark.parametrize("action", ["set_model", "set_mode"])
def test_the_model_and_the_mode_go_with_the_next_prompt(action: str) -> None:
    dialect = idle()
    ticket = dialect.start_action(action, {"model": "p/m", "mode": "plan"})
    assert dialect.action_results[ticket].error is None and dialect.outbox == []


def test_a_new_process_is_begun_with_nothing_of_the_one_before() -> None:
    server = working()
    stale = server.dialect.start_action("models")
    server.dialect.on_process_exit(1, "")
    server.dialect.start_session(SessionStart("/workspace", SESSION, tag="s"))
    assert server.read({"id": stale, "status": 200, "body": []}) == []
    assert stale not in server.dialect.action_results
    assert not server.dialect.is_busy and not server.dialect.is_ready


def test_the_session_knows_its_title_and_its_model_between_turns() -> None:
    dialect = idle()
    info = {"id": SESSION, "title": "A talk", "agent": "plan", "model": {"id": "m", "providerID": "p"}}
    told = {"id": "evt_1", "type": "session.updated", "properties": {"sessionID": SESSION, "info": info}}
    assert dialect.read([orjson.dumps(told)]) == []
    assert dialect.session_layer == {
        "custom.session.cwd": "/w",
        "custom.session.info.title": "A talk",
        "custom.session.modes.current": "plan",
        "custom.session.models.current": "p/m",
    }
