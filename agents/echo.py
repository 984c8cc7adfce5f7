"""The smallest agent: it takes a turn and yields text."""

from collections.abc import AsyncIterator

from gateway import Turn


async def echo(turn: Turn) -> AsyncIterator[str]:
    for part in turn.text.split(" "):
        yield f"{part} "
