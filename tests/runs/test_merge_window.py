"""How long a delta waits for others: as the run asks, and longer where its principal has many live runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from uuid import uuid4

import anyio
import pytest

from gateway.agui.outbound import Outbound
from gateway.events import Event, TextMessageContent, ToolCallStart, TurnEnded
from gateway.limits import RUNS, PrincipalLimits
from gateway.runs.admission import MAX_MERGE_SECONDS, MERGE_SECONDS_PER_RUN, UNMERGED_RUNS, Admission, _spread
from gateway.runs.log import Log
from gateway.runs.run import Run, RunTimeouts
from gateway.settings import Settings
from gateway.store.memory import MemoryStore
from gateway.turn import Answer, Turn
from tests.runs.test_log import RECORD

pytestmark = pytest.mark.anyio
ENDLESS = 3600.0
"""A window that no test waits for."""


class Scripted:
    """A turn that has these batches, each at once; then it says nothing until it is cancelled."""

    def __init__(self, batches: Sequence[Sequence[Event]]) -> None:
        self._batches = [list(batch) for batch in batches]

    async def next(self) -> list[Event]:
        if not self._batches:
            await anyio.sleep_forever()
        return self._batches.pop(0)

    async def answer(self, answers: Mapping[str, Answer]) -> None: ...

    async def steer(self, message_id: str, text: str) -> bool:
        return False

    async def cancel(self) -> None: ...

    async def aclose(self) -> None: ...


async def chunks_of(batches: Sequence[Sequence[Event]], window: float, count: int) -> list[list[str]]:
    """The types of the first chunks of a run's log, after RUN_STARTED."""
    store = MemoryStore()
    await store.start()
    await store.begin(RECORD)
    log = Log(RECORD.key, store, 10**6, 10**9)
    run = Run(RECORD, Turn("t", "r"), Outbound("t", "r", "key"), log, RunTimeouts(60, 60, 1), lambda: window)
    await run.write_start(None)
    reader, found = log.follow(after=1), list[list[str]]()
    with anyio.fail_after(10):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run.drive, Scripted(batches), {})
            while len(found) < count:
                found += [[event["type"] for event in chunk.events or ()] for chunk in await reader.next()]
            tasks.cancel_scope.cancel()
    return found


FIRST, NEXT = [TextMessageContent("a")], [TextMessageContent("b")]


async def test_the_first_words_of_a_run_are_sent_at_once() -> None:
    assert await chunks_of([FIRST, NEXT], ENDLESS, 1) == [["TEXT_MESSAGE_START", "TEXT_MESSAGE_CONTENT"]]


async def test_later_words_are_sent_together() -> None:
    found = await chunks_of([FIRST, NEXT, NEXT, [TurnEnded("end_turn")]], ENDLESS, 2)
    assert found[1] == ["TEXT_MESSAGE_CONTENT"]


async def test_words_do_not_keep_what_follows_them_waiting() -> None:
    call = [ToolCallStart("c1", "run")]
    found = await chunks_of([FIRST, NEXT, call], ENDLESS, 2)
    assert found[1][-1] == "TOOL_CALL_START"


async def test_without_a_window_every_batch_is_sent_by_itself() -> None:
    assert len(await chunks_of([FIRST, NEXT, NEXT], 0.0, 3)) == 3


@pytest.mark.parametrize(
    ("runs", "own", "seconds"),
    [
        (1, 0.0, 0.0),
        (UNMERGED_RUNS, 0.0, 0.0),
        (UNMERGED_RUNS + 10, 0.0, 10 * MERGE_SECONDS_PER_RUN),
        (UNMERGED_RUNS + 10, 0.1, 0.1),
        (2000, 0.0, MAX_MERGE_SECONDS),
    ],
)
def test_the_window_grows_with_the_live_runs_of_the_principal(runs: int, own: float, seconds: float) -> None:
    settings = Settings(max_runs=10_000, max_runs_per_principal=10_000)
    limits = PrincipalLimits(settings)
    admission = Admission(settings, MemoryStore(), limits)
    limits.acquire(RUNS, "greedy", runs)
    assert admission._merge_window("greedy", own, 1.0) == pytest.approx(seconds)
    assert admission._merge_window("other", 0.0, 1.0) == 0.0


def test_runs_of_one_principal_have_windows_of_different_lengths() -> None:
    factors = {_spread(uuid4().hex) for _ in range(100)}
    assert len(factors) > 50
    assert all(0.5 <= factor <= 1 for factor in (*factors, _spread("0" * 32), _spread("f" * 32)))
