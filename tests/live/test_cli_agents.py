"""Real command-line agents by their own definitions, behind the gateway, driven by the official AG-UI client, with the
scripted model."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.install import install as install_clients
from tests.clients.node import play
from tests.fakes.model_server.server import ModelServer
from tests.live.harness import bundled_behind_gateway
from tests.live.scenarios import CHECKS, PIXEL, TALKS, in_order
from tests.live.selection import LARGE, agents
from tests.support.gateway import events_of, run_input, text_of

AGENTS = tuple(os.environ.get("AGUI_TEST_AGENTS", "").split()) or (
    "claude",
    "codex",
    "gemini",
    "copilot",
    "opencode",
    "pi",
    "omp",
    "hermes",
)
"""`make test-openclaw` names another."""
FAILURE_WORDS = {
    "openclaw": "provider rejected the request",  # its own words for it
    "copilot": "400",  # it tells the status, and keeps the model's words to itself
}
HISTORY_REPLAYED = ("gemini",)
"""May have to be told all anew: this version cannot load a session in the minute in which it was written."""
ASKED_ABOUT = {
    "hermes": "SHELL rm -rf none; touch",  # it asks only about what looks dangerous
}
SLOW = ("openclaw",)
"""Its first answer takes longer than the client waits."""

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def steps_for(agent: str, steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The same, with commands that this agent asks about."""
    words = ASKED_ABOUT.get(agent, "SHELL touch")
    return [{**step, "say": step["say"].replace("SHELL touch", words)} if "say" in step else step for step in steps]


@pytest.mark.parametrize("agent", agents(AGENTS, set(AGENTS) - set(LARGE)))
def test_the_official_client_talks_with_a_real_agent(agent: str, models: ModelServer, tmp_path: Path) -> None:
    install_clients()
    with bundled_behind_gateway(agent, models.url, tmp_path) as gateway:
        if agent in SLOW:
            gateway.run(agent)
        talks = [{"agent": agent, "steps": steps_for(agent, steps)} for steps in TALKS.values()]
        seen = dict(zip(TALKS, play("agui.mjs", gateway.url, talks), strict=True))
        for name, check in CHECKS.items():
            if name == "failed" and agent in FAILURE_WORDS:
                assert FAILURE_WORDS[agent] in json.dumps(seen[name][0].events)
            else:
                check(seen[name])
        for steps in seen.values():
            for step in steps:
                in_order(step.events)
        made = {file.name for file in (tmp_path / "work").iterdir()}
        assert "allowed.txt" in made, "the allowed command ran in the workspace"
        assert "refused.txt" not in made, "the refused one did not"
        assert gateway.client.get(f"/agents/{agent}").json()["availability"]["version"]
        told = gateway.client.get(f"/agents/{agent}/capabilities").json()
        assert told["identity"]["version"], "the version is known by now"


@pytest.mark.parametrize("agent", agents(AGENTS))
def test_a_thread_goes_on_after_the_gateway_was_restarted(agent: str, models: ModelServer, tmp_path: Path) -> None:
    with bundled_behind_gateway(agent, models.url, tmp_path) as gateway:
        first = run_input("hello")
        said = events_of(gateway.post(agent, first).text)
        assert said[-1]["type"] == "RUN_FINISHED", said[-1]
        gateway.terminate()
        gateway.start()
        answer = {"id": "a1", "role": "assistant", "content": text_of(said)}
        news = {"id": "u2", "role": "user", "content": "still there?"}
        messages = [*first["messages"], answer, news]
        again = events_of(gateway.post(agent, run_input(threadId=first["threadId"], messages=messages)).text)
        in_order(again)
        assert "still there?" in text_of(again)
        warned = [event["value"]["code"] for event in again if event.get("name") == "gateway.warning"]
        assert set(warned) <= {"HISTORY_REPLAYED"} if agent in HISTORY_REPLAYED else not warned, (
            "it came back by its own means"
        )
        asked = [body for request in models.requests() if "still there?" in (body := json.dumps(request["body"]))]
        assert "hello" in asked[0], "the model was given what came before"


@pytest.mark.parametrize("agent", agents(AGENTS))
def test_an_image_reaches_the_model_of_an_agent_that_takes_images(
    agent: str, models: ModelServer, tmp_path: Path
) -> None:
    with bundled_behind_gateway(agent, models.url, tmp_path) as gateway:
        told = gateway.client.get(f"/agents/{agent}/capabilities", params={"probe": "1"}, timeout=90).json()
        assert told["multimodal"]["input"]["image"] is True
        source = {"type": "data", "value": PIXEL, "mimeType": "image/png"}
        parts: list[dict[str, Any]] = [{"type": "text", "text": "IMAGE?"}, {"type": "image", "source": source}]
        seen = gateway.run(agent, parts)
        in_order(seen)
        assert "image/png" in text_of(seen) or "1 image" in text_of(seen), text_of(seen)
