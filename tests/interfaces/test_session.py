"""`custom.session`: what a session has and is set to, in one shape for every agent."""

from __future__ import annotations

from typing import Any

import pytest

from gateway import capability_paths
from gateway.capabilities.layers import current_model
from gateway.capability_paths import SESSION, unflatten
from tests.behaviour.acp.harness import Stage, Talk
from tests.interfaces import interface, mistakes_in
from tests.interfaces.recorded import ACP, recorded, tellers

SHAPE = interface("session")
FIELDS = {field.path for field in SHAPE.fields}
AGENTS = sorted({reported.who for reported in recorded()})

OWN = ("claude", "codex", "hermes")
"""Agents with facts that no other has, under their own name."""


@pytest.mark.parametrize("who", AGENTS)
def test_whatever_an_agent_reported_of_a_session_has_the_one_shape(who: str) -> None:
    every = [(one.case, {**one.handshake_layer, **one.facts}) for one in recorded() if one.who == who]
    reported = [(case, unflatten(facts).get("custom", {})) for case, facts in every]
    assert reported
    wrong = {case: found for case, custom in reported if (found := mistakes_in(custom.get("session", {}), SHAPE))}
    assert wrong == {}
    assert {key for _, custom in reported for key in custom} <= {"session", *OWN}


def test_the_places_in_the_code_are_those_of_the_shape() -> None:
    paths = [value for value in vars(capability_paths).values() if str(value).startswith(f"{SESSION}.")]
    assert {path.removeprefix(f"{SESSION}.") for path in paths} == FIELDS == set(SHAPE.about)


def test_every_fact_was_reported_by_an_agent() -> None:
    by_the_gateway = {"open"}
    assert [path for path in sorted(FIELDS - by_the_gateway) if not tellers(f"{SESSION}.{path}")] == []


def test_the_model_is_found_where_it_stands() -> None:
    assert current_model({capability_paths.MODEL: "large"}) == "large"


def test_the_shape_refuses_what_it_does_not_have() -> None:
    for wrong in ({"mode": "x"}, {"modes": {"current": 1}}, {"commands": [{"description": "nameless"}]}):
        assert mistakes_in(wrong, SHAPE)


@pytest.mark.parametrize("agent", ["full", "plain"])
def test_over_http_it_is_the_same(stage: Stage, agent: str) -> None:
    talk = Talk(stage, agent)
    talk.say("hello")
    reported: dict[str, Any] = stage.asks(f"/agents/{agent}/capabilities?thread={talk.id}")["custom"]["session"]
    assert mistakes_in(reported, SHAPE) == []
    shown = stage.asks(talk.path)["session"]
    assert {"id", "open"} == shown.keys() - reported.keys() and reported.items() <= shown.items()
    assert reported["cwd"] == str(stage.workspace)


def test_acp_sessions_are_among_them() -> None:
    assert ACP in AGENTS
