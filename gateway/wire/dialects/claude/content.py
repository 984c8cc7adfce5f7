"""Content blocks of the model API ↔ a prompt's blocks and AG-UI's parts.

In: the blocks of a prompt, or what a tool gave back. Out: the other side's. What no block can be made of is named, and
whoever asked decides.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gateway.wire.acp.content import inline_text
from gateway.wire.fields import json_text, non_empty, obj, text

Parts = list[dict[str, Any]]

IMAGES = ("image/png", "image/jpeg", "image/gif", "image/webp")
PDF = "application/pdf"


def to_content(blocks: Sequence[dict[str, Any]]) -> tuple[Parts, list[str]]:
    """The blocks of a user message, and the kinds that Claude does not take."""
    content, dropped = [], []
    for block in blocks:
        made = _made(block)
        if made is None:
            dropped.append(_kind(block))
        else:
            content.append(made)
    return content, dropped


def _made(block: dict[str, Any]) -> dict[str, Any] | None:
    if (words := inline_text(block)) is not None:
        return {"type": "text", "text": words}
    match block:
        case {"type": "image", "data": str(data), "mimeType": str(mime)} if mime in IMAGES:
            return {"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}}
        case {"type": "resource", "resource": {"blob": str(data), "mimeType": str(mime)}} if mime in IMAGES:
            return {"type": "image", "source": {"type": "base64", "media_type": mime, "data": data}}
        case {"type": "resource", "resource": {"blob": str(data), "mimeType": "application/pdf"} as resource}:
            made = {"type": "document", "source": {"type": "base64", "media_type": PDF, "data": data}}
            title = (non_empty(resource.get("uri")) or "").rpartition("/")[2]
            return made | ({"title": title} if title else {})
    return None


def _kind(block: dict[str, Any]) -> str:
    mime = text(block.get("mimeType")) or text(obj(block.get("resource")).get("mimeType"))
    return f"{block.get('type')} ({mime})" if mime else str(block.get("type"))


def result_content(content: Any) -> str | Parts:
    """What a tool gave back: text, or parts where there is more than text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return "" if content is None else json_text(content)
    parts = [_part(block) for block in content]
    if all(part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts


def _part(block: Any) -> dict[str, Any]:
    match block:
        case {"type": "text", "text": str(words)}:
            return {"type": "text", "text": words}
        case {"type": "image", "source": {"type": "base64", "data": str(data), "media_type": str(mime)}}:
            return {"type": "image", "source": {"type": "data", "value": data, "mimeType": mime}}
        case {"type": "image", "source": {"type": "url", "url": str(url)}}:
            return {"type": "image", "source": {"type": "url", "value": url}}
        case {"type": "document", "source": {"type": "base64", "data": str(data), "media_type": str(mime)}}:
            return {"type": "document", "source": {"type": "data", "value": data, "mimeType": mime}}
        case {"type": "document", "source": {"type": "text", "data": str(words)}}:
            return {"type": "text", "text": words}
        case _:
            return {"type": "text", "text": json_text(block)}
