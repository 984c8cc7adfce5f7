"""The content of a prompt for a command-line agent: the kinds it takes, and everything else as text."""

from __future__ import annotations

from typing import Any

from gateway.catalog.definition import AgentDefinition
from gateway.wire.acp.content import inline_text
from gateway.wire.prompt_content import PromptContent


def read_prompt_content(definition: AgentDefinition) -> PromptContent:
    """The kinds of content that the definition claims in `multimodal.input`."""
    claims = definition.capabilities.get("multimodal", {}).get("input", {})
    takes_files = claims.get("file") is True or claims.get("pdf") is True
    return PromptContent(
        image=claims.get("image") is True,
        audio=claims.get("audio") is True,
        embedded_context=takes_files,
        binary=takes_files,
    )


def flatten_block(block: dict[str, Any]) -> dict[str, Any]:
    """Links and embedded text become text, because only ACP has blocks for them. Blocks with bytes stay."""
    text = inline_text(block)
    return block if text is None else {"type": "text", "text": text}
