"""`getCapabilities()` as a JavaScript application adds it, against the official schemas of both generations."""

from __future__ import annotations

from typing import Any

import pytest

from tests.clients.conftest import Stage
from tests.clients.node import play

SCOUT = [{"name": "scout", "description": "Travels to a city and reports its weather."}]


@pytest.fixture(scope="module")
def asked(stage: Stage) -> dict[tuple[str, bool], dict[str, Any]]:
    """(agent, for an older client) → what was given and what the schema made of it."""
    jobs = [(agent, older) for agent in ("demo", "echo") for older in (False, True)]
    talks = play("capabilities.mjs", stage.url, [{"agent": agent, "older": older} for agent, older in jobs])
    return {job: talk[0].seen for job, talk in zip(jobs, talks, strict=True)}


@pytest.mark.parametrize("older", [False, True], ids=["1.0", "0.0.59"])
@pytest.mark.parametrize("agent", ["demo", "echo"])
def test_the_official_schema_understands_every_key(
    asked: dict[tuple[str, bool], dict[str, Any]], agent: str, older: bool
) -> None:
    answer = asked[agent, older]
    assert answer["wrong"] is None
    assert answer["complaints"] == []
    assert answer["understood"] == answer["given"]
    assert answer["given"]["transport"]["streaming"] is True


def test_each_generation_reads_the_subagents_under_its_own_spelling(
    asked: dict[tuple[str, bool], dict[str, Any]],
) -> None:
    assert asked["demo", False]["understood"]["multiAgent"]["subagents"] == SCOUT
    assert asked["demo", True]["understood"]["multiAgent"]["subAgents"] == SCOUT
    assert "subagents" not in asked["demo", True]["given"]["multiAgent"]
