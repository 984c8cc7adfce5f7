"""What ACP agents cost the gateway in memory, as the system counts it."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.behaviour.acp.harness import Stage, Talk
from tests.bench.memory import settled
from tests.support.gateway import text_of

CHUNKS = 20_000
RUNS = 30
GROWTH_MB = 12.0
SESSIONS = 200
SESSION_KB = 36.0


@pytest.fixture
def lean(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    with Stage(tmp_path_factory.mktemp("lean")).agent("plain", acp={"drain_seconds": 0}) as stage:
        yield stage


def test_memory_is_flat_however_much_agents_say(lean: Stage) -> None:
    talk, seen = Talk(lean), {}
    for number in range(1, RUNS + 1):
        assert len(text_of(talk.say(f"many {CHUNKS}", messages=question(number)))) == 5 * CHUNKS
        if number in (10, RUNS):
            seen[number] = settled(lean.pid) / 1024
    assert seen[RUNS] - seen[10] < GROWTH_MB


def question(number: int) -> list[dict[str, str]]:
    """Only what is new, for the conversation would grow with every run."""
    return [{"id": f"m{number}", "role": "user", "content": f"many {CHUNKS}"}]


def test_an_idle_session_costs_little(lean: Stage) -> None:
    """The first ones are not counted: they bring in what all of them use."""
    open_sessions(lean, SESSIONS // 2)
    before = settled(lean.pid)
    open_sessions(lean, SESSIONS)
    assert (settled(lean.pid) - before) / SESSIONS < SESSION_KB
    assert len(lean.received("plain", method="initialize")) == 1


def open_sessions(stage: Stage, count: int) -> None:
    with ThreadPoolExecutor(4) as pool:
        list(pool.map(lambda _: Talk(stage).say("hello"), range(count)))
