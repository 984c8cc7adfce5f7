"""A real gateway with two principals: `greedy`, who takes all it can get, and `other`, who must not notice."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx

from tests.support.gateway import ANSWER_LIMIT, Gateway, run_input
from tests.web.agent_folder import write_agent
from tests.web.problem import problem_in

GREEDY = {"authorization": "Bearer greedy-0123456789abcdef"}
OTHER = {"authorization": "Bearer other-0123456789abcdef"}
TOKENS = "greedy:greedy-0123456789abcdef\nother:other-0123456789abcdef\n"
SSE = {"accept": "text/event-stream"}

WAITING_AGENT = """
import asyncio
from gateway.events import TextMessageContent

async def agent(turn):
    yield TextMessageContent("hello ")
    if turn.text == "wait":
        await asyncio.Event().wait()
"""


def open_gateway(home: Path, **settings: Any) -> Gateway:
    """Not started. `settings`: by the names that they have in `Settings`. It has the agent `patient`: its turn on the
    message `wait` lasts until it is cancelled."""
    home.mkdir(parents=True, exist_ok=True)
    tokens = home / "tokens.txt"
    tokens.write_text(TOKENS, "utf-8")
    tokens.chmod(0o600)
    workspace = home / "workspace"
    workspace.mkdir(exist_ok=True)
    write_agent(home / "agents", "patient", WAITING_AGENT, more="stall_timeout = 600")
    env = {f"AGUI_GATEWAY_{name.upper()}": str(value) for name, value in settings.items()}
    folders = ("--agents", str(home / "agents"), "--workspace", str(workspace))
    return Gateway(home, "--token-file", str(tokens), *folders, env=env)


@contextmanager
def waiting_runs(gateway: Gateway, count: int, headers: dict[str, str]) -> Iterator[list[str]]:
    """So many live runs of the agent `patient`; their threads."""
    with ExitStack() as stack:
        threads = []
        lines = []  # an iterator that is collected closes its connection
        for _ in range(count):
            body = run_input("wait")
            stream = gateway.client.stream("POST", "/agents/patient", json=body, headers=headers)
            response = stack.enter_context(stream)
            assert response.status_code == 200, response.read()
            lines.append(response.iter_lines())
            next(lines[-1])
            threads.append(body["threadId"])
        yield threads


def run(gateway: Gateway, headers: dict[str, str], text: str = "hello", agent: str = "patient") -> httpx.Response:
    return gateway.client.post(f"/agents/{agent}", json=run_input(text), headers=headers)


def assert_limit(response: httpx.Response, limit: str, value: float) -> dict[str, Any]:
    """A refusal by a limit of the principal: what, whose, how much, when to try again."""
    problem = problem_in(response, 429, "LIMIT_REACHED")
    assert (problem["limit"], problem["value"]) == (limit, value)
    assert int(response.headers["retry-after"]) == problem["retryAfter"] >= 1
    assert limit in problem["detail"]
    return problem


def accepted(send: Callable[[], httpx.Response]) -> httpx.Response:
    """The first response that is no refusal by a limit: the gateway may notice a closed connection a moment later."""
    until = time.monotonic() + ANSWER_LIMIT
    while (response := send()).status_code == 429 and time.monotonic() < until:
        time.sleep(0.02)
    return response


def seconds_of(gateway: Gateway, headers: dict[str, str], count: int = 5) -> float:
    """How long a small run takes: the median of some."""
    times = []
    for _ in range(count):
        started = time.perf_counter()
        assert run(gateway, headers).status_code == 200
        times.append(time.perf_counter() - started)
    return sorted(times)[count // 2]
