"""How an agent that is a function is stopped, whether it likes it or not."""

from __future__ import annotations

import asyncio
import inspect
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from contextlib import aclosing
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from gateway.drivers.python import driver
from gateway.errors import AgentFault
from gateway.events import TextMessageContent
from gateway.turn import Turn
from tests.drivers.scripted import INTERRUPT, LIMIT, live, rest

pytestmark = pytest.mark.anyio


async def forever() -> None:
    await anyio.sleep_forever()


async def test_a_cancelled_agent_may_clean_up_and_yield_once_more() -> None:
    async def agent(turn: Turn) -> AsyncIterator[str]:
        yield "a"
        try:
            await forever()
        except asyncio.CancelledError:
            await anyio.lowlevel.checkpoint()  # it can wait for something while it does
            yield "goodbye"
            raise

    async with live(agent) as turn:
        assert await turn.next() == [TextMessageContent("a")]
        await turn.cancel()
        assert await rest(turn) == [TextMessageContent("goodbye")]


async def test_a_turn_that_is_stopped_before_it_began_never_begins() -> None:
    called: list[Turn] = []
    async with live(called.append) as turn:
        await turn.cancel()
        assert await rest(turn) == []
    assert not called


async def test_a_turn_that_waits_for_an_answer_can_be_stopped() -> None:
    closed = anyio.Event()

    async def agent(turn: Turn) -> AsyncIterator[Any]:
        try:
            yield INTERRUPT
        finally:
            closed.set()

    async with live(agent) as turn:
        assert await turn.next() == [INTERRUPT]
        await turn.cancel()
        assert await rest(turn) == []
    assert closed.is_set()


async def test_a_generator_may_yield_inside_a_task_group_of_its_own(caplog: pytest.LogCaptureFixture) -> None:
    """As everybody does who holds a connection open with an async context manager."""

    async def agent(turn: Turn) -> AsyncIterator[Any]:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(forever)
            for _ in range(10_000):
                yield "a"

    async with live(agent) as turn:
        await turn.next()
        await anyio.wait_all_tasks_blocked()  # it waits for room, at a yield
    assert not caplog.records
    await anyio.lowlevel.checkpoint()  # this task's own scopes are whole


async def test_a_failed_task_of_the_agent_is_an_error() -> None:
    async def fails() -> None:
        raise ValueError("inside")

    async def agent(turn: Turn) -> AsyncIterator[Any]:
        async with anyio.create_task_group() as tasks:
            yield "a"
            tasks.start_soon(fails)
            await forever()

    async with live(agent) as turn:
        assert await turn.next() == [TextMessageContent("a")]
        with pytest.raises(AgentFault, match="ExceptionGroup"):
            await turn.next()


async def swallows(turn: Turn) -> AsyncGenerator[str, None]:
    yield "a"
    while True:
        try:
            await forever()
        except asyncio.CancelledError:
            continue


async def swallows_everything(turn: Turn) -> None:
    while True:
        try:
            await forever()
        except BaseException:
            continue


async def swallows_and_talks(turn: Turn) -> AsyncIterator[str]:
    yield "a"
    try:
        await forever()
    except asyncio.CancelledError:
        while True:
            yield "and another thing"


async def swallows_in_a_coroutine(turn: Turn) -> None:
    async with aclosing(swallows(turn)) as inner:
        async for _ in inner:
            pass


@pytest.mark.parametrize(
    "agent",
    [
        swallows,
        swallows_and_talks,
        swallows_in_a_coroutine,
        # It does not even let itself be collected; Python says so, and has it anyway.
        pytest.param(
            swallows_everything, marks=pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
        ),
    ],
)
async def test_an_agent_that_goes_on_though_it_was_cancelled_is_let_go(
    agent: Any, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(driver, "CLOSE_TIMEOUT_SECONDS", 0.05)
    before = asyncio.all_tasks()
    async with live(agent) as turn:
        if inspect.isasyncgenfunction(agent):
            assert await turn.next() == [TextMessageContent("a")]
        await anyio.wait_all_tasks_blocked()
        await turn.aclose()
        assert await turn.next() == []
    assert asyncio.all_tasks() == before, "nothing of it is left to spin, or to be waited for at exit"
    assert caplog.messages[0] == "run r: the agent goes on after its cancellation; it is abandoned"


async def test_a_thread_that_blocks_for_ever_delays_no_other() -> None:
    go_on = threading.Event()

    def agent(turn: Turn) -> Iterator[str]:
        yield "a"
        go_on.wait(LIMIT)
        yield "never read"

    async with live(agent) as turn:
        assert await turn.next() == [TextMessageContent("a")]
        await turn.cancel()
        assert await rest(turn) == []
    assert all(thread.daemon for thread in threading.enumerate() if thread.name == "agent")
    go_on.set()


async def test_a_turn_may_be_closed_twice_and_after_its_end() -> None:
    async with live(lambda turn: "a") as turn:
        await rest(turn)
        await turn.aclose()
        await turn.aclose()
