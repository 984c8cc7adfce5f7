"""Content blocks of ACP ↔ text and content parts of AG-UI.

In: blocks as agents send them, or parts as clients do. Out: the other side's. What neither side's word exists for is
None, and whoever asked decides: nothing is dropped here. AG-UI's assistant messages hold text only, so inside one a
resource becomes a link or a fence; in a tool's result it is a document.
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


def inline(block: Any) -> str | None:
    """The block as text of a message. None: it is no text (an image, a sound, bytes)."""
    match obj(block):
        case {"type": "text", "text": str(words)}:
            return words
        case {"type": "resource_link", "uri": str(uri)} as link:
            return f"[{non_empty(link.get('title')) or non_empty(link.get('name')) or uri}]({uri})"
        case {"type": "resource", "resource": {"text": str(words)} as resource}:
            return fenced(words, text(resource.get("uri")) or "")
        case _:
            return None


def fenced(words: str, name: str) -> str:
    """A longer fence than any inside."""
    longest = max((len(run) for run in re.findall(r"`{3,}", words)), default=2)
    fence = "`" * (longest + 1)
    return f"{name}\n{fence}\n{words}\n{fence}\n".lstrip("\n")


def to_part(block: Any) -> Part | None:
    """The block as a content part of AG-UI; None for a kind that is not known."""
    match obj(block):
        case {"type": "text", "text": str(words)}:
            return {"type": "text", "text": words}
        case {"type": "image" | "audio" as kind, "data": str(data), "mimeType": str(mime)}:
            return {"type": kind, "source": {"type": "data", "value": data, "mimeType": mime}}
        case {"type": "image", "uri": str(uri)}:
            return {"type": "image", "source": {"type": "url", "value": uri}}
        case {"type": "resource_link", "uri": str(uri)} as link:
            return _document("url", uri, link.get("mimeType"), link.get("title") or link.get("name"))
        case {"type": "resource", "resource": {"blob": str(data)} as resource}:
            mime = non_empty(resource.get("mimeType")) or "application/octet-stream"
            return _document("data", data, mime, resource.get("uri"))
        case {"type": "resource", "resource": {"text": str(words)} as resource}:
            return {"type": "text", "text": fenced(words, text(resource.get("uri")) or "")}
        case _:
            return None


def _document(kind: str, value: str, mime: Any, name: Any) -> Part:
    source = {"type": kind, "value": value}
    if non_empty(mime):
        source["mimeType"] = mime
    part: Part = {"type": "document", "source": source}
    return part | {"metadata": {"filename": name}} if non_empty(name) else part


def text_block(words: str) -> Block:
    return {"type": "text", "text": words}


def resource_block(uri: str, mime: str, held: dict[str, str]) -> Block:
    """`held`: {"text": …} or {"blob": base64}."""
    return {"type": "resource", "resource": {"uri": uri, "mimeType": mime, **held}}


def to_block(part: Part, takes: PromptContent, uri: str) -> Block | None:
    """The part as a prompt's block, if this agent takes it. `uri` names what is embedded without a name of its own.

    Text and links are taken by every agent; so a document of text, too, which is told as text where nothing can be
    embedded. A link is all that ACP has for what lies behind a URL."""
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
            return {"type": "image", "data": value, "mimeType": mime or "image/png"} if takes.image else None
        case "audio", "data":
            return {"type": "audio", "data": value, "mimeType": mime or "audio/wav"} if takes.audio else None
        case "document", "data":
            return _embedded(value, mime or "application/octet-stream", takes, uri, name)
        case _:  # a video, or a provider's own handle to a file
            return None


def _embedded(value: str, mime: str, takes: PromptContent, uri: str, name: str | None) -> Block | None:
    place = f"{uri}/{name}" if name else uri
    words = _decoded(value) if TEXTUAL.match(mime) else None
    if takes.embedded_context:
        return resource_block(place, mime, {"blob": value} if words is None else {"text": words})
    return None if words is None else text_block(fenced(words, name or ""))


def _decoded(value: str) -> str | None:
    try:
        return b64decode(value, validate=True).decode()
    except ValueError:
        return None


def _as_data(source: dict[str, Any]) -> dict[str, Any]:
    """A `data:` URL is data, however it is called."""
    found = _DATA_URL.fullmatch(text(source.get("value")) or "") if source.get("type") == "url" else None
    if found is None:
        return source
    data = found["data"] if found["base64"] else b64encode(unquote_to_bytes(found["data"])).decode()
    return {"type": "data", "value": data, "mimeType": found["mime"] or source.get("mimeType") or "text/plain"}
