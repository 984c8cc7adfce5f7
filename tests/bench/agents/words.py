"""The bench's agent: the user's message is a number, the answer is so many words of six characters.

The peers say the same words, so that every server of the bench carries the same load.
"""

from collections.abc import AsyncIterator, Iterator
from itertools import cycle, islice

from gateway.events import TextDelta
from gateway.turn import Turn

WORDS = tuple(f"{number:05d} " for number in range(64))
LENGTH = 6
"""Characters in each."""


def deltas(size: int) -> Iterator[str]:
    return islice(cycle(WORDS), size)


async def words(turn: Turn) -> AsyncIterator[TextDelta]:
    for word in deltas(int(turn.text)):
        yield TextDelta(word)
