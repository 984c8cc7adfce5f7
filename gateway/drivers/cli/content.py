"""What a command-line agent is told in a prompt: which kinds of content it takes, and the rest as text."""

from __future__ import annotations

from typing import Any

from gateway.catalog.definition import AgentDefinition
from gateway.wire.acp.content import inline_text
from gateway.wire.acp.initialize import Handshake


def takes(definition: AgentDefinition) -> Handshake:
    """What may stand in a prompt, as the definition claims it."""
    told = definition.capabilities.get("multimodal", {}).get("input", {})
    files = told.get("file") is True or told.get("pdf") is True
    return Handshake(image=told.get("image") is True, audio=told.get("audio") is True, embedded_context=files)


def plain(block: dict[str, Any]) -> dict[str, Any]:
    """Links and embedded text as text: only ACP has words for them. Bytes stay."""
    words = inline_text(block)
    return block if words is None else {"type": "text", "text": words}
