"""`capabilities.changed`: a run says so itself when what its thread can do becomes another."""

from __future__ import annotations

from typing import Any

import jsonpatch

from tests.behaviour.acp.harness import Stage, Talk, custom
from tests.runs.harness import eventually, until
from tests.support.gateway import text_of

NAME = "capabilities.changed"


def snapshot(talk: Talk) -> tuple[str, Any]:
    response = talk.stage.client.get(f"/agents/{talk.agent}/capabilities?thread={talk.id}")
    return response.headers["etag"].strip('"'), response.json()


def test_the_first_run_of_a_thread_reports_what_its_session_has(stage: Stage) -> None:
    stage.asks("/agents/full/capabilities?probe=1")
    talk = Talk(stage, "full")
    _, before = snapshot(talk)
    [change] = custom(talk.say("hello"), NAME)
    version, after = snapshot(talk)
    assert change["version"] == version
    assert jsonpatch.apply_patch(before, change["patch"]) == after
    assert after["custom"]["session"]["modes"]["current"] == "ask"


def test_a_run_that_changes_nothing_reports_nothing(stage: Stage) -> None:
    talk = Talk(stage, "full")
    talk.say("hello")
    assert custom(talk.say("think"), NAME) == []


def test_a_run_with_another_mode_reports_the_change(stage: Stage) -> None:
    talk = Talk(stage, "full")
    talk.say("hello")
    [change] = custom(talk.say("hello", forwardedProps={"gateway": {"mode": "auto"}}), NAME)
    assert change["patch"] == [{"op": "replace", "path": "/custom/session/modes/current", "value": "auto"}]


def test_a_mode_that_the_agent_switches_is_reported_during_the_run(stage: Stage) -> None:
    talk = Talk(stage, "alone")
    talk.say("hello")
    with talk.streaming("switch auto") as events:
        events_so_far = until(events, "CUSTOM")
        if events_so_far[-1]["name"] != NAME:
            events_so_far += until(events, "CUSTOM")
        version, after = snapshot(talk)
        talk.cancel()
        list(events)
    [change] = custom(events_so_far, NAME)
    assert (change["version"], after["custom"]["session"]["modes"]["current"]) == (version, "auto")
    assert change["patch"] == [{"op": "replace", "path": "/custom/session/modes/current", "value": "auto"}]


def test_an_agent_without_sessions_reports_nothing(stage: Stage) -> None:
    events = stage.run("echo", "hello")
    assert (custom(events, NAME), text_of(events)) == ([], "hello ")


def test_an_agent_whose_description_alone_changes_keeps_its_sessions(stage: Stage) -> None:
    stage.agent("renamed", identity={"name": "renamed", "description": "A seal."})
    until_listed(stage, "renamed", "A seal.")
    talk = Talk(stage, "renamed")
    talk.say("hello")
    stage.asks(f"{talk.path}/mode", {"mode": "auto"})
    stage.agent("renamed", identity={"name": "renamed", "description": "An otter."})
    until_listed(stage, "renamed", "An otter.")
    assert snapshot(talk)[1]["custom"]["session"]["modes"]["current"] == "auto"
    assert len(stage.received("renamed", method="initialize")) == 1


def until_listed(stage: Stage, agent: str, description: str) -> None:
    def events_so_far() -> bool:
        answer = stage.client.get(f"/agents/{agent}")
        return bool(answer.status_code == 200 and answer.json()["identity"]["description"] == description)

    assert eventually(events_so_far)
