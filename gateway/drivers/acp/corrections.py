"""An agent's handshake, corrected by its file: some agents announce what they do not do, and ACP has no word for some
of what they do.

In: the handshake, and the agent's definition. Out: the handshake without what the file denies, the kinds of content
that reach the agent's model, and the layer of the capabilities. A path that the file denies is left to the file, so
that every value has its true source.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from gateway.capability_paths import ACP, flatten
from gateway.catalog.definition import AgentDefinition
from gateway.wire.acp.initialize import Handshake, agui_layer
from gateway.wire.prompt_content import PromptContent

CLIENT_TOOLS = "tools.clientProvided"
PDF = "multimodal.input.pdf"
HANDSHAKE_FIELDS = {
    "multimodal.input.image": "image",
    "multimodal.input.audio": "audio",
    f"{ACP}.loadSession": "load",
    f"{ACP}.resumeSession": "resume",
    f"{ACP}.forkSession": "fork",
    f"{ACP}.closeSession": "close",
    f"{ACP}.additionalDirectories": "additional_directories",
    f"{ACP}.mcp.stdio": "mcp_stdio",
    f"{ACP}.mcp.http": "mcp_http",
    f"{ACP}.mcp.sse": "mcp_sse",
}
"""A path that a file may deny → the field of the handshake."""
HANDSHAKE_SOURCE = "handshake (the agent's answer to initialize)"


def correct_handshake(handshake: Handshake, definition: AgentDefinition) -> Handshake:
    """The handshake with `false` for each ability that the agent's file denies."""
    claims = flatten(definition.capabilities)
    denied: dict[str, Any] = {field: False for path, field in HANDSHAKE_FIELDS.items() if claims.get(path) is False}
    return replace(handshake, **denied) if denied else handshake


def source_of(path: str, definition: AgentDefinition) -> str:
    """Who denies this path of a corrected handshake."""
    is_denied = flatten(definition.capabilities).get(path) is False
    return f"profile ({definition.source.name})" if is_denied else HANDSHAKE_SOURCE


def prompt_content(handshake: Handshake, definition: AgentDefinition) -> PromptContent:
    """The kinds of content that a prompt may carry. `handshake`: the corrected one. `embeddedContext` says that the
    agent takes resources, not that their bytes reach its model: nearly all agents drop these. So bytes are sent only to
    agents whose file states it."""
    takes_bytes = handshake.embedded_context and flatten(definition.capabilities).get(PDF) is True
    return replace(handshake.prompt_content, binary=takes_bytes)


def capability_layer(handshake: Handshake, definition: AgentDefinition) -> dict[str, Any]:
    """What the agent announced, by dotted path. What its file denies, or states of PDF documents, is not repeated: the
    file's own layer has it. The agent's own name is used only where there is no other."""
    claims = flatten(definition.capabilities)
    denied = {path for path, value in claims.items() if value is False}
    layer = {path: value for path, value in agui_layer(handshake).items() if value is not True or path not in denied}
    if handshake.embedded_context and claims.get(PDF) is True:
        del layer[PDF]
    if not handshake.mcp_stdio:
        layer[CLIENT_TOOLS] = False  # they are served as an MCP server that the agent starts
    name = handshake.title or handshake.name
    if definition.is_bare and name is not None:
        layer["identity.name"] = name
    return layer
