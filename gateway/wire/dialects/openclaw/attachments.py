"""Images of a prompt as attachments of a run. OpenClaw takes nothing else: a file makes it refuse the whole run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gateway.events import Warning
from gateway.wire.dialects.base import Block

MAX_BASE64_CHARS = 20_000_000
"""Of all attachments together. A message of more than 25 MB breaks the connection, and with it every session on it."""


def read_attachments(blocks: Sequence[Block]) -> tuple[list[dict[str, Any]], list[Warning]]:
    """The attachments in order, and warnings about blocks that were dropped."""
    attachments: list[dict[str, Any]] = []
    dropped: list[Warning] = []
    remaining_chars = MAX_BASE64_CHARS
    for number, block in enumerate(blocks):
        if block.get("type") == "text":
            continue
        attachment = _to_attachment(number, block)
        if attachment is None or len(attachment["content"]) > remaining_chars:
            reason = "OpenClaw takes images only" if attachment is None else "it is too large"
            dropped.append(Warning("CONTENT_DROPPED", f"part {number} of the prompt was left out: {reason}"))
        else:
            remaining_chars -= len(attachment["content"])
            attachments.append(attachment)
    return attachments, dropped


def _to_attachment(number: int, block: Block) -> dict[str, Any] | None:
    match block:
        case {"type": "image", "data": str(data), "mimeType": str(mime)}:
            name = f"image-{number}.{mime.rpartition('/')[2]}"
            return {"type": "image", "mimeType": mime, "fileName": name, "content": data}
        case _:
            return None
