"""The text that a user gives with a denial, with real agents: it reaches the model in the same turn, or the client is
told that it did not."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import pytest

from tests.fakes.model_server.server import ModelServer
from tests.live.harness import bundled_behind_gateway
from tests.live.scenarios import in_order
from tests.live.selection import agents
from tests.runs.harness import interrupts_of, resolved, with_resume
from tests.support.gateway import events_of, run_input

TAKES = ("claude", "codex", "copilot", "opencode", "pi")
TAKES_NONE = {"omp": "SHELL touch refused.txt", "hermes": "SHELL rm -rf none; touch refused.txt"}
"""Agent → a command that it asks about."""

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.mark.parametrize("agent", agents(TAKES, ["claude", "codex", "pi"]))
def test_feedback_reaches_the_model_with_the_denial(agent: str, models: ModelServer, tmp_path: Path) -> None:
    words = f"Use another name, {uuid4().hex}"
    with bundled_behind_gateway(agent, models.url, tmp_path) as gateway:
        first = run_input("SHELL touch refused.txt")
        [interrupt] = interrupts_of(events_of(gateway.post(agent, first).text))
        assert "feedback" in interrupt["responseSchema"]["properties"]
        answer = resolved(interrupt, {"approved": False, "feedback": words})
        events = events_of(gateway.post(agent, with_resume(first["threadId"], answer)).text)
        in_order(events)
        assert events[-1]["type"] == "RUN_FINISHED", events[-1]
        assert not [event for event in events if event.get("name") == "gateway.warning"]
        asked = [body for request in models.requests() if words in (body := json.dumps(request["body"]))]
        assert asked, "the model was given the words"
        assert asked[0].count(words) == 1
        assert not (tmp_path / "work" / "refused.txt").exists()


@pytest.mark.parametrize("agent", agents(TAKES_NONE, []))
def test_feedback_that_an_agent_does_not_take_is_reported(agent: str, models: ModelServer, tmp_path: Path) -> None:
    words = f"Use another name, {uuid4().hex}"
    with bundled_behind_gateway(agent, models.url, tmp_path) as gateway:
        first = run_input(TAKES_NONE[agent])
        [interrupt] = interrupts_of(events_of(gateway.post(agent, first).text))
        assert "feedback" not in interrupt["responseSchema"]["properties"]
        answer = resolved(interrupt, {"approved": False, "feedback": words})
        events = events_of(gateway.post(agent, with_resume(first["threadId"], answer)).text)
        in_order(events)
        warned = [event["value"]["code"] for event in events if event.get("name") == "gateway.warning"]
        assert "FEEDBACK_DROPPED" in warned
        assert not [request for request in models.requests() if words in json.dumps(request["body"])]
