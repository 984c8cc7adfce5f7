"""`?probe=1` and `models:refresh` wait for an agent as long as their client does."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest

from tests.behaviour.acp.harness import Stage
from tests.runs.harness import eventually

SLOW = 2.0


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    stage = Stage(tmp_path_factory.mktemp("leaving"))
    stage.agent("never", "--never-initialize", acp={"start_timeout": 300})
    stage.agent("slow", f"--slow-start={SLOW}")
    with stage:
        yield stage


def leave(stage: Stage, path: str, after: float) -> None:
    with pytest.raises(httpx.ReadTimeout), httpx.Client(base_url=stage.url, timeout=after) as client:
        client.get(path)


def test_a_client_that_disconnects_ends_the_start(gateway: Stage) -> None:
    with ThreadPoolExecutor() as pool:
        left = pool.submit(leave, gateway, "/agents/never/capabilities?probe=1", 2.0)
        assert eventually(lambda: gateway.processes("never"))
        left.result()
    eventually(lambda: not gateway.processes("never"))


def test_a_client_that_stays_is_answered_though_another_left(gateway: Stage) -> None:
    path = "/agents/slow/capabilities?probe=1"
    with ThreadPoolExecutor() as pool:
        left = pool.submit(leave, gateway, path, SLOW / 4)
        stayed = pool.submit(gateway.asks, path)
        left.result()
        assert stayed.result()["custom"]["acp"]["loadSession"] is True
    assert len(gateway.received("slow", method="initialize")) == 1
