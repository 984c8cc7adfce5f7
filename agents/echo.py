"""The smallest agent: takes a turn, yields text."""

from collections.abc import AsyncIterator

from gateway.turn import Turn


async def echo(turn: Turn) -> AsyncIterator[str]:
    for word in turn.text.split(" "):
        yield f"{word} "
