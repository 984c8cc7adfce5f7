"""Credentials that outlive their use on disk (the class of the clear-text tokens of OpenClaw and of chat front ends).

Attack: a client names MCP servers with a bearer token, a variable and a key in the URL; later somebody reads the
gateway's database, a backup of it, or the log of a run. Promise: none of the secrets is there, not even of a message
that waits for its thread while the gateway is killed; the next gateway says what is missing instead of guessing.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.mcp_stage import ENV_SECRET, HEADER_SECRET, LOCAL, REMOTE, SECRETS, make_stage, stored_bytes
from tests.behaviour.acp.harness import OPTIONS, Stage, Talk
from tests.behaviour.delivery.harness import Thread

PROPS = {"gateway": {"mcpServers": [REMOTE]}}


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    stage = make_stage(tmp_path, interrupt_ttl=60)
    complain = f"echo 'cannot reach the server: Bearer {HEADER_SECRET}' >&2; exit 3"
    stage.agent("broken", command={"run": ["/bin/sh", "-c", complain]}, options=[*OPTIONS, "mcpServers"])
    with stage:
        yield stage


def assert_nothing_is_stored(home: Path) -> None:
    stored = stored_bytes(home)
    assert stored
    assert [secret for secret in SECRETS if secret.encode() in stored] == []


def test_a_run_is_stored_without_the_secrets_of_its_servers(stage: Stage, tmp_path: Path) -> None:
    talk = Talk(stage, mcpServers=[REMOTE])
    assert talk.say("hello")[-1]["type"] == "RUN_FINISHED"
    [opened] = stage.received("plain", method="session/new")
    assert HEADER_SECRET in str(opened), "the agent itself needs it"
    stage.terminate()
    assert_nothing_is_stored(tmp_path)
    stage.start()
    assert talk.say("again")[-1]["type"] == "RUN_FINISHED", "the thread goes on after a restart"


def test_a_waiting_message_is_stored_without_them_and_delivered_with_them(stage: Stage, tmp_path: Path) -> None:
    talk = Talk(stage)
    thread = Thread(stage, "plain", talk.id)
    with talk.streaming("hold") as events:
        next(event for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")
        receipt = thread.post("later", "on-idle", deliveryId="waits", forwardedProps=PROPS)
        assert receipt["status"] == "deferred"
        assert_nothing_is_stored(tmp_path)
        talk.cancel()
    assert thread.fate("waits")["type"] == "delivery.delivered"
    assert HEADER_SECRET in str(stage.received("plain")), "the agent got them with the message"


def test_after_a_crash_a_message_without_its_secrets_is_not_delivered_but_reported(
    stage: Stage, tmp_path: Path
) -> None:
    talk = Talk(stage)
    thread = Thread(stage, "plain", talk.id)
    with talk.streaming("hold") as events:
        next(event for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")
        assert thread.post("later", "on-idle", deliveryId="lost", forwardedProps=PROPS)["status"] == "deferred"
        stage.kill()
    assert_nothing_is_stored(tmp_path)
    stage.start()
    fate = thread.fate("lost")
    assert (fate["type"], fate["code"]) == ("delivery.failed", "SECRETS_NOT_STORED")
    assert "post the message again with its mcpServers" in fate["reason"]


def test_an_agents_error_is_neither_shown_nor_stored_with_them(stage: Stage, tmp_path: Path) -> None:
    """The agent repeats the header on its stderr, whose end is part of the error."""
    events = Talk(stage, "broken", mcpServers=[REMOTE]).say("hello")
    assert events[-1]["type"] == "RUN_ERROR" and "cannot reach the server" in str(events)
    assert [secret for secret in SECRETS if secret in str(events)] == []
    stage.terminate()
    assert_nothing_is_stored(tmp_path)
    assert [secret for secret in SECRETS if secret in stage.log.read_text()] == []


def test_variables_of_a_command_are_not_stored(stage: Stage, tmp_path: Path) -> None:
    body = Talk(stage, mcpServers=[LOCAL]).input("hello")
    stage.client.post("/agents/plain", json=body)
    stage.terminate()
    assert ENV_SECRET.encode() not in stored_bytes(tmp_path)
