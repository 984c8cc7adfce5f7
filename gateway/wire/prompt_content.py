"""Which kinds of content an agent takes in a prompt, whatever protocol it uses.

An ACP agent states them in its handshake (`wire.acp.initialize`); for a command-line agent its definition does
(`drivers.cli.content`). The prompt is built by the same code for both.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class PromptContent:
    """Text and links are taken by every agent; so each kind here is a plain bool, False by default."""

    image: bool = False
    audio: bool = False
    embedded_context: bool = False
    """Files of text inside the prompt."""
    binary: bool = False
    """Files of any other kind."""
    agent_name: str | None = None
    """For warnings about content that was left out."""
