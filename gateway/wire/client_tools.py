"""The client's own tools, as the host of an agent offers them.

In: AG-UI's tools, and the `tool` message that a client answers a call with. Out: names and schemas that agents take,
and the result as blocks in MCP's words, which most agents speak. What there is no block for is told as text.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from gateway.turn import NO_RESULT, Answer
from gateway.wire.acp.content import to_block
from gateway.wire.fields import items, json_text, obj, text
from gateway.wire.prompt_content import PromptContent

Tool = Mapping[str, Any]

NOT_OFFERED = "The application does not offer this tool now."

_UNSAFE = re.compile(r"[^A-Za-z0-9_-]")
_EMPTY: dict[str, Any] = {"type": "object", "properties": {}}
_IMAGES = PromptContent(image=True)


def by_safe_name(tools: Iterable[Tool]) -> dict[str, Tool]:
    """By names that every provider of models takes. Of two that become the same, the first has it."""
    found: dict[str, Tool] = {}
    for tool in tools:
        found.setdefault(_UNSAFE.sub("_", tool["name"]), tool)
    return found


def described(tool: Tool) -> str:
    return text(tool.get("description")) or ""


def schema(tool: Tool) -> dict[str, Any]:
    """Of its arguments, which are an object for every agent there is."""
    told = obj(tool.get("parameters"))
    return {**told, "type": "object"} if told else _EMPTY


def blocks(answer: Answer) -> tuple[list[dict[str, Any]], bool]:
    """What the tool gave back, in MCP's words; and whether it failed."""
    message = obj(answer.payload)
    if answer.status != "resolved":
        return [_text(NO_RESULT)], True
    content, error = message.get("content"), text(message.get("error"))
    found = [_text(content)] if isinstance(content, str) and content else [_block(part) for part in items(content)]
    if error is not None:
        found.append(_text(error))
    return found or [_text("")], error is not None


def result_text(answer: Answer) -> tuple[str, bool]:
    """…for an agent that takes nothing but text."""
    found, failed = blocks(answer)
    return "\n".join(block.get("text") or f"[{block['type']}]" for block in found), failed


def _block(part: dict[str, Any]) -> dict[str, Any]:
    if part.get("type") == "text":
        return _text(text(part.get("text")) or "")
    block = to_block(part, _IMAGES, "agui://result") if part.get("type") == "image" else None
    return block if block is not None and block.get("type") == "image" else _text(json_text(part))


def _text(told: str) -> dict[str, Any]:
    return {"type": "text", "text": told}
