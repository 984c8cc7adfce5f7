"""The params of `session.create` and `session.resume`, and the attachments of a prompt.

In: what the gateway starts the session for, and the variables of the agent's environment that its definition names.
Out: JSON for Copilot's SDK server. The server itself ignores `COPILOT_PROVIDER_*` and `COPILOT_MODEL`, which the other
modes of the program read: the client that opens a session names its provider.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeGuard

from gateway.wire.acp.content import TEXTUAL
from gateway.wire.client_tools import by_safe_name, input_schema, tool_description
from gateway.wire.dialects.base import Block, Prompt, SessionStart
from gateway.wire.fields import named_values, non_empty, present, text

ENV_PREFIX = "COPILOT_PROVIDER_"
TEXT_VARIABLES = {
    "BASE_URL": "baseUrl",
    "TYPE": "type",
    "WIRE_API": "wireApi",
    "TRANSPORT": "transport",
    "API_KEY": "apiKey",
    "API_KEY_COMMAND": "apiKeyCommand",
    "BEARER_TOKEN": "bearerToken",
    "MODEL_ID": "modelId",
    "WIRE_MODEL": "wireModel",
}
NUMBER_VARIABLES = {"MAX_PROMPT_TOKENS": "maxPromptTokens", "MAX_OUTPUT_TOKENS": "maxOutputTokens"}
MODEL_VARIABLES = ("COPILOT_MODEL", f"{ENV_PREFIX}MODEL_ID", f"{ENV_PREFIX}WIRE_MODEL")


def session_params(start: SessionStart) -> dict[str, Any]:
    """For both methods; `params.session` of the definition is sent as it is."""
    variables = start.params.get("env")
    env = {name: value for name, value in variables.items() if isinstance(value, str)} if _is_map(variables) else {}
    extra = start.params.get("session")
    return present(
        {
            "streaming": True,
            "includeSubAgentStreamingEvents": True,
            "requestPermission": True,
            "requestUserInput": True,
            "requestElicitation": True,
            "requestExitPlanMode": True,
            "clientName": "agui-gateway",
            "workingDirectory": start.cwd,
            "additionalDirectories": list(start.directories),
            "mcpServers": _to_mcp_servers(start) or None,
            "skillDirectories": list(start.skills) or None,
            "tools": _to_client_tools(start) or None,
            "envValueMode": "direct",  # otherwise an MCP server's `env` names variables of the gateway
            "provider": _to_provider(env),
            "model": next((env[name] for name in MODEL_VARIABLES if env.get(name)), None),
            **(extra if _is_map(extra) else {}),
        }
    )


def _is_map(value: Any) -> TypeGuard[Mapping[str, Any]]:
    return isinstance(value, Mapping)


def _to_provider(env: Mapping[str, str]) -> dict[str, Any] | None:
    """The operator's own model provider; None: GitHub's."""
    if not env.get(f"{ENV_PREFIX}BASE_URL"):
        return None
    version = env.get(f"{ENV_PREFIX}AZURE_API_VERSION")
    return present(
        {key: env.get(f"{ENV_PREFIX}{variable}") for variable, key in TEXT_VARIABLES.items()}
        | {key: _to_number(env.get(f"{ENV_PREFIX}{variable}")) for variable, key in NUMBER_VARIABLES.items()}
        | {"azure": {"apiVersion": version} if version else None}
        | {"headers": _to_headers(env.get(f"{ENV_PREFIX}HEADERS", "")) or None}
    )


def _to_number(digits: str | None) -> int | None:
    return int(digits) if digits is not None and digits.isascii() and digits.isdigit() else None


def _to_headers(lines: str) -> dict[str, str]:
    pairs = (line.partition(":") for line in lines.replace("\\n", "\n").split("\n"))
    return {name.strip(): value.strip() for name, colon, value in pairs if colon and name.strip()}


def _to_client_tools(start: SessionStart) -> list[dict[str, Any]]:
    """The client's tools. Copilot asks for no permission before it calls one: the client runs it, and may refuse."""
    return [
        {"name": name, "description": tool_description(tool), "parameters": input_schema(tool), "skipPermission": True}
        for name, tool in by_safe_name(start.tools).items()
    ]


def _to_mcp_servers(start: SessionStart) -> dict[str, dict[str, Any]]:
    return {name: _to_mcp_server(server) for server in start.mcp_servers if (name := non_empty(server.get("name")))}


def _to_mcp_server(server: Mapping[str, Any]) -> dict[str, Any]:
    if "command" in server:
        env = named_values(server.get("env")) or None
        return present({"type": "stdio", "command": server["command"], "args": server.get("args"), "env": env})
    headers = named_values(server.get("headers")) or None
    return present({"type": text(server.get("type")) or "http", "url": server.get("url"), "headers": headers})


def to_attachments(prompt: Prompt) -> list[dict[str, Any]]:
    """The blocks of a prompt that are bytes."""
    return [attachment for block in prompt.blocks if (attachment := _to_attachment(block)) is not None]


def is_ignored_attachment(attachment: dict[str, Any]) -> bool:
    """Copilot silently leaves out attachments that are neither images nor PDF documents nor text."""
    mime = attachment["mimeType"]
    return not (mime.startswith("image/") or mime == "application/pdf" or TEXTUAL.match(mime))


def _to_attachment(block: Block) -> dict[str, Any] | None:
    match block:
        case {"type": "image" | "audio" as kind, "data": str(data), "mimeType": str(mime)}:
            return {"type": "blob", "data": data, "mimeType": mime, "displayName": kind}
        case {"type": "resource", "resource": {"blob": str(data)} as resource}:
            mime = non_empty(resource.get("mimeType")) or "application/octet-stream"
            name = (non_empty(resource.get("uri")) or "file").rpartition("/")[2] or "file"
            return {"type": "blob", "data": data, "mimeType": mime, "displayName": name}
        case _:
            return None
