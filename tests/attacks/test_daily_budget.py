"""One principal spends the operator's money.

Incident: every run goes to a model that somebody pays for, and nothing bounded what one client could use in a day.
Attack: `greedy` runs until it is over its tokens, or its dollars; the gateway is restarted, in case that resets it.
Promise: the next run is refused (429) by every route until midnight UTC, after a restart too; `other` is not.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import connect

from tests.attacks.greedy_principals import GREEDY, OTHER, assert_limit, open_gateway, run
from tests.support.gateway import Gateway, events_of, run_input
from tests.web.agent_folder import write_agent

SPENDING_AGENT = """
from gateway.events import TextMessageContent, TokenUsage

async def agent(turn):
    yield TextMessageContent("done")
    yield TokenUsage(model=None if turn.text == "unnamed" else turn.text, input_tokens=600_000, output_tokens=400_000)
    if turn.text == "fail":
        raise RuntimeError("after the tokens were used")
"""
MODELS = """
[[models]]
id = "priced"
default = true
price = { input = 1, output = 2 }

[[models]]
id = "unpriced"
"""
DAY_SECONDS = 86400
SECONDS = 20.0


def gateway_with(home: Path, **settings: Any) -> Gateway:
    write_agent(home / "agents", "spender", SPENDING_AGENT, tables=MODELS)
    return open_gateway(home, **settings)


def spend(gateway: Gateway, text: str, headers: dict[str, str] = GREEDY) -> dict[str, Any]:
    response = run(gateway, headers, text, "spender")
    assert response.status_code == 200, response.text
    return events_of(response.text)[-1]


def test_tokens_of_a_day(tmp_path: Path) -> None:
    with gateway_with(tmp_path, max_tokens_per_day=2_000_000) as gateway:
        spend(gateway, "unpriced")
        assert spend(gateway, "fail")["type"] == "RUN_ERROR"  # what a failed run has used counts too
        problem = assert_limit(run(gateway, GREEDY, agent="spender"), "max_tokens_per_day", 2_000_000)
        assert 1 <= problem["retryAfter"] <= DAY_SECONDS
        assert "midnight" in problem["detail"]
        response = gateway.client.post("/copilotkit/agent/spender/run", json=run_input(), headers=GREEDY)
        assert response.json()["limit"] == "max_tokens_per_day"
        with connect(gateway.url.replace("http", "ws") + "/agents/spender/socket", additional_headers=GREEDY) as socket:
            socket.send(json.dumps({"type": "run", "input": run_input()}))
            assert json.loads(socket.recv(SECONDS))["problem"]["limit"] == "max_tokens_per_day"
        spend(gateway, "unpriced", OTHER)
        gateway.kill()
    with gateway_with(tmp_path, max_tokens_per_day=2_000_000) as gateway:
        assert_limit(run(gateway, GREEDY, agent="spender"), "max_tokens_per_day", 2_000_000)
        spend(gateway, "unpriced", OTHER)
    with gateway_with(tmp_path) as gateway:  # the operator takes the limit back
        spend(gateway, "unpriced")


@pytest.mark.parametrize("model", ["priced", "unnamed"])
def test_cost_of_a_day(tmp_path: Path, model: str) -> None:
    """600,000 tokens at 1 dollar and 400,000 at 2 are 1.40 dollars. An entry without a model is the default's."""
    with gateway_with(tmp_path, max_cost_per_day=2.5) as gateway:
        spend(gateway, model)
        spend(gateway, model)
        problem = assert_limit(run(gateway, GREEDY, agent="spender"), "max_cost_per_day", 2.5)
        assert "2.80 of 2.5 US dollars" in problem["detail"]
        spend(gateway, model, OTHER)
    with gateway_with(tmp_path, max_cost_per_day=2.5) as gateway:
        assert_limit(run(gateway, GREEDY, agent="spender"), "max_cost_per_day", 2.5)


def test_tokens_without_a_price_cost_nothing_but_count(tmp_path: Path) -> None:
    with gateway_with(tmp_path, max_cost_per_day=0.01, max_tokens_per_day=1_500_000) as gateway:
        spend(gateway, "unpriced")
        spend(gateway, "unpriced")
        assert_limit(run(gateway, GREEDY, agent="spender"), "max_tokens_per_day", 1_500_000)
