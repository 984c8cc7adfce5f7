"""Content blocks of the model API ↔ blocks of a prompt and AG-UI content parts.

In: the blocks of a prompt, or the content of a tool result. Out: the same content in the other format. A block that
Claude Code does not accept is reported by its kind; the caller decides what to do about it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gateway.wire.acp.content import inline_text
from gateway.wire.fields import json_text, non_empty, obj, text

Parts = list[dict[str, Any]]

IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
PDF_TYPE = "application/pdf"


def to_content(blocks: Sequence[dict[str, Any]]) -> tuple[Parts, list[str]]:
    """The content of a user message, and the kinds of the blocks that Claude Code does not accept."""
    content: Parts = []
    dropped: list[str] = []
    for block in blocks:
        converted = _to_content_block(block)
        if converted is None:
            dropped.append(_block_kind(block))
        else:
            content.append(converted)
    return content, dropped


def _to_content_block(block: dict[str, Any]) -> dict[str, Any] | None:
    if (content := inline_text(block)) is not None:
        return {"type": "text", "text": content}
    match block:
        case {"type": "image", "data": str(data), "mimeType": str(mime)} | {
            "type": "resource",
            "resource": {"blob": str(data), "mimeType": str(mime)},
        } if mime in IMAGE_TYPES:
            return {"type": "image", "source": _base64(data, mime)}
        case {"type": "resource", "resource": {"blob": str(data), "mimeType": "application/pdf"} as resource}:
            title = (non_empty(resource.get("uri")) or "").rpartition("/")[2]
            return {"type": "document", "source": _base64(data, PDF_TYPE)} | ({"title": title} if title else {})
    return None


def _base64(data: str, mime: str) -> dict[str, Any]:
    return {"type": "base64", "media_type": mime, "data": data}


def _block_kind(block: dict[str, Any]) -> str:
    mime = text(block.get("mimeType")) or text(obj(block.get("resource")).get("mimeType"))
    return f"{block.get('type')} ({mime})" if mime else str(block.get("type"))


def result_content(content: Any) -> str | Parts:
    """The content of a tool result: a string, or parts if there is more than text."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return "" if content is None else json_text(content)
    parts = [_to_part(block) for block in content]
    if all(part["type"] == "text" for part in parts):
        return "\n".join(part["text"] for part in parts)
    return parts


def _to_part(block: Any) -> dict[str, Any]:
    match block:
        case {"type": "text", "text": str(content)} | {
            "type": "document",
            "source": {"type": "text", "data": str(content)},
        }:
            return {"type": "text", "text": content}
        case {
            "type": "image" | "document" as kind,
            "source": {"type": "base64", "data": str(data), "media_type": str(mime)},
        }:
            return {"type": kind, "source": {"type": "data", "value": data, "mimeType": mime}}
        case {"type": "image", "source": {"type": "url", "url": str(url)}}:
            return {"type": "image", "source": {"type": "url", "value": url}}
        case _:
            return {"type": "text", "text": json_text(block)}
