"""A scene about attachments: each part is described, and images come back inside a tool's result."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, TypeAlias

from gateway import Event, ToolCallResult, Turn

from .streams import call, say

Part: TypeAlias = dict[str, Any]

MAX_ECHOED_CHARS = 1_000_000
"""Images are echoed up to this much in all, because the size of an event is limited."""
SOURCE_KEYS = ("type", "value", "mimeType", "provider")

SUN = (
    "iVBORw0KGgoAAAANSUhEUgAAACAAAAAgAgMAAAAOFJJnAAAADFBMVEXg8vH/t00AiXtNtqz2iMcoAAAAO0lEQVR42mNgIBeEhkJoxtBQBzCDNTQ0"
    "AMwQDQ0NgSqBKqKQATcQasUqKGBY9R8CGf5DAQNUYBW11AAAQvlgCsjuRp8AAAAASUVORK5CYII="
)
"""A sun over the sea, 32 pixels square: shown when the prompt says `image` and has no attachment."""
OWN_PICTURE: Part = {"type": "image", "source": {"type": "data", "value": SUN, "mimeType": "image/png"}}


async def image(turn: Turn) -> AsyncIterator[Event]:
    attachments = media_parts(turn)
    parts = attachments or [OWN_PICTURE]
    id_ = f"{turn.run_id}-look"
    descriptions = "\n".join(f"- {describe(part)}" for part in parts)
    async for event in call(id_, "look_at", {"parts": [part["type"] for part in parts]}):
        yield event
    yield ToolCallResult(id_, [{"type": "text", "text": descriptions}, *echo_images(parts)])
    opening = "Here is what you sent me:" if attachments else "You attached nothing, so I show you a picture of mine:"
    async for event in say(f"{opening}\n\n{descriptions}"):
        yield event


def media_parts(turn: Turn) -> list[Part]:
    """The parts of the newest user message that are not text."""
    return [part for part in turn.parts if part["type"] != "text"]


def describe(part: Part) -> str:
    """Type, media type and size, as far as the part states them."""
    source = part["source"]
    return f"**{part['type']}**, {source.get('mimeType', 'of an unknown type')}, {describe_source(source)}"


def describe_source(source: dict[str, Any]) -> str:
    match source["type"]:
        case "data":
            # Four characters of base64 are three bytes; padding does not count.
            return f"{len(source['value'].rstrip('=')) * 3 // 4:,} bytes"
        case "url":
            return f"at {truncate(source['value'])}"
        case _:
            return f"kept by {source.get('provider', 'a provider')} as {truncate(source['value'])}"


def truncate(text: str) -> str:
    return text if len(text) <= 80 else f"{text[:79]}…"


def echo_images(parts: list[Part]) -> list[Part]:
    """The images among the parts, as many as fit."""
    room = MAX_ECHOED_CHARS
    images: list[Part] = []
    for part in parts:
        source = {key: part["source"][key] for key in SOURCE_KEYS if key in part["source"]}
        size = sum(map(len, source.values()))
        if part["type"] == "image" and size <= room:
            room -= size
            images.append({"type": "image", "source": source})
    return images
