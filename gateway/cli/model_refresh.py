"""`agui-gateway models refresh`: asks agents which models they have.

In: a client of a gateway, and the agents' ids. Out: one result for each agent. It calls the gateway's route for one
agent, so that a terminal can show how far it is. Never: an exception because one agent cannot be asked.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import httpx

from gateway.cli.chat.client import CONNECT_TIMEOUT_SECONDS, check_response, translate_errors
from gateway.cli.output.terminal import console
from gateway.errors import GatewayError

REFRESH_TIMEOUT_SECONDS = 120.0
"""Longer than the gateway itself waits for an agent, so that its error arrives."""
MAX_PARALLEL = 3
"""Agents that are asked at once: each may be a process of some hundred megabytes."""

OnResult = Callable[[int], None]
"""Called with the number of agents that have answered."""


@dataclass(frozen=True, slots=True)
class RefreshResult:
    agent: str
    count: int | None = None
    """How many models it lists; None: it could not be asked."""
    reason: str = ""
    """Why it could not be asked; of a missing program how to install it."""
    code: str | None = None

    def to_json(self) -> dict[str, Any]:
        """As `POST /models:refresh` has it."""
        known = {"agent": self.agent, "updated": self.count}
        return known if self.count is not None else {**known, "code": self.code, "detail": self.reason}

    def to_row(self) -> tuple[str, str, str]:
        return self.agent, "" if self.count is None else str(self.count), self.reason


def list_agents(client: httpx.Client) -> list[str]:
    with translate_errors():
        response = client.get("/agents")
    check_response(response)
    return [agent["id"] for agent in response.json()["agents"]]


def refresh_models(client: httpx.Client, agents: Sequence[str], on_result: OnResult) -> list[RefreshResult]:
    """In the order of the agents."""
    results: dict[str, RefreshResult] = {}
    pool = ThreadPoolExecutor(MAX_PARALLEL)
    try:
        tasks = {pool.submit(_refresh_one, client, agent): agent for agent in agents}
        for task in as_completed(tasks):
            results[tasks[task]] = task.result()
            on_result(len(results))
    finally:
        pool.shutdown(wait=False, cancel_futures=True)  # after Ctrl-C no agent is waited for
    return [results[agent] for agent in agents]


def _refresh_one(client: httpx.Client, agent: str) -> RefreshResult:
    timeout = httpx.Timeout(REFRESH_TIMEOUT_SECONDS, connect=CONNECT_TIMEOUT_SECONDS)
    with translate_errors():
        response = client.post(f"/agents/{quote(agent, safe='')}/models:refresh", timeout=timeout)
    try:
        check_response(response)
    except GatewayError as exc:
        hint = response.json()["availability"].get("hint") if exc.code == "AGENT_NOT_INSTALLED" else None
        return RefreshResult(agent, None, f"not installed: {hint}" if hint else exc.detail, exc.code)
    return RefreshResult(agent, len(response.json()["models"]))


@contextmanager
def show_progress(total: int) -> Iterator[OnResult]:
    """A spinner with the number of agents that have answered; in a pipe nothing."""
    if not sys.stdout.isatty():
        yield lambda count: None
        return
    with console().status("asking for models") as status:
        yield lambda count: status.update(f"asking for models: {count} of {total} agents have answered")
