"""ACP's content blocks (https://agentclientprotocol.com/protocol/content) ↔ AG-UI's text and content parts.

In: blocks as agents send them, or parts as clients do. Out: the other side's form, or None where it has none: the
caller decides, and nothing is dropped here. An AG-UI assistant message holds text only, so in a message a resource
becomes a link or a fence_text text; in a tool's result it is a document.
"""

from __future__ import annotations

import re
from base64 import b64decode, b64encode
from typing import Any
from urllib.parse import unquote_to_bytes

from gateway.wire.fields import non_empty, obj, text
from gateway.wire.prompt_content import PromptContent

Block = dict[str, Any]
Part = dict[str, Any]

TEXTUAL = re.compile(r"text/|application/(json|xml|yaml|toml|javascript|x-sh|sql)\b|.*\+(json|xml)$")
_DATA_URL = re.compile(r"data:(?P<mime>[^;,]*)(?:;[^,;]*)*?(?P<base64>;base64)?,(?P<data>.*)", re.DOTALL)


def inline_text(block: Any) -> str | None:
    """The block as text of a message. None: it is no text (an image, audio, bytes)."""
    match obj(block):
        case {"type": "text", "text": str(content)}:
            return content
        case {"type": "resource_link", "uri": str(uri)} as link:
            return f"[{non_empty(link.get('title')) or non_empty(link.get('name')) or uri}]({uri})"
        case {"type": "resource", "resource": {"text": str(content)} as resource}:
            return fence_text(content, text(resource.get("uri")) or "")
        case _:
            return None


def fence_text(content: str, name: str) -> str:
    """The text in a fence that is longer than any inside."""
    longest = max((len(run) for run in re.findall(r"`{3,}", content)), default=2)
    fence = "`" * (longest + 1)
    return f"{name}\n{fence}\n{content}\n{fence}\n".lstrip("\n")


def to_part(block: Any) -> Part | None:
    """The block as a content part of AG-UI; None for an unknown type."""
    match obj(block):
        case {"type": "text", "text": str(content)}:
            return {"type": "text", "text": content}
        case {"type": "image" | "audio" as kind, "data": str(data), "mimeType": str(mime)}:
            return {"type": kind, "source": {"type": "data", "value": data, "mimeType": mime}}
        case {"type": "image", "uri": str(uri)}:
            return {"type": "image", "source": {"type": "url", "value": uri}}
        case {"type": "resource_link", "uri": str(uri)} as link:
            return _document("url", uri, link.get("mimeType"), link.get("title") or link.get("name"))
        case {"type": "resource", "resource": {"blob": str(data)} as resource}:
            mime = non_empty(resource.get("mimeType")) or "application/octet-stream"
            return _document("data", data, mime, resource.get("uri"))
        case {"type": "resource", "resource": {"text": str(content)} as resource}:
            return {"type": "text", "text": fence_text(content, text(resource.get("uri")) or "")}
        case _:
            return None


def _document(kind: str, value: str, mime: Any, name: Any) -> Part:
    source = {"type": kind, "value": value}
    if non_empty(mime):
        source["mimeType"] = mime
    part: Part = {"type": "document", "source": source}
    return part | {"metadata": {"filename": name}} if non_empty(name) else part


def text_block(content: str) -> Block:
    return {"type": "text", "text": content}


def resource_block(uri: str, mime: str, content: dict[str, str]) -> Block:
    """`content`: {"text": …} or {"blob": base64}."""
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime, **content}}


def to_block(part: Part, accepted: PromptContent, uri: str) -> Block | None:
    """The part as a block of a prompt, if this agent takes it. `uri` names embedded content that has no name.

    Every agent takes text and links; so also a document of text, which is sent as text if the agent takes no embedded
    content. A URL always becomes a link: ACP has nothing else for it."""
    if part.get("type") == "text":
        return text_block(text(part.get("text")) or "")
    source = _as_data(obj(part.get("source")))
    value, mime = text(source.get("value")), non_empty(source.get("mimeType"))
    name = non_empty(obj(part.get("metadata")).get("filename"))
    match part.get("type"), source.get("type"):
        case _ if value is None:
            return None
        case _, "url":
            link = {"type": "resource_link", "uri": value, "name": name or value.rsplit("/", 1)[-1] or value}
            return link | ({"mimeType": mime} if mime else {})
        case "image", "data":
            return {"type": "image", "data": value, "mimeType": mime or "image/png"} if accepted.image else None
        case "audio", "data":
            return {"type": "audio", "data": value, "mimeType": mime or "audio/wav"} if accepted.audio else None
        case "document", "data":
            return _embed(value, mime or "application/octet-stream", accepted, uri, name)
        case _:  # a video, or a provider's own handle to a file
            return None


def _embed(value: str, mime: str, accepted: PromptContent, uri: str, name: str | None) -> Block | None:
    location = f"{uri}/{name}" if name else uri
    content = _decode_text(value) if TEXTUAL.match(mime) else None
    if content is None:
        return resource_block(location, mime, {"blob": value}) if accepted.binary else None
    if accepted.embedded_context:
        return resource_block(location, mime, {"text": content})
    return text_block(fence_text(content, name or ""))


def _decode_text(value: str) -> str | None:
    try:
        return b64decode(value, validate=True).decode()
    except ValueError:
        return None


def _as_data(source: dict[str, Any]) -> dict[str, Any]:
    """A `data:` URL counts as data."""
    data_url = _DATA_URL.fullmatch(text(source.get("value")) or "") if source.get("type") == "url" else None
    if data_url is None:
        return source
    data = data_url["data"] if data_url["base64"] else b64encode(unquote_to_bytes(data_url["data"])).decode()
    return {"type": "data", "value": data, "mimeType": data_url["mime"] or source.get("mimeType") or "text/plain"}
