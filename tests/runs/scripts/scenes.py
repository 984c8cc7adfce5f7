"""Agents that do what `forwardedProps` says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

from ag_ui.core import EventType, TextMessageChunkEvent, ToolCallChunkEvent

from gateway.turn import Turn

LOOK = 0.01


def _exists(file: str) -> bool:
    return Path(file).exists()


async def counts(turn: Turn) -> AsyncIterator[str]:
    """`n` numbers, with a pause after each."""
    for number in range(turn.forwarded_props["n"]):
        yield f"{number} "
        await asyncio.sleep(0)


def counts_in_a_thread(turn: Turn) -> Iterator[str]:
    for number in range(turn.forwarded_props["n"]):
        yield f"{number} "


async def trickles(turn: Turn) -> AsyncIterator[str]:
    for number in range(20):
        yield f"{number} "
        await asyncio.sleep(0.005)


async def trickles_and_breaks(turn: Turn) -> AsyncIterator[str]:
    yield "said before "
    await asyncio.sleep(0.005)
    yield "it broke"
    raise ValueError("broken")


async def waits(turn: Turn) -> AsyncIterator[str]:
    """Until the file is there."""
    yield "begun "
    while True:
        if _exists(turn.forwarded_props["file"]):
            break
        await asyncio.sleep(LOOK)
    yield "done"


async def talks(turn: Turn) -> AsyncIterator[str]:
    """Without an end."""
    while True:
        yield "word "
        await asyncio.sleep(0.001)


async def roars(turn: Turn) -> AsyncIterator[str]:
    """Without an end, and more than any buffer between here and the client can hold."""
    while True:
        yield "word".ljust(10_000, ".")
        await asyncio.sleep(0.001)


async def floods(turn: Turn) -> AsyncIterator[str]:
    """`n` deltas of `size` bytes, as fast as they are taken."""
    for number in range(turn.forwarded_props["n"]):
        yield f"{number:08}".ljust(turn.forwarded_props["size"], ".")


async def speaks_ag_ui(turn: Turn) -> AsyncIterator[Any]:
    for delta in ("a", "b"):
        yield TextMessageChunkEvent(type=EventType.TEXT_MESSAGE_CHUNK, message_id="m", delta=delta)
    yield ToolCallChunkEvent(type=EventType.TOOL_CALL_CHUNK, tool_call_id="c", tool_call_name="f", delta="{")
    yield {"type": "TOOL_CALL_CHUNK", "delta": "}"}
    yield {"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c", "content": "given"}
