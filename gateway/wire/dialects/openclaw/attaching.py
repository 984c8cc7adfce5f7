"""Images and files of a prompt → attachments of a run."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from gateway.events import Warned
from gateway.wire.acp.lenient import obj, text, word
from gateway.wire.dialects.base import Block

LARGEST = 20_000_000
"""Characters of base64, all together. A message of more than 25 MB breaks the connection, and with it every session."""


def attachments(blocks: Sequence[Block]) -> tuple[list[dict[str, Any]], list[Warned]]:
    """In order, and what had to be left out."""
    given: list[dict[str, Any]] = []
    left_out: list[Warned] = []
    room = LARGEST
    for number, block in enumerate(blocks):
        if block.get("type") == "text":
            continue
        made = _attachment(number, block)
        if made is None or len(made["content"]) > room:
            why = "OpenClaw takes images, sounds and files only" if made is None else "it is too large"
            left_out.append(Warned("PART_DROPPED", f"part {number} of the prompt was left out: {why}"))
        else:
            room -= len(made["content"])
            given.append(made)
    return given, left_out


def _attachment(number: int, block: Block) -> dict[str, Any] | None:
    match block:
        case {"type": "image" | "audio" as kind, "data": str(data), "mimeType": str(mime)}:
            name = f"{kind}-{number}.{mime.rpartition('/')[2]}"
            return {"type": kind, "mimeType": mime, "fileName": name, "content": data}
        case {"type": "resource", "resource": {"blob": str(data)} as resource}:
            mime = word(obj(resource).get("mimeType")) or "application/octet-stream"
            name = (text(obj(resource).get("uri")) or "").rstrip("/").rpartition("/")[2] or f"file-{number}"
            return {"type": "file", "mimeType": mime, "fileName": name, "content": data}
        case _:
            return None
