"""Agents that go wrong, each in its own way."""

from __future__ import annotations

import asyncio
import sys
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any

from gateway.events import Custom, TextMessageContent, ToolCallArgs, ToolCallStart, TurnEnded
from gateway.turn import Turn


async def raises_at_once(turn: Turn) -> None:
    raise ValueError("no thank you")


async def raises_mid_message(turn: Turn) -> AsyncIterator[str]:
    yield "so far so "
    raise LookupError("lost the thread")


def raises_in_a_thread(turn: Turn) -> Iterator[str]:
    yield "so far so "
    raise LookupError("lost the thread")


async def raises_after_its_end(turn: Turn) -> AsyncIterator[Any]:
    yield "all said"
    yield TurnEnded(result="done")
    raise ValueError("one thing more")


async def raises_while_it_cleans_up(turn: Turn) -> AsyncIterator[Any]:
    try:
        yield "all said"
        yield {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "result": "done"}
        await asyncio.sleep(3600)
    finally:
        raise ValueError("one thing more")


async def exits(turn: Turn) -> AsyncIterator[str]:
    yield "farewell"
    sys.exit(3)


async def cancels_itself(turn: Turn) -> AsyncIterator[str]:
    yield "a task of mine"
    task = asyncio.ensure_future(asyncio.sleep(3600))  # noqa: TID251 - what an author may write
    task.cancel()
    await task


async def quotes_much(turn: Turn) -> AsyncIterator[str]:
    yield "here it comes"
    raise ValueError("z" * 20_000_000)


async def hangs(turn: Turn) -> AsyncIterator[str]:
    yield "one moment"
    await asyncio.sleep(3600)


async def hangs_before_a_word(turn: Turn) -> None:
    await asyncio.sleep(3600)


def hangs_in_a_thread(turn: Turn) -> Iterator[str]:
    yield "one moment"
    time.sleep(3600)


def blocks(turn: Turn) -> Iterator[str]:
    yield "one moment"
    time.sleep(3600)


async def swallows(turn: Turn) -> AsyncIterator[str]:
    yield "cannot stop me"
    while True:
        try:
            await asyncio.sleep(3600)
        except asyncio.CancelledError:
            continue


async def swallows_and_talks(turn: Turn) -> AsyncIterator[str]:
    yield "cannot stop me"
    try:
        await asyncio.sleep(3600)
    except asyncio.CancelledError:
        while True:
            yield "and another thing "


async def talks_for_long(turn: Turn) -> AsyncIterator[str]:
    for _ in range(2000):
        yield "and on "
        await asyncio.sleep(0.01)


async def yields_a_number(turn: Turn) -> AsyncIterator[Any]:
    yield "one, two, "
    yield 3


async def yields_the_unknown(turn: Turn) -> AsyncIterator[Any]:
    yield {"type": "OTTER_SWAM", "far": [1, None]}
    yield {"type": None}
    yield "after it"


async def yields_the_malformed(turn: Turn) -> AsyncIterator[Any]:
    yield "before it"
    yield {"type": "STATE_DELTA", "delta": [{"op": "add", "path": "/a", "value": 1}, {"op": "add", "path": "/b"}]}
    yield "after it"


async def goes_on_after_its_end(turn: Turn) -> AsyncIterator[Any]:
    yield "before it"
    yield {"type": "RUN_FINISHED", "threadId": "t", "runId": "r", "result": {"n": 1}}
    yield "after it"
    yield {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}


async def mixes_up_the_order(turn: Turn) -> AsyncIterator[Any]:
    yield {"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "no start"}
    yield {"type": "TOOL_CALL_ARGS", "toolCallId": "c", "delta": "no call"}
    yield {"type": "TEXT_MESSAGE_END", "messageId": "m"}
    yield {"type": "TEXT_MESSAGE_END", "messageId": "m"}
    yield {"type": "STEP_FINISHED", "stepName": "never begun"}
    yield {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"}
    yield {"type": "SUBAGENT_FINISHED", "subagentRunId": "nobody"}


async def says_odd_values(turn: Turn) -> AsyncIterator[Any]:
    yield Custom("house", [float("nan"), float("inf"), 10**30, "half \ud83d"])
    yield {"type": "CUSTOM", "name": "native", "value": [float("nan"), float("-inf"), -(10**30), "half \ude00"]}
    yield TextMessageContent("cut \ud83d")
    yield TextMessageContent("\ude00 together, alone \ud83d")


async def yields_no_json(turn: Turn) -> AsyncIterator[Any]:
    yield "before it"
    yield ToolCallStart("c", "f", metadata={"k": object()})
    yield ToolCallArgs("c", "{}")


async def yields_wrong_types(turn: Turn) -> AsyncIterator[Any]:
    yield "before it"
    yield TextMessageContent(b"bytes")  # type: ignore[arg-type] # that is the fault
