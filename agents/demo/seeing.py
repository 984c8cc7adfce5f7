"""A scene for what people attach: each part is described, and images come back inside a tool's result."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, TypeAlias

from gateway.events import Event, ToolCallResult
from gateway.turn import Turn

from .voice import call, say

Part: TypeAlias = dict[str, Any]

ECHO_CHARS = 1_000_000
"""One event can carry only so much, so images are echoed up to this, all together."""
SOURCE_KEYS = ("type", "value", "mimeType", "provider")

SUN = (
    "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgAgMAAAAOFJJnAAAADFBMVEXg8vH/t00AiXtNtqz2iMcoAAAAO0lEQVR42mNgIBeEhkJoxtBQBzCDNTQ0"
    "AMwQDQ0NgSqBKqKQATcQasUqKGBY9R8CGf5DAQNUYBW11AAAQvlgCsjuRp8AAAAASUVORK5CYII="
)
"""A sun over the sea, 32 pixels square: for those who say `image` and attach none."""
OWN_PICTURE: Part = {"type": "image", "source": {"type": "data", "value": SUN, "mimeType": "image/png"}}


async def image(turn: Turn) -> AsyncIterator[Event]:
    theirs = media(turn)
    parts = theirs or [OWN_PICTURE]
    id_ = f"{turn.run_id}-look"
    list_ = "\n".join(f"- {describe(part)}" for part in parts)
    async for event in call(id_, "look_at", {"parts": [part["type"] for part in parts]}):
        yield event
    yield ToolCallResult(id_, [{"type": "text", "text": list_}, *echoed(parts)])
    opening = "Here is what you sent me:" if theirs else "You attached nothing, so I show you a picture of mine:"
    async for event in say(f"{opening}\n\n{list_}"):
        yield event


def media(turn: Turn) -> list[Part]:
    """What the newest user message has beside text."""
    return [part for part in turn.parts if part["type"] != "text"]


def describe(part: Part) -> str:
    """Type, mime type, size: as far as the part tells."""
    source = part["source"]
    return f"**{part['type']}**, {source.get('mimeType', 'of an unknown type')}, {whereabouts(source)}"


def whereabouts(source: dict[str, Any]) -> str:
    match source["type"]:
        case "data":
            # Four characters of base64 are three bytes; the padding is none.
            return f"{len(source['value'].rstrip('=')) * 3 // 4:,} bytes"
        case "url":
            return f"at {shortened(source['value'])}"
        case _:
            return f"kept by {source.get('provider', 'a provider')} as {shortened(source['value'])}"


def shortened(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:79]}…"


def echoed(parts: list[Part]) -> list[Part]:
    """The images among them, as many as fit."""
    room, kept = ECHO_CHARS, list[Part]()
    for part in parts:
        source = {key: part["source"][key] for key in SOURCE_KEYS if key in part["source"]}
        size = sum(map(len, source.values()))
        if part["type"] == "image" and size <= room:
            room -= size
            kept.append({"type": "image", "source": source})
    return kept
