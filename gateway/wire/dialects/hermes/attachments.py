"""Images, PDFs and files of a prompt → calls that hand them to a session before the prompt is sent."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.events import Warning
from gateway.wire.dialects.base import Block
from gateway.wire.fields import non_empty, obj, text

LARGEST = 11_000_000
"""Characters of base64. A message of more than 16 MiB breaks the connection, and with it every session on it."""

Call = tuple[str, dict[str, str]]


def attachments(blocks: Sequence[Block]) -> tuple[list[Call], list[Warning]]:
    """In order, and what had to be left out."""
    calls: list[Call] = []
    left_out: list[Warning] = []
    for number, block in enumerate(blocks):
        if block.get("type") == "text":
            continue
        call = _call(block)
        if call is None or max(map(len, call[1].values())) > LARGEST:
            why = "Hermes takes images, PDFs and files only" if call is None else "it is too large"
            left_out.append(Warning("CONTENT_DROPPED", f"part {number} of the prompt was left out: {why}"))
        else:
            calls.append(call)
    return calls, left_out


def _call(block: Block) -> Call | None:
    match block:
        case {"type": "image", "data": str(data), "mimeType": str(mime)}:
            return "image.attach_bytes", {"content_base64": data, "ext": mime.rpartition("/")[2]}
        case {"type": "resource", "resource": {"blob": str(data)} as resource}:
            mime = non_empty(obj(resource).get("mimeType")) or "application/octet-stream"
            name = (text(obj(resource).get("uri")) or "").rstrip("/").rpartition("/")[2] or "file"
            if mime == "application/pdf":
                return "pdf.attach", {"content_base64": data, "filename": f"{name.removesuffix('.pdf')}.pdf"}
            return "file.attach", {"data_url": f"data:{mime};base64,{data}", "name": name}
        case _:
            return None


def as_file(method: str, params: dict[str, str]) -> Call | None:
    """A PDF that cannot be shown page by page, for want of a program, is still a file that the agent may read."""
    if method != "pdf.attach":
        return None
    url = f"data:application/pdf;base64,{params['content_base64']}"
    return "file.attach", {"data_url": url, "name": params["filename"]}
