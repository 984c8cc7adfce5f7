"""Images of a prompt → attachments of a run. It takes nothing else: a file makes it refuse the whole run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gateway.events import Warning
from gateway.wire.dialects.base import Block

LARGEST = 20_000_000
"""Characters of base64, all together. A message of more than 25 MB breaks the connection, and with it every session."""


def attachments(blocks: Sequence[Block]) -> tuple[list[dict[str, Any]], list[Warning]]:
    """In order, and what had to be left out."""
    given: list[dict[str, Any]] = []
    left_out: list[Warning] = []
    room = LARGEST
    for number, block in enumerate(blocks):
        if block.get("type") == "text":
            continue
        made = _attachment(number, block)
        if made is None or len(made["content"]) > room:
            why = "OpenClaw takes images only" if made is None else "it is too large"
            left_out.append(Warning("CONTENT_DROPPED", f"part {number} of the prompt was left out: {why}"))
        else:
            room -= len(made["content"])
            given.append(made)
    return given, left_out


def _attachment(number: int, block: Block) -> dict[str, Any] | None:
    match block:
        case {"type": "image", "data": str(data), "mimeType": str(mime)}:
            name = f"image-{number}.{mime.rpartition('/')[2]}"
            return {"type": "image", "mimeType": mime, "fileName": name, "content": data}
        case _:
            return None
