"""Scenes of nothing but words: thinking aloud, much at once, little by little."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from itertools import cycle, islice

import anyio

from gateway.events import Event, TextMessageContent
from gateway.turn import Turn

from .voice import ponder, say

LONG, LONGEST = 2_000, 200_000
SLOW, SLOWEST = 10, 600
SLOW_PAUSE = 0.3
"""Seconds between two words: slow enough to press stop, or to pull the plug and come back."""
SLOW_TEXT = "Slow and steady: stop me, or leave and come back, and not a word is lost."


async def think(turn: Turn) -> AsyncIterator[Event]:
    async for event in ponder(
        "They would like to see me think. A frontend may show this folded away, in grey, or not at all, "
        "so nothing that matters should stand here alone. Now for the answer."
    ):
        yield event
    async for event in say("I thought about it before I answered: what you saw stream in first were reasoning events."):
        yield event


async def long(turn: Turn) -> AsyncIterator[Event]:
    """Numbers, so that anyone can see that none is missing. No pause: the gateway sets the pace."""
    for number in range(1, asked_number(turn.text, "long", LONG, LONGEST) + 1):
        yield TextMessageContent(f"{number} ")


async def slow(turn: Turn) -> AsyncIterator[Event]:
    words = islice(cycle(SLOW_TEXT.split()), asked_number(turn.text, "slow", SLOW, SLOWEST))
    for number, word in enumerate(words):
        if number:
            await anyio.sleep(SLOW_PAUSE)
        yield TextMessageContent(f"{word} ")


def asked_number(text: str, word: str, default: int, most: int) -> int:
    """The number behind the word: `long 500`. From 1 to `most`, whatever was asked."""
    found = re.search(rf"\b{word}\s+0*([0-9]+)", text.lower())
    if found is None:
        return default
    digits = found[1]
    return most if len(digits) > len(str(most)) else min(max(int(digits), 1), most)
