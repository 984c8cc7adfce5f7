"""Real agents in the sandbox: they work as usual, see only their part of the home directory, and reach only the model.

The scripted model is on a port of the machine's loopback interface, which the operator's setting `sandbox_hosts` names.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from gateway.catalog.load import bundled, load_file
from gateway.drivers.sandbox.bubblewrap import unusable_reason
from tests.fakes.model_server.server import ModelServer
from tests.live.harness import behind_gateway, bundled_behind_gateway
from tests.live.scenarios import in_order
from tests.live.selection import agents
from tests.support.gateway import events_of, run_input

AGENTS = (
    *("claude", "codex", "gemini", "opencode", "pi", "copilot", "hermes"),
    *("claude-agent-acp", "codex-acp", "gemini-cli", "opencode-acp", "qwen-code", "copilot-cli"),
)
CANARY = "canary-of-the-home-directory"

pytestmark = [
    pytest.mark.live,
    pytest.mark.skipif(unusable_reason() is not None, reason=f"needs bubblewrap: {unusable_reason()}"),
]


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.mark.parametrize("agent", agents(AGENTS))
def test_an_agent_in_the_sandbox_runs_a_tool_and_sees_no_secret(
    agent: str, models: ModelServer, tmp_path: Path
) -> None:
    secret = tmp_path / "home" / "secret.txt"
    secret.parent.mkdir()
    secret.write_text(CANARY)
    flags = ("--sandbox", "bubblewrap", "--sandbox-hosts", urlsplit(models.url).netloc)
    with bundled_behind_gateway(agent, models.url, tmp_path, *flags) as gateway:
        command = f"SHELL cat {secret} {tmp_path}/gateway/gateway.db; touch made.txt"
        body = run_input(command, forwardedProps={"gateway": {"approvals": "auto"}})
        events = events_of(gateway.client.post(f"/agents/{agent}", json=body, timeout=120).text)
        assert events[-1]["type"] == "RUN_FINISHED", (events[-3:], gateway.log.read_text()[-2000:])
        in_order(events)
        assert (tmp_path / "work" / "made.txt").exists(), events
        assert CANARY not in json.dumps(events)
        assert not [request for request in models.requests() if CANARY in json.dumps(request["body"])]
        query = {"thread": body["threadId"]}
        told = gateway.client.get(f"/agents/{agent}/capabilities", params=query).json()
        assert told["execution"]["sandboxed"] is True
        assert told["custom"]["gateway"]["sandbox"]["kind"] == "bubblewrap"


@pytest.mark.parametrize(("agent", "harness"), [("claude", bundled_behind_gateway), ("codex-acp", behind_gateway)])
def test_the_variable_of_these_tests_puts_their_agents_into_the_sandbox(
    agent: str, harness: Callable[..., Any], models: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("AGUI_TEST_SANDBOX", "bubblewrap")
    with harness(agent, models.url, tmp_path) as gateway:
        events = gateway.run(agent, "hello", threadId="t1")
        assert events[-1]["type"] == "RUN_FINISHED", events[-1]
        told = gateway.client.get(f"/agents/{agent}/capabilities", params={"thread": "t1"}).json()
        assert told["custom"]["gateway"]["sandbox"]["kind"] == "bubblewrap"
        own = load_file(bundled() / f"{agent}.toml").sandbox
        assert set(own.home_write) <= set(told["custom"]["gateway"]["sandbox"]["writable"])
