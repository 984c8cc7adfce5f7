"""Text, reasoning and tool arguments in small pieces, as a model streams them.

In: whole sentences. Out: events. Between two events other tasks may run, so that one is sent before the next is made.
A model would need time for each; the demo does not.
"""

from __future__ import annotations

import json
import re
from collections.abc import AsyncIterator
from typing import Any

from anyio.lowlevel import checkpoint

from gateway import (
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
ARGUMENT_PIECE_CHARS = 6
"""Short enough that even `{"city": "Oslo"}` comes in several pieces."""


async def say(text: str, subagent: str | None = None) -> AsyncIterator[Event]:
    """One message, phrase by phrase."""
    for phrase in PHRASE.findall(text):
        yield TextMessageContent(phrase, subagent=subagent)
        await checkpoint()
    yield TextMessageEnd(subagent=subagent)


async def think_aloud(text: str) -> AsyncIterator[Event]:
    """One reasoning message, phrase by phrase."""
    for phrase in PHRASE.findall(text):
        yield ReasoningMessageContent(phrase)
        await checkpoint()
    yield ReasoningMessageEnd()


async def call(id_: str, name: str, arguments: dict[str, Any], subagent: str | None = None) -> AsyncIterator[Event]:
    """One tool call, up to the point where the tool would run."""
    yield ToolCallStart(id_, name, subagent=subagent)
    for piece in cut_arguments(arguments):
        yield ToolCallArgs(id_, piece)
        await checkpoint()
    yield ToolCallEnd(id_)


def cut_arguments(arguments: dict[str, Any]) -> list[str]:
    """The arguments' JSON in small pieces."""
    text = json.dumps(arguments, ensure_ascii=False)
    return [text[start : start + ARGUMENT_PIECE_CHARS] for start in range(0, len(text), ARGUMENT_PIECE_CHARS)]
