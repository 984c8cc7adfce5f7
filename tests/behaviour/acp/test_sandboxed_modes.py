"""With `sandbox = "auto"` in a trusted folder: a thread whose session is set to a mode without questions works in the
sandbox, whoever set it and when."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

from gateway.drivers.sandbox.bubblewrap import unusable_reason
from tests.behaviour.acp.harness import OPTIONS, ROOT, Stage, Talk
from tests.support.gateway import text_of

pytestmark = pytest.mark.skipif(unusable_reason() is not None, reason=f"needs bubblewrap: {unusable_reason()}")


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    home = tmp_path_factory.mktemp("modes")
    stage = Stage(home, sandbox="auto")
    files = (f"--log={stage.workspace / 'log'}", f"--state={stage.workspace / 'sessions'}")  # a sandbox shows them
    command: dict[str, Any] = stage.command("plain", *files)
    command["env"]["PATH"] = os.pathsep.join([str(ROOT), os.environ["PATH"]])  # …and the agent's own modules
    stage.agent("plain", command=command, options=OPTIONS, auto_approve_modes=["auto"])
    with stage:
        yield stage


def kind(talk: Talk) -> str:
    """Of the sandbox that the thread's session has now."""
    told = talk.stage.asks(f"/agents/plain/capabilities?thread={talk.id}")
    found: str = told["custom"]["gateway"]["sandbox"]["kind"]
    return found


def mode(talk: Talk) -> str:
    told = talk.stage.asks(f"/agents/plain/capabilities?thread={talk.id}")
    found: str = told["custom"]["session"]["modes"]["current"]
    return found


def set_mode(talk: Talk, name: str) -> Any:
    return talk.stage.asks(f"/agents/plain/threads/{talk.id}/mode", {"mode": name})


def test_a_mode_that_was_set_before_the_run_puts_the_session_into_the_sandbox(stage: Stage) -> None:
    talk = Talk(stage)
    talk.say("hello")
    assert kind(talk) == "none"
    assert set_mode(talk, "auto")["modes"]["current"] == "auto"
    assert kind(talk) == "bubblewrap", "at once: nothing of the agent runs outside in this mode"
    assert text_of(talk.say("again")) == "You said: again"
    assert (kind(talk), mode(talk)) == ("bubblewrap", "auto")


def test_the_session_leaves_the_sandbox_with_the_mode(stage: Stage) -> None:
    talk = Talk(stage)
    set_mode(talk, "auto")
    talk.say("hello")
    assert kind(talk) == "bubblewrap"
    set_mode(talk, "ask")
    talk.say("again")
    assert (kind(talk), mode(talk)) == ("none", "ask")


def test_the_mode_of_an_earlier_run_holds_the_next_one_in_the_sandbox(stage: Stage) -> None:
    talk = Talk(stage)
    talk.say("hello", forwardedProps={"gateway": {"mode": "auto"}})
    talk.say("again")
    assert (kind(talk), mode(talk)) == ("bubblewrap", "auto")
    talk.say("again", forwardedProps={"gateway": {"mode": "ask"}})
    assert (kind(talk), mode(talk)) == ("none", "ask")


def test_a_mode_that_the_agent_chose_itself_is_kept_inside_the_sandbox(stage: Stage) -> None:
    talk, other = Talk(stage), Talk(stage)
    other.say("hello")
    with talk.streaming("switch auto") as events:
        next(event for event in events if event["type"] == "RUN_STARTED")
        other.say("release")  # in the same process
        assert list(events)[-1]["type"] == "RUN_FINISHED"
    assert kind(talk) == "none", "it was not in this mode when its turn began"
    talk.say("again")
    assert (kind(talk), mode(talk)) == ("bubblewrap", "auto")


def test_a_thread_is_in_the_sandbox_again_when_its_session_is_reopened(stage: Stage) -> None:
    talk = Talk(stage)
    set_mode(talk, "auto")
    talk.say("hello")
    stage.asks(f"/agents/plain/threads/{talk.id}/close", {})
    talk.say("again")
    assert (kind(talk), mode(talk)) == ("bubblewrap", "auto")
