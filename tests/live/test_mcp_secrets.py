"""Real agents with an MCP server that a client names: what it learns of the operator, and what others see of it.

The attacks of `tests/attacks/test_keys_in_mcp_servers.py` and `test_secrets_in_process_list.py`.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.drivers.environment import looks_secret
from tests.attacks.mcp_stage import ENV_SECRET, HEADER_SECRET, REMOTE, command_lines, read_environments, write_server
from tests.drivers.mcp_client.servers import remote, serving
from tests.drivers.process_watch import until
from tests.fakes.model_server.server import ModelServer
from tests.live.harness import behind_gateway, bundled_behind_gateway
from tests.live.selection import agents
from tests.support.gateway import events_of, run_input, types_of

CLI = ("claude", "codex", "copilot", "opencode", "pi")
ACP = ("claude-agent-acp", "codex-acp", "gemini-cli", "opencode-acp", "qwen-code")
pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.mark.parametrize("agent", agents((*CLI, *ACP)))
def test_no_key_of_the_operator_reaches_the_server(agent: str, models: ModelServer, tmp_path: Path) -> None:
    server, note = write_server(tmp_path / "work")
    harness = bundled_behind_gateway if agent in CLI else behind_gateway
    with harness(agent, models.url, tmp_path) as gateway:
        props = {"gateway": {"mcpServers": [server]}}
        events = gateway.run(agent, "hello", threadId="spied", forwardedProps=props)
        assert types_of(events)[-1] == "RUN_FINISHED", events[-1]
        until(lambda: len(read_environments(note)) >= 2)  # the agent's instance and the gateway's
        assert ENV_SECRET not in command_lines()
    for environment in read_environments(note):
        assert {name for name in environment if looks_secret(name)} == {"OWN_TOKEN"}
        assert environment["OWN_TOKEN"] == ENV_SECRET


@pytest.mark.parametrize("agent", agents(ACP))
def test_no_header_of_a_server_is_in_the_arguments_of_a_process(
    agent: str, models: ModelServer, tmp_path: Path
) -> None:
    settings = tmp_path / "gateway.toml"
    settings.write_text("allow_private_addresses = true\n")  # the server is on this machine
    with serving("--http") as url, behind_gateway(agent, models.url, tmp_path, config=settings) as gateway:
        server = remote("web", url, authorization=f"Bearer {HEADER_SECRET}")
        body = run_input("hello", forwardedProps={"gateway": {"mcpServers": [server]}})
        response = gateway.client.post(f"/agents/{agent}", json=body)
        shown = command_lines()
        assert HEADER_SECRET not in shown
        if response.status_code == 422:
            assert response.json()["code"] == "MCP_SECRETS_VISIBLE"
            assert agent == "claude-agent-acp"
        else:
            assert events_of(response.text)[-1]["type"] == "RUN_FINISHED", response.text


def test_claude_is_started_without_the_servers_secrets_in_its_arguments(models: ModelServer, tmp_path: Path) -> None:
    settings = tmp_path / "gateway.toml"
    settings.write_text("allow_private_addresses = true\n")  # nobody is at the server's address
    with bundled_behind_gateway("claude", models.url, tmp_path, "--config", str(settings)) as gateway:
        props = {"gateway": {"mcpServers": [REMOTE]}}
        with gateway.stream("claude", "hello", forwardedProps=props) as events:
            next(event for event in events if event["type"] == "TEXT_MESSAGE_CONTENT")
            shown = command_lines()
            assert "--mcp-config" in shown and HEADER_SECRET not in shown
            assert list(events)[-1]["type"] == "RUN_FINISHED"
