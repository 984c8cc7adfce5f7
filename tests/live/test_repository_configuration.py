"""The repository of an attacker, opened with each real agent through the gateway.

Incident class: a cloned repository runs code at the first turn (Gemini CLI headless trust, Claude Code CVE-2025-59536,
opencode CVE-2026-22812). The attack: one repository with every vendor's project files, each of which creates its own
canary. The promise: in a folder without trust no canary is created, and nothing is written into the user's own
configuration; in a trusted one only those whose file and command the question had listed. Canaries are in the
workspace, where an agent may write in a sandbox too: trust has to keep this promise alone.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.catalog.load import bundled, load_file
from tests.attacks.repository import Repository, build_repository
from tests.fakes.model_server.server import ModelServer
from tests.live.harness import bundled_behind_gateway
from tests.live.selection import LARGE, agents
from tests.support.gateway import Gateway, text_of

AGENTS = (
    *("claude", "claude-agent-acp", "codex", "codex-acp", "gemini", "gemini-cli", "opencode", "opencode-acp"),
    *("qwen-code", "copilot", "copilot-cli", "pi", "hermes", *LARGE),
)

RUNS_NOTHING = ("hermes",)
"""It loads a project's plugins only with a variable of the user's."""

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def ask(gateway: Gateway, agent: str, thread: str) -> dict[str, Any]:
    """The question of the first run."""
    last = gateway.run(agent, "hello", threadId=thread)[-1]
    assert last["type"] == "RUN_FINISHED", last
    [interrupt] = last["outcome"]["interrupts"]
    assert interrupt["reason"] == "gateway:workspace_trust"
    question: dict[str, Any] = interrupt
    return question


def answer(gateway: Gateway, agent: str, thread: str, question: dict[str, Any], option: str) -> list[dict[str, Any]]:
    entry = {"interruptId": question["id"], "status": "resolved", "payload": {"optionId": option}}
    return gateway.run(agent, "hello", threadId=thread, messages=[], resume=[entry])


def shown_vectors(repository: Repository, question: dict[str, Any]) -> set[str]:
    """The vectors whose command the question lists."""
    [folder] = question["metadata"]["trust"]["folders"]
    texts = [item["text"] for item in folder["configuration"]]
    return {vector for vector in repository.files if any(f"{repository.canaries / vector}" in text for text in texts)}


def codex_config(home: Path) -> bytes | None:
    path = home / "home" / ".codex" / "config.toml"
    return path.read_bytes() if path.exists() else None


@pytest.mark.parametrize("agent", agents(AGENTS))
def test_an_untrusted_repository_runs_nothing(agent: str, models: ModelServer, tmp_path: Path) -> None:
    repository = build_repository(tmp_path / "work", tmp_path / "work" / "canaries")
    with bundled_behind_gateway(agent, models.url, tmp_path, trust=False) as gateway:
        before = codex_config(tmp_path)
        question = ask(gateway, agent, "t")
        assert repository.touched() == set()
        events = answer(gateway, agent, "t", question, "reject_once")
        again = gateway.run(agent, "hello", threadId="t")
        gateway.terminate()
    assert repository.touched() == set()
    assert codex_config(tmp_path) == before
    if load_file(bundled() / f"{agent}.toml").trust.untrusted_start == "restricted":
        assert events[-1]["type"] == again[-1]["type"] == "RUN_FINISHED", (events[-1], again[-1])
        assert text_of(events)
    else:
        assert events[-1]["code"] == again[-1]["code"] == "WORKSPACE_UNTRUSTED"


@pytest.mark.parametrize("option", ["trust_once", "trust_always"])
@pytest.mark.parametrize("agent", agents(AGENTS))
def test_a_trusted_repository_runs_only_what_was_shown(
    agent: str, option: str, models: ModelServer, tmp_path: Path
) -> None:
    repository = build_repository(tmp_path / "work", tmp_path / "work" / "canaries")
    with bundled_behind_gateway(agent, models.url, tmp_path, trust=False) as gateway:
        before = codex_config(tmp_path)
        question = ask(gateway, agent, "t")
        assert repository.touched() == set()
        events = answer(gateway, agent, "t", question, option)
        gateway.terminate()
    print(agent, option, sorted(repository.touched()), events[-1])
    assert events[-1]["type"] == "RUN_FINISHED"
    assert repository.touched() or agent in RUNS_NOTHING  # else the other test would prove nothing
    assert repository.touched() <= shown_vectors(repository, question)
    assert codex_config(tmp_path) == before
