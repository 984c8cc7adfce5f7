"""How the demo speaks: text, thoughts and a call's arguments in small pieces, as a model would.

In: whole sentences. Out: events, with a chance for others to run between them, so that what was said is on its way
before the next piece is made. A model would take its time; the demo does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any

from anyio.lowlevel import checkpoint

from gateway.events import (
    Event,
    ReasoningMessageContent,
    ReasoningMessageEnd,
    TextMessageContent,
    TextMessageEnd,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallStart,
)

PHRASE = re.compile(r"\s*(?:\S+\s*){1,3}")
"""Three words, with the space around them."""
ARGUMENTS_PIECE = 6
"""Characters: short enough that even `{"city": "Oslo"}` comes in several."""


async def say(text: str, subagent: str | None = None) -> AsyncIterator[Event]:
    """One message, phrase by phrase."""
    for phrase in PHRASE.findall(text):
        yield TextMessageContent(phrase, subagent=subagent)
        await checkpoint()
    yield TextMessageEnd(subagent=subagent)


async def ponder(text: str) -> AsyncIterator[Event]:
    """One thought, phrase by phrase."""
    for phrase in PHRASE.findall(text):
        yield ReasoningMessageContent(phrase)
        await checkpoint()
    yield ReasoningMessageEnd()


async def call(id_: str, name: str, arguments: dict[str, Any], subagent: str | None = None) -> AsyncIterator[Event]:
    """One tool call, up to where the tool would run."""
    yield ToolCallStart(id_, name, subagent=subagent)
    for piece in pieces(arguments):
        yield ToolCallArgs(id_, piece)
        await checkpoint()
    yield ToolCallEnd(id_)


def pieces(arguments: dict[str, Any]) -> list[str]:
    """The arguments' JSON, cut small."""
    text = json.dumps(arguments, ensure_ascii=False)
    return [text[start : start + ARGUMENTS_PIECE] for start in range(0, len(text), ARGUMENTS_PIECE)]
