"""Hermes' reports about a session and its models as capability layers and lists."""

from __future__ import annotations

from typing import Any

from gateway.capability_paths import CWD, EFFORT, MCP_SERVERS, MODEL, PERMISSION_MODE, PROVIDER, TITLE
from gateway.wire.fields import flag, items, non_empty, obj, present, strings, text

INFO_PATHS = {
    "provider": PROVIDER,
    "reasoning_effort": EFFORT,
    "approval_mode": PERMISSION_MODE,
    "cwd": CWD,
    "title": TITLE,
}
"""Fields of `session.info` → their paths in the session layer."""


def read_session_info(info: dict[str, Any]) -> dict[str, Any]:
    """The session layer by dotted path. Tools are listed from their toolsets. The system prompt stays inside."""
    layer: dict[str, Any] = {path: non_empty(info.get(name)) for name, path in INFO_PATHS.items()}
    model = non_empty(info.get("model"))
    provider = layer[PROVIDER]
    layer[MODEL] = f"{provider}:{model}" if provider and model else model
    toolsets = [strings(tools) for tools in obj(info.get("tools")).values()]
    layer["tools.items"] = [{"name": tool, "description": ""} for tools in toolsets for tool in tools if tool]
    names = [non_empty(server.get("name")) for server in items(info.get("mcp_servers"))]
    layer[MCP_SERVERS] = [{"name": name} for name in names if name]
    return present(layer)


def read_models(result: Any) -> list[dict[str, Any]]:
    """Models as `provider:model`, the form that a run's `model` takes. Providers without a sign-in are left out."""
    response = obj(result)
    current = (text(response.get("provider")), text(response.get("model")))
    models: list[dict[str, Any]] = []
    for provider in items(response.get("providers")):
        slug = non_empty(provider.get("slug"))
        if slug is None or provider.get("authenticated") is False:
            continue
        capabilities = obj(provider.get("capabilities"))
        for model in filter(None, strings(provider.get("models"))):
            entry = {
                "id": f"{slug}:{model}",
                "name": model,
                "provider": slug,
                "thinking": flag(obj(capabilities.get(model)).get("reasoning")),
                "current": True if (slug, model) == current else None,
            }
            models.append(present(entry))
    return models


def read_providers(result: Any) -> tuple[str, ...]:
    """The names of all providers, the longest first: a name may be the beginning of another."""
    slugs = {slug for provider in items(obj(result).get("providers")) if (slug := non_empty(provider.get("slug")))}
    return tuple(sorted(slugs, key=len, reverse=True))
