"""`tools.items` of real agents: tools of MCP servers have the names that the model sees."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.drivers.process_watch import until
from tests.fakes.model_server.server import ModelServer
from tests.live.harness import bundled_behind_gateway, mcp_server_in
from tests.live.record_tools import offered_tools
from tests.live.selection import agents

AGENTS = ("claude", "copilot", "fast-agent", "gemini", "opencode")
"""Those that show their model the tools of a server at once, without a search."""

pytestmark = pytest.mark.live


@pytest.mark.parametrize("agent", agents(AGENTS, {"claude", "opencode"}))
def test_a_tool_of_an_mcp_server_has_the_name_that_the_model_sees(agent: str, tmp_path: Path) -> None:
    with ModelServer() as models, bundled_behind_gateway(agent, models.url, tmp_path) as gateway:
        gateway.client.timeout = 120.0
        server = mcp_server_in(tmp_path / "work")
        gateway.run(agent, "hello", threadId="t", forwardedProps={"gateway": {"mcpServers": [server]}})
        offered = {name for name in offered_tools(models.requests()) if name.endswith("say")}
        assert len(offered) == 1

        def listed() -> set[str]:
            snapshot: dict[str, Any] = gateway.client.get(f"/agents/{agent}/capabilities?thread=t").json()
            return {item["name"] for item in snapshot["tools"].get("items", ()) if item["name"].endswith("say")}

        until(lambda: listed() == offered)
