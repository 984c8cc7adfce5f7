"""Real agents in worktrees: two threads change the same file at once, and the user merges what one of them did."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.behaviour.worktrees.harness import git, make_repository
from tests.fakes.model_server.server import ModelServer
from tests.live.harness import bundled_behind_gateway
from tests.live.selection import agents
from tests.support.gateway import types_of

AGENTS = ("claude", "codex")

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.mark.parametrize("agent", agents(AGENTS, AGENTS))
def test_two_threads_of_a_real_agent_do_not_collide_and_one_is_merged(
    agent: str, models: ModelServer, tmp_path: Path
) -> None:
    work = make_repository(tmp_path / "work")
    props = {"gateway": {"worktree": True, "approvals": "auto"}}

    def change(thread: str) -> list[dict[str, Any]]:
        command = f"SHELL echo {thread} >> notes.txt; git status --short"
        return gateway.run(agent, command, threadId=thread, forwardedProps=props)

    with bundled_behind_gateway(agent, models.url, tmp_path) as gateway:
        gateway.client.timeout = 120
        with ThreadPoolExecutor() as pool:
            first, second = pool.map(change, ("first", "second"))
        assert [types_of(events)[-1] for events in (first, second)] == ["RUN_FINISHED", "RUN_FINISHED"]
        shown = {
            thread: gateway.client.get(f"/agents/{agent}/threads/{thread}/worktree").json()
            for thread in ("first", "second")
        }
        for thread, worktree in shown.items():
            assert Path(worktree["path"], "notes.txt").read_text() == f"one\ntwo\nthree\n{thread}\n"
            assert worktree["dirty"] == [{"path": "notes.txt", "status": "modified"}]
        assert git(work, "status", "--porcelain") == ""
        path = f"/agents/{agent}/threads/first/worktree/merge"
        merged = gateway.client.post(path, json={"commit": True, "message": "By an agent"}).json()
        assert merged["result"] == "fast-forward"
        assert (work / "notes.txt").read_text() == "one\ntwo\nthree\nfirst\n"
        conflict = gateway.client.post(path.replace("first", "second"), json={"commit": True})
        assert (conflict.status_code, conflict.json()["code"]) == (409, "MERGE_CONFLICT")
