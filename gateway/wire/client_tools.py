"""The client's own tools, in the form that agents take them.

In: AG-UI's tools (https://docs.ag-ui.com/concepts/tools), and the `tool` message with which a client answers a call.
Out: names and schemas that agents take, and the result as MCP content blocks, which most agents take. Content that MCP
has no block for becomes JSON text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from gateway.turn import NO_RESULT, Answer
from gateway.wire.fields import items, json_text, non_empty, obj, text

Tool = Mapping[str, Any]
Block = dict[str, Any]

NOT_OFFERED = "The application does not offer this tool now."

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_DATA_URL = re.compile(r"data:(?P<mime>[^;,]+);base64,(?P<data>.*)", re.DOTALL)
_NO_ARGUMENTS: dict[str, Any] = {"type": "object", "properties": {}}


def by_safe_name(tools: Iterable[Tool]) -> dict[str, Tool]:
    """The tools by names that every model provider takes. If two names become the same, the first tool has it."""
    safe: dict[str, Tool] = {}
    for tool in tools:
        safe.setdefault(_UNSAFE.sub("_", tool["name"]), tool)
    return safe


def tool_description(tool: Tool) -> str:
    return text(tool.get("description")) or ""


def input_schema(tool: Tool) -> dict[str, Any]:
    """The JSON Schema of its arguments. Agents take nothing but an object."""
    parameters = obj(tool.get("parameters"))
    return {**parameters, "type": "object"} if parameters else _NO_ARGUMENTS


def result_blocks(answer: Answer) -> tuple[list[Block], bool]:
    """What the client's tool gave back, as MCP content blocks; and whether it failed."""
    if answer.status != "resolved":
        return [_text_block(NO_RESULT)], True
    message = obj(answer.payload)
    content = message.get("content")
    error = text(message.get("error"))
    blocks = [_text_block(content)] if isinstance(content, str) and content else list(map(_block, items(content)))
    if error is not None:
        blocks.append(_text_block(error))
    return blocks or [_text_block("")], error is not None


def result_text(answer: Answer) -> tuple[str, bool]:
    """The same for an agent that takes nothing but text."""
    blocks, is_error = result_blocks(answer)
    return "\n".join(block.get("text") or f"[{block['type']}]" for block in blocks), is_error


def _block(part: dict[str, Any]) -> Block:
    if part.get("type") == "text":
        return _text_block(text(part.get("text")) or "")
    image = _image_block(obj(part.get("source"))) if part.get("type") == "image" else None
    return _text_block(json_text(part)) if image is None else image


def _image_block(source: dict[str, Any]) -> Block | None:
    """None: the image is not in the message, but behind a URL or with a provider."""
    value = text(source.get("value"))
    mime = non_empty(source.get("mimeType"))
    if source.get("type") == "url" and (url := _DATA_URL.fullmatch(value or "")):
        value, mime = url["data"], url["mime"]
    elif source.get("type") != "data" or value is None:
        return None
    return {"type": "image", "data": value, "mimeType": mime or "image/png"}


def _text_block(content: str) -> Block:
    return {"type": "text", "text": content}
