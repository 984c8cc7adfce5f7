"""Real ACP agents, behind the gateway, driven by the official AG-UI client, talking to the scripted model.

Each agent has one conversation of every kind; what the application sees of it is checked here. Agents differ in how
they end a refused call or tell a model's failure: what is said of all of them holds for all of them.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.clients.install import install as install_clients
from tests.clients.node import play
from tests.fakes.model_server.server import ModelServer
from tests.live.harness import behind_gateway
from tests.live.scenarios import CHECKS, PIXEL, TALKS, in_order
from tests.live.selection import agents
from tests.support.gateway import Gateway, events_of, run_input, text_of

AGENTS = ("claude-agent-acp", "codex-acp", "gemini-cli", "opencode-acp", "qwen-code")

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.mark.parametrize("agent", AGENTS)
def test_the_official_client_talks_with_a_real_agent(agent: str, models: ModelServer, tmp_path: Path) -> None:
    install_clients()
    with behind_gateway(agent, models.url, tmp_path) as gateway:
        talks = [{"agent": agent, "steps": steps} for steps in TALKS.values()]
        seen = dict(zip(TALKS, play("agui.mjs", gateway.url, talks), strict=True))
        for name, check in CHECKS.items():
            check(seen[name])
        [interrupt] = seen["allowed"][0].events[-1]["outcome"]["interrupts"]
        kinds = {option["kind"] for option in interrupt["metadata"]["acp"]["options"]}
        assert {"allow_once", "reject_once"} <= kinds
        for steps in seen.values():
            for step in steps:
                in_order(step.events)
        made = {file.name for file in (tmp_path / "work").iterdir()}
        assert "allowed.txt" in made, "the allowed command ran in the workspace"
        assert "refused.txt" not in made, "the refused one did not"
        told = gateway.client.get(f"/agents/{agent}/capabilities").json()
        assert told["identity"]["version"], "the handshake told the version"
        assert told["custom"]["acp"]["prompt"]["text"] is True


@pytest.mark.parametrize("agent", ["claude-agent-acp", "codex-acp"])
def test_the_draft_of_version_2_is_spoken_with_agents_that_have_it(
    agent: str, models: ModelServer, tmp_path: Path
) -> None:
    install_clients()
    names = ("two turns", "allowed", "cancelled")
    with behind_gateway(agent, models.url, tmp_path, protocol=2) as gateway:
        talks = [{"agent": agent, "steps": TALKS[name]} for name in names]
        for name, steps in zip(names, play("agui.mjs", gateway.url, talks), strict=True):
            CHECKS[name](steps)
            for step in steps:
                in_order(step.events)
        told = gateway.client.get(f"/agents/{agent}/capabilities", params={"view": "acp"}).json()
        assert told["protocolVersion"] == 2


@pytest.mark.parametrize("agent", agents(AGENTS))
def test_a_thread_goes_on_after_the_gateway_was_restarted(agent: str, models: ModelServer, tmp_path: Path) -> None:
    with behind_gateway(agent, models.url, tmp_path) as gateway:
        first = run_input("hello")
        said = events_of(gateway.post(agent, first).text)
        assert said[-1]["type"] == "RUN_FINISHED"
        gateway.terminate()
        gateway.start()
        answer = {"id": "a1", "role": "assistant", "content": text_of(said)}
        news = {"id": "u2", "role": "user", "content": "still there?"}
        messages = [*first["messages"], answer, news]
        again = events_of(gateway.post(agent, run_input(threadId=first["threadId"], messages=messages)).text)
        in_order(again)
        assert "still there?" in text_of(again)
        asked = json.dumps(models.requests()[-1]["body"])
        assert "hello" in asked, "the model was given what came before"


@pytest.mark.parametrize("agent", agents(AGENTS))
def test_an_image_reaches_the_model_of_an_agent_that_takes_images(
    agent: str, models: ModelServer, tmp_path: Path
) -> None:
    with behind_gateway(agent, models.url, tmp_path) as gateway:
        told = gateway.client.get(f"/agents/{agent}/capabilities", params={"probe": "1"}, timeout=90).json()
        assert told["multimodal"]["input"]["image"] is True
        source = {"type": "data", "value": PIXEL, "mimeType": "image/png"}
        parts: list[dict[str, Any]] = [{"type": "text", "text": "IMAGE?"}, {"type": "image", "source": source}]
        seen = gateway.run(agent, parts)
        in_order(seen)
        assert "image/png" in text_of(seen) or "1 image" in text_of(seen), text_of(seen)


def test_no_agent_is_left_behind(models: ModelServer, tmp_path: Path) -> None:
    agent = AGENTS[0]
    with behind_gateway(agent, models.url, tmp_path) as gateway:
        gateway.run(agent, "hello")
        assert children(gateway)
        pids = children(gateway)
        gateway.kill()
        gone_within_bound(pids)
    shutil.rmtree(tmp_path, ignore_errors=True)


def children(gateway: Gateway) -> set[int]:
    """Every process below the gateway's."""
    found: set[int] = set()
    waiting = [gateway.pid]
    while waiting:
        pid = waiting.pop()
        for task in Path(f"/proc/{pid}/task").glob("*/children"):
            below = {int(child) for child in task.read_text().split()}
            waiting += below - found
            found |= below
    return found


def gone_within_bound(pids: set[int]) -> None:
    end = time.monotonic() + 15
    while time.monotonic() < end:
        if not any(Path(f"/proc/{pid}").exists() for pid in pids):
            return
        time.sleep(0.05)
    raise AssertionError(f"still there: {[pid for pid in pids if Path(f'/proc/{pid}').exists()]}")
