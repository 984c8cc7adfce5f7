"""A turn of Copilot's SDK server: what goes before it, and its ends."""

from __future__ import annotations

import pytest

from gateway.events import Custom, TurnEnded, TurnFailed, Warning
from gateway.wire.dialects import Prompt
from tests.wire.dialects.copilot_server import SESSION, Json, Server, in_turn, ready

# -- a turn


def test_a_prompt_goes_with_its_images_and_documents() -> None:
    server = ready()
    blocks: list[Json] = [
        {"type": "text", "text": "look"},
        {"type": "image", "data": "aW1n", "mimeType": "image/png"},
        {"type": "resource", "resource": {"uri": "file:///w/a.pdf", "blob": "cGRm", "mimeType": "application/pdf"}},
    ]
    server.dialect.prompt(Prompt(blocks, "t1"))
    assert server.request("session.send")["params"] == {
        "sessionId": SESSION,
        "prompt": "look",
        "attachments": [
            {"type": "blob", "data": "aW1n", "mimeType": "image/png", "displayName": "image"},
            {"type": "blob", "data": "cGRm", "mimeType": "application/pdf", "displayName": "a.pdf"},
        ],
    }


def test_a_file_that_copilot_would_overlook_is_warned_about() -> None:
    server = ready()
    server.dialect.prompt(Prompt([{"type": "audio", "data": "x", "mimeType": "audio/wav"}], "t1"))
    [warned] = server.reply(server.request("session.send"), {"messageId": "m"})
    assert isinstance(warned, Warning) and warned.code == "CONTENT_DROPPED"
    assert warned.detail == {"mimeType": "audio/wav"}


def test_settings_that_differ_are_made_one_after_the_other_before_the_prompt() -> None:
    """The server works on requests side by side: a prompt sent at once could be answered by the old model."""
    server = Server().open(modelState={"modelId": "gpt-5.4"})
    wishes: Json = {"model": "gpt-5.5", "thinking": {"reasoningEffort": "high"}, "mode": "plan"}
    server.dialect.prompt(Prompt([{"type": "text", "text": "x"}], "t1", **wishes))
    [switch] = server.asked()
    assert switch["method"] == "session.model.switchTo"
    assert switch["params"] == {"sessionId": SESSION, "modelId": "gpt-5.5", "reasoningEffort": "high"}
    server.reply(switch, {"modelState": {"modelId": "gpt-5.5", "reasoningEffort": "high"}})
    [mode] = server.asked()
    assert (mode["method"], mode["params"]["mode"]) == ("session.mode.set", "plan")
    server.reply(mode, {"modeApplied": True})
    assert [request["method"] for request in server.asked()] == ["session.send"]
    assert server.dialect.session_layer["custom.session.models.current"] == "gpt-5.5"


def test_settings_that_are_as_wished_are_left_alone() -> None:
    server = Server().open(modelState={"modelId": "gpt-5.4", "reasoningEffort": "low"})
    wishes: Json = {"model": "gpt-5.4", "thinking": {"reasoningEffort": "low"}, "mode": "interactive"}
    server.dialect.prompt(Prompt([], "t1", **wishes))
    assert [request["method"] for request in server.asked()] == ["session.send"]


def test_effort_alone_leaves_the_model_as_it_is() -> None:
    server = ready()
    server.dialect.prompt(Prompt([], "t1", thinking={"reasoningEffort": "low"}))
    assert server.request("session.model.setReasoningEffort")["params"]["reasoningEffort"] == "low"


def test_a_setting_that_is_refused_fails_the_turn() -> None:
    server = ready()
    server.dialect.prompt(Prompt([], "t1", mode="dance"))
    [broke] = server.reply(server.request("session.mode.set"), error={"message": "unknown variant `dance`"})
    assert isinstance(broke, TurnFailed) and "unknown variant" in broke.message
    assert not server.dialect.is_busy and server.asked() == []


def test_a_prompt_that_is_not_taken_fails_the_turn_with_the_servers_words() -> None:
    server = ready()
    server.dialect.prompt(Prompt([], "t1"))
    [broke] = server.reply(server.request("session.send"), error={"message": "Session not found for sessionId: x"})
    assert isinstance(broke, TurnFailed) and broke.code == "SESSION_NOT_FOUND"


def test_a_turn_ends_when_the_session_is_idle() -> None:
    server = in_turn()
    assert server.tell("assistant.idle") == []
    assert server.dialect.is_busy
    assert server.tell("session.idle", mode="interactive") == [TurnEnded()]
    assert not server.dialect.is_busy


def test_an_idle_that_a_turn_before_left_behind_ends_nothing() -> None:
    server = ready()
    server.dialect.prompt(Prompt([], "t1"))
    request = server.request("session.send")
    assert server.tell("session.idle") == []
    server.reply(request, {"messageId": "m"})
    assert server.tell("session.idle") == [], "our message has not come yet"
    server.tell("user.message", content="hello")
    assert server.tell("session.idle") == [TurnEnded()]


def test_a_prompt_that_policy_blocks_ends_its_turn() -> None:
    server = ready()
    server.dialect.prompt(Prompt([], "t1"))
    server.reply(server.request("session.send"), {"messageId": "m"})
    [told] = server.tell("session.warning", warningType="policy", message="blocked", originatingMessageId="m")
    assert told == Custom("copilot.warning", {"warningType": "policy", "message": "blocked"})
    assert server.tell("session.idle") == [TurnEnded()]


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
def test_an_error_fails_the_turn_with_its_own_words(error: Json, code: str) -> None:
    server = in_turn()
    assert server.tell("session.error", **error) == []
    [broke] = server.tell("session.idle")
    assert broke == TurnFailed(error.get("message", "the agent gave no reason"), code)


def test_an_error_after_which_the_agent_goes_on_is_a_warning() -> None:
    server = in_turn()
    server.tell("session.error", errorType="query", message="a hiccup")
    warned, _ = server.tell("assistant.turn_start", turnId="1")
    assert warned == Warning("MODEL_ERROR", "a hiccup")
    assert server.tell("session.idle") == [TurnEnded()]


def test_an_error_of_a_subagents_is_not_the_turns() -> None:
    server = in_turn()
    [told] = server.tell("session.error", agent="a", errorType="query", message="no")
    assert isinstance(told, Custom) and told.name == "copilot.error"
    assert server.tell("session.idle") == [TurnEnded()]


# -- stopping


def test_a_turn_is_aborted_in_the_servers_own_way() -> None:
    server = in_turn()
    assert server.dialect.cancel() is True
    abort = server.request("session.abort")
    assert server.reply(abort, {"success": True}) == []
    assert server.tell("assistant.idle", aborted=True) == [TurnEnded("cancelled")]
    assert server.tell("session.idle", aborted=True) == []


def test_an_abort_waits_until_the_prompt_was_taken() -> None:
    """One that comes before is lost: the server has nothing to abort yet."""
    server = ready()
    server.dialect.prompt(Prompt([], "t1"))
    request = server.request("session.send")
    assert server.dialect.cancel() is True
    assert server.asked() == []
    server.reply(request, {"messageId": "m"})
    assert [asked["method"] for asked in server.asked()] == ["session.abort"]


def test_a_turn_that_is_stopped_while_it_sets_its_model_never_prompts() -> None:
    server = ready()
    server.dialect.prompt(Prompt([], "t1", model="gpt-5.5"))
    switch = server.request("session.model.switchTo")
    server.dialect.cancel()
    assert server.reply(switch, {}) == [TurnEnded("cancelled")]
    assert server.asked() == []


def test_what_runs_in_the_background_does_not_keep_a_stopped_turn_open() -> None:
    """An abort does not end it, and `session.idle` would wait for it."""
    server = in_turn()
    server.tell("assistant.idle")
    server.dialect.cancel()
    assert server.reply(server.request("session.abort"), {"success": True}) == [TurnEnded("cancelled")]


def test_a_failure_of_a_stopped_turn_is_its_end() -> None:
    server = in_turn()
    server.dialect.cancel()
    server.tell("session.error", errorType="query", message="aborted")
    assert server.tell("session.idle") == [TurnEnded("cancelled")]


def test_a_process_that_dies_leaves_its_end_to_the_driver() -> None:
    server = in_turn()
    assert server.dialect.on_process_exit(1, "oops") == []
    assert server.dialect.is_busy and not server.dialect.is_ready
    stopped = in_turn()
    stopped.dialect.cancel()
    assert stopped.dialect.on_process_exit(1, "") == [TurnEnded("cancelled")]
