"""What was set on a thread stays set, and is shown, while its session is closed: after a close, and after a restart."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.acp.harness import Stage, Talk, answered
from tests.support.gateway import text_of


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """Sessions outlive the agent's process, but not what they were set to."""
    stage = Stage(tmp_path)
    stage.agent("full", "--full", stage.state("full"))
    with stage:
        yield stage


def close(stage: Stage, talk: Talk) -> None:
    stage.asks(f"{talk.path}/close", {})


def restart(stage: Stage, talk: Talk) -> None:
    stage.terminate()
    stage.start()


def session_of(stage: Stage, talk: Talk) -> dict[str, Any]:
    custom: dict[str, Any] = stage.asks(f"/agents/full/capabilities?thread={talk.id}")["custom"]["session"]
    return custom


def set_all(stage: Stage, talk: Talk) -> None:
    stage.asks(f"{talk.path}/mode", {"mode": "auto"})
    stage.asks(f"{talk.path}/model", {"model": "large"})
    stage.asks(f"{talk.path}/config", {"id": "web", "value": True})


@pytest.mark.parametrize("sleep", [close, restart])
def test_what_was_set_is_shown_and_used_again(stage: Stage, sleep: Any) -> None:
    talk = Talk(stage, "full")
    talk.say("hello")
    set_all(stage, talk)
    sleep(stage, talk)
    shown = session_of(stage, talk)
    assert (shown["modes"]["current"], shown["models"]["current"], shown["open"]) == ("auto", "large", False)
    assert [mode["id"] for mode in shown["modes"]["available"]] == ["ask", "auto"]
    assert [option["value"] for option in shown["config"] if option["id"] == "web"] == [True]
    explained = stage.asks(f"/agents/full/capabilities?thread={talk.id}&explain=1")["explain"]
    assert "whose session is closed" in str(explained["custom.session.modes.current"])
    assert stage.asks(talk.path)["session"] == {**shown, "id": talk.session}

    before = len(stage.received("full"))
    talk.say("hello again")
    methods = [message["method"] for message in stage.received("full")[before:] if "method" in message]
    assert methods[-1] == "session/prompt"
    setters = {"session/set_mode", "session/set_model", "session/set_config_option"}
    assert setters & set(methods) == (setters if sleep is restart else set()), "only what the agent has forgotten"
    opened = session_of(stage, talk)
    assert (opened["modes"]["current"], opened["models"]["current"]) == ("auto", "large")
    assert "open" not in opened


def test_what_a_run_sets_stays_set(stage: Stage) -> None:
    talk = Talk(stage, "full")
    talk.say("hello", forwardedProps={"gateway": {"mode": "auto", "model": "large"}})
    close(stage, talk)
    talk.say("hello again")
    assert session_of(stage, talk)["modes"]["current"] == "auto"
    talk.say("and again", forwardedProps={"gateway": {"mode": "ask"}})
    close(stage, talk)
    shown = session_of(stage, talk)
    assert (shown["modes"]["current"], shown["models"]["current"]) == ("ask", "large")


def test_a_closed_session_is_set_to_something_else_and_keeps_the_rest(stage: Stage) -> None:
    talk = Talk(stage, "full")
    talk.say("hello")
    set_all(stage, talk)
    close(stage, talk)
    assert stage.asks(f"{talk.path}/model", {"model": "small"})["modes"]["current"] == "auto"
    close(stage, talk)
    shown = session_of(stage, talk)
    assert (shown["modes"]["current"], shown["models"]["current"]) == ("auto", "small")


def test_the_folder_of_a_thread_stays_its_folder(stage: Stage) -> None:
    inner = stage.workspace / "inner"
    inner.mkdir()
    talk = Talk(stage, "full")
    talk.say("hello", forwardedProps={"gateway": {"cwd": "inner"}})
    restart(stage, talk)
    assert session_of(stage, talk)["cwd"] == str(inner)
    talk.say("hello again")
    assert stage.received("full", method="session/resume")[-1]["params"]["cwd"] == str(inner)


def test_what_the_agent_has_no_more_is_refused_once_and_then_dropped(stage: Stage) -> None:
    talk = Talk(stage, "full")
    talk.say("hello")
    set_all(stage, talk)
    stage.asks(f"{talk.path}/close", {})
    stage.agent("full", "--bare", stage.state("full"))
    stage.terminate()
    stage.start()
    error = talk.say("hello again")[-1]
    assert (error["code"], "'large'" in error["message"]) == ("CAPABILITY_ERROR", True), "first the model"
    refusal = answered(stage.post("full", talk.input("hello again")), 422)
    assert (refusal["code"], refusal["pointer"]) == ("CAPABILITY_ERROR", "/forwardedProps/gateway/mode"), (
        "then the mode"
    )
    assert all("dropped now: send the message again" in text for text in (error["message"], refusal["detail"]))
    assert talk.say("hello again")[-1]["type"] == "RUN_FINISHED"


def test_a_copy_of_a_thread_is_set_as_the_thread(stage: Stage) -> None:
    talk = Talk(stage, "full")
    talk.say("hello")
    set_all(stage, talk)
    copied = talk.copy(stage.asks(f"{talk.path}/fork", {}, status=201)["threadId"])
    assert text_of(copied.say("hello again"))
    assert session_of(stage, copied)["modes"]["current"] == "auto"
