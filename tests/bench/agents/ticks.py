"""The bench's patient agent: a word every `SECONDS`, until it is cancelled. The message `once` gets one word."""

from collections.abc import AsyncIterator

import anyio

from gateway.events import TextMessageContent
from gateway.turn import Turn

SECONDS = 0.1


async def ticks(turn: Turn) -> AsyncIterator[TextMessageContent]:
    yield TextMessageContent("word ")
    while turn.text != "once":
        await anyio.sleep(SECONDS)
        yield TextMessageContent("word ")
