"""Scenes with text only: reasoning, a long answer, a slow answer."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from itertools import cycle, islice

import anyio

from gateway import Event, TextMessageContent, Turn

from .streams import say, think_aloud

DEFAULT_LONG_PIECES = 2_000
MAX_LONG_PIECES = 200_000
DEFAULT_SLOW_PIECES = 10
MAX_SLOW_PIECES = 600
SLOW_PAUSE_SECONDS = 0.3
"""Between two pieces: slow enough to press Stop, or to disconnect and come back."""
SLOW_TEXT = "Slow and steady: stop me, or leave and come back, and not a word is lost."


async def think(turn: Turn) -> AsyncIterator[Event]:
    async for event in think_aloud(
        "They would like to see me think. A frontend may show this folded away, in grey, or not at all, "
        "so nothing important should be only here. Now for the answer."
    ):
        yield event
    async for event in say("I thought about it before I answered: what you saw stream in first were reasoning events."):
        yield event


async def long(turn: Turn) -> AsyncIterator[Event]:
    """Numbers, so that a missing piece can be seen. No pause: the gateway sets the pace."""
    for number in range(1, read_count(turn.text, "long", DEFAULT_LONG_PIECES, MAX_LONG_PIECES) + 1):
        yield TextMessageContent(f"{number} ")


async def slow(turn: Turn) -> AsyncIterator[Event]:
    count = read_count(turn.text, "slow", DEFAULT_SLOW_PIECES, MAX_SLOW_PIECES)
    for number, piece in enumerate(islice(cycle(SLOW_TEXT.split()), count)):
        if number:
            await anyio.sleep(SLOW_PAUSE_SECONDS)
        yield TextMessageContent(f"{piece} ")


def read_count(text: str, keyword: str, default: int, maximum: int) -> int:
    """The number after the keyword (`long 500`), brought into the range from 1 to `maximum`."""
    match = re.search(rf"\b{keyword}\s+0*([0-9]+)", text.lower())
    if match is None:
        return default
    digits = match[1]
    return maximum if len(digits) > len(str(maximum)) else min(max(int(digits), 1), maximum)
