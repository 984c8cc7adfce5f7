"""Images, PDFs and files of a prompt as requests that attach them to the session before the prompt is sent."""

from __future__ import annotations

from collections.abc import Sequence

from gateway.events import Warning
from gateway.wire.dialects.base import Block
from gateway.wire.fields import non_empty, obj, text

MAX_BASE64_CHARS = 11_000_000
"""A message of more than 16 MiB breaks the connection, and with it every session on it."""

AttachRequest = tuple[str, dict[str, str]]
"""The method and its params, without the session's id."""


def read_attachments(blocks: Sequence[Block]) -> tuple[list[AttachRequest], list[Warning]]:
    """The requests in order, and warnings about blocks that were dropped."""
    requests: list[AttachRequest] = []
    dropped: list[Warning] = []
    for number, block in enumerate(blocks):
        if block.get("type") == "text":
            continue
        request = _to_request(block)
        if request is None or max(map(len, request[1].values())) > MAX_BASE64_CHARS:
            reason = "Hermes takes images, PDFs and files only" if request is None else "it is too large"
            dropped.append(Warning("CONTENT_DROPPED", f"part {number} of the prompt was left out: {reason}"))
        else:
            requests.append(request)
    return requests, dropped


def _to_request(block: Block) -> AttachRequest | None:
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


def to_file_request(method: str, params: dict[str, str]) -> AttachRequest | None:
    """A PDF as a plain file that the agent may read. Hermes renders PDFs page by page only where a program for it is
    installed."""
    if method != "pdf.attach":
        return None
    url = f"data:application/pdf;base64,{params['content_base64']}"
    return "file.attach", {"data_url": url, "name": params["filename"]}
