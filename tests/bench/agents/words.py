"""The bench's agent: the user's message is a number, the answer is so many words of six characters.

The peers say the same words, so that every server of the bench carries the same load.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from itertools import cycle, islice

from gateway.events import TextMessageContent
from gateway.turn import Turn

WORDS = tuple(f"{number:05d} " for number in range(64))
LENGTH = 6
"""Characters in each."""
TURNS = 2
"""Of the event loop: after so many the word is with the reader, and the next one cannot join it."""


def deltas(size: int) -> Iterator[str]:
    return islice(cycle(WORDS), size)


async def words(turn: Turn) -> AsyncIterator[TextMessageContent]:
    for word in deltas(int(turn.text)):
        yield TextMessageContent(word)


async def apart(turn: Turn) -> AsyncIterator[TextMessageContent]:
    for word in deltas(int(turn.text)):
        yield TextMessageContent(word)
        for _ in range(TURNS):
            await asyncio.sleep(0)  # anyio's does more, and that would be measured too
