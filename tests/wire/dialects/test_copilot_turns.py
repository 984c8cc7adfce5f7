"""A turn of Copilot's SDK server: its options, its prompt, its end, its cancellation."""

from __future__ import annotations

import pytest

from gateway.events import Custom, TurnEnded, TurnFailed, Warning
from gateway.wire.dialects import Prompt
from tests.wire.dialects.copilot_server import SESSION, Json, Server, ready_server, server_in_turn

# -- the prompt and the end


def test_a_prompt_goes_with_its_images_and_documents() -> None:
    server = ready_server()
    blocks: list[Json] = [
        {"type": "text", "text": "look"},
        {"type": "image", "data": "aW1n", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "file:///w/a.pdf", "blob": "cGRm", "mimeType": "application/pdf"}},
    ]
    server.dialect.prompt(Prompt(blocks, "t1"))
    assert server.take_request("session.send")["params"] == {
        "sessionId": SESSION,
        "prompt": "look",
        "attachments": [
            {"type": "blob", "data": "aW1n", "mimeType": "image/png", "displayName": "image"},
            {"type": "blob", "data": "cGRm", "mimeType": "application/pdf", "displayName": "a.pdf"},
        ],
    }


def test_a_file_that_copilot_ignores_is_a_warning() -> None:
    server = ready_server()
    server.dialect.prompt(Prompt([{"type": "audio", "data": "x", "mimeType": "audio/wav"}], "t1"))
    [warning] = server.reply(server.take_request("session.send"), {"messageId": "m"})
    assert isinstance(warning, Warning) and warning.code == "CONTENT_DROPPED"
    assert warning.detail == {"mimeType": "audio/wav"}


def test_options_that_differ_are_set_one_after_the_other_before_the_prompt() -> None:
    """The server works on requests concurrently: the old model could answer a prompt that is sent at once."""
    server = Server().open_session(modelState={"modelId": "gpt-5.4"})
    options: Json = {"model": "gpt-5.5", "thinking": {"reasoningEffort": "high"}, "mode": "plan"}
    server.dialect.prompt(Prompt([{"type": "text", "text": "x"}], "t1", **options))
    [switch] = server.take_requests()
    assert switch["method"] == "session.model.switchTo"
    assert switch["params"] == {"sessionId": SESSION, "modelId": "gpt-5.5", "reasoningEffort": "high"}
    server.reply(switch, {"modelState": {"modelId": "gpt-5.5", "reasoningEffort": "high"}})
    [mode] = server.take_requests()
    assert (mode["method"], mode["params"]["mode"]) == ("session.mode.set", "plan")
    server.reply(mode, {"modeApplied": True})
    assert [request["method"] for request in server.take_requests()] == ["session.send"]
    assert server.dialect.session_layer["custom.session.models.current"] == "gpt-5.5"


def test_options_that_are_set_already_are_not_sent() -> None:
    server = Server().open_session(modelState={"modelId": "gpt-5.4", "reasoningEffort": "low"})
    options: Json = {"model": "gpt-5.4", "thinking": {"reasoningEffort": "low"}, "mode": "interactive"}
    server.dialect.prompt(Prompt([], "t1", **options))
    assert [request["method"] for request in server.take_requests()] == ["session.send"]


def test_effort_without_a_model_does_not_switch_the_model() -> None:
    server = ready_server()
    server.dialect.prompt(Prompt([], "t1", thinking={"reasoningEffort": "low"}))
    assert server.take_request("session.model.setReasoningEffort")["params"]["reasoningEffort"] == "low"


def test_an_option_that_is_refused_fails_the_turn() -> None:
    server = ready_server()
    server.dialect.prompt(Prompt([], "t1", mode="dance"))
    [failure] = server.reply(server.take_request("session.mode.set"), error={"message": "unknown variant `dance`"})
    assert isinstance(failure, TurnFailed) and "unknown variant" in failure.message
    assert not server.dialect.is_busy and server.take_requests() == []


def test_a_refused_prompt_fails_the_turn_with_the_servers_message() -> None:
    server = ready_server()
    server.dialect.prompt(Prompt([], "t1"))
    [failure] = server.reply(
        server.take_request("session.send"), error={"message": "Session not found for sessionId: x"}
    )
    assert isinstance(failure, TurnFailed) and failure.code == "SESSION_NOT_FOUND"


def test_a_turn_ends_when_the_session_is_idle() -> None:
    server = server_in_turn()
    assert server.emit("assistant.idle") == []
    assert server.dialect.is_busy
    assert server.emit("session.idle", mode="interactive") == [TurnEnded()]
    assert not server.dialect.is_busy


def test_an_idle_event_of_the_previous_turn_ends_nothing() -> None:
    server = ready_server()
    server.dialect.prompt(Prompt([], "t1"))
    request = server.take_request("session.send")
    assert server.emit("session.idle") == []
    server.reply(request, {"messageId": "m"})
    assert server.emit("session.idle") == [], "the prompt is not reported as a message yet"
    server.emit("user.message", content="hello")
    assert server.emit("session.idle") == [TurnEnded()]


def test_a_prompt_that_policy_blocks_ends_its_turn() -> None:
    server = ready_server()
    server.dialect.prompt(Prompt([], "t1"))
    server.reply(server.take_request("session.send"), {"messageId": "m"})
    [notice] = server.emit("session.warning", warningType="policy", message="blocked", originatingMessageId="m")
    assert notice == Custom("copilot.warning", {"warningType": "policy", "message": "blocked"})
    assert server.emit("session.idle") == [TurnEnded()]


@pytest.mark.parametrize(
    ("error", "code"),
    [
        ({"errorType": "query", "message": "400 no", "statusCode": 400}, "MODEL_ERROR"),
        ({"errorType": "rate_limit", "message": "429", "statusCode": 429}, "MODEL_ERROR"),
        ({"errorType": "authentication", "message": "HTTP 401", "statusCode": 401}, "AUTH_REQUIRED"),
        ({"errorType": "query", "message": "No GitHub OAuth token or Copilot HMAC key provided"}, "AUTH_REQUIRED"),
        ({"message": "it fell over"}, "AGENT_ERROR"),
        ({}, "AGENT_ERROR"),
    ],
)
def test_an_error_fails_the_turn_with_its_own_message(error: Json, code: str) -> None:
    server = server_in_turn()
    assert server.emit("session.error", **error) == []
    [failure] = server.emit("session.idle")
    assert failure == TurnFailed(error.get("message", "the agent gave no reason"), code)


def test_an_error_after_which_the_agent_continues_is_a_warning() -> None:
    server = server_in_turn()
    server.emit("session.error", errorType="query", message="a hiccup")
    warning, _ = server.emit("assistant.turn_start", turnId="1")
    assert warning == Warning("MODEL_ERROR", "a hiccup")
    assert server.emit("session.idle") == [TurnEnded()]


def test_an_error_of_a_subagent_does_not_fail_the_turn() -> None:
    server = server_in_turn()
    [notice] = server.emit("session.error", agent="a", errorType="query", message="no")
    assert isinstance(notice, Custom) and notice.name == "copilot.error"
    assert server.emit("session.idle") == [TurnEnded()]


# -- cancellation


def test_a_cancelled_turn_is_aborted_by_a_request() -> None:
    server = server_in_turn()
    assert server.dialect.cancel() is True
    abort = server.take_request("session.abort")
    assert server.reply(abort, {"success": True}) == []
    assert server.emit("assistant.idle", aborted=True) == [TurnEnded("cancelled")]
    assert server.emit("session.idle", aborted=True) == []


def test_an_abort_waits_until_the_prompt_was_accepted() -> None:
    """The server ignores an earlier one: it has nothing to abort yet."""
    server = ready_server()
    server.dialect.prompt(Prompt([], "t1"))
    request = server.take_request("session.send")
    assert server.dialect.cancel() is True
    assert server.take_requests() == []
    server.reply(request, {"messageId": "m"})
    assert [request["method"] for request in server.take_requests()] == ["session.abort"]


def test_a_turn_that_is_cancelled_while_it_sets_its_model_sends_no_prompt() -> None:
    server = ready_server()
    server.dialect.prompt(Prompt([], "t1", model="gpt-5.5"))
    switch = server.take_request("session.model.switchTo")
    server.dialect.cancel()
    assert server.reply(switch, {}) == [TurnEnded("cancelled")]
    assert server.take_requests() == []


def test_work_in_the_background_does_not_keep_a_cancelled_turn_open() -> None:
    """An abort does not stop it, and `session.idle` would wait for it."""
    server = server_in_turn()
    server.emit("assistant.idle")
    server.dialect.cancel()
    assert server.reply(server.take_request("session.abort"), {"success": True}) == [TurnEnded("cancelled")]


def test_a_failure_of_a_cancelled_turn_ends_it_as_cancelled() -> None:
    server = server_in_turn()
    server.dialect.cancel()
    server.emit("session.error", errorType="query", message="aborted")
    assert server.emit("session.idle") == [TurnEnded("cancelled")]


def test_the_driver_ends_the_turn_of_a_process_that_dies() -> None:
    server = server_in_turn()
    assert server.dialect.on_process_exit(1, "oops") == []
    assert server.dialect.is_busy and not server.dialect.is_ready
    stopped = server_in_turn()
    stopped.dialect.cancel()
    assert stopped.dialect.on_process_exit(1, "") == [TurnEnded("cancelled")]
