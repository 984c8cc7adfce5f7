"""What Hermes says of a session, its models and its other sessions → facts and lists."""

from __future__ import annotations

from typing import Any

from gateway.capability_paths import CWD, EFFORT, MCP_SERVERS, MODEL, PERMISSION_MODE, PROVIDER, TITLE
from gateway.wire.fields import items, non_empty, obj, present, text

KEPT = {
    "provider": PROVIDER,
    "reasoning_effort": EFFORT,
    "approval_mode": PERMISSION_MODE,
    "cwd": CWD,
    "title": TITLE,
}
"""Of `session.info`, what is worth knowing → its place in the snapshot."""


def facts_of(info: dict[str, Any]) -> dict[str, Any]:
    """By dotted path. Its tools by their sets; the system prompt and prices of updates stay inside."""
    found: dict[str, Any] = {KEPT[name]: non_empty(info.get(name)) for name in KEPT}
    model, provider = non_empty(info.get("model")), found[PROVIDER]
    found[MODEL] = f"{provider}:{model}" if provider and model else model
    sets = [tools for tools in obj(info.get("tools")).values() if isinstance(tools, list)]
    found["tools.items"] = [{"name": tool, "description": ""} for tools in sets for tool in tools if non_empty(tool)]
    found[MCP_SERVERS] = [
        {"name": name} for one in items(info.get("mcp_servers")) if (name := non_empty(one.get("name")))
    ]
    return present(found)


def model_list(result: Any) -> list[dict[str, Any]]:
    """`provider:model`, as `model` of a run takes it. Providers that nobody is signed in to are left out."""
    told = obj(result)
    current = (text(told.get("provider")), text(told.get("model")))
    found: list[dict[str, Any]] = []
    for provider in items(told.get("providers")):
        slug, models = non_empty(provider.get("slug")), provider.get("models")
        if slug is None or not isinstance(models, list) or provider.get("authenticated") is False:
            continue
        able = obj(provider.get("capabilities"))
        for model in models:
            if isinstance(model, str) and model:
                thinks = obj(able.get(model)).get("reasoning")
                entry = {"id": f"{slug}:{model}", "name": model, "provider": slug}
                more = {"thinking": thinks if isinstance(thinks, bool) else None}
                more["current"] = True if (slug, model) == current else None
                found.append(present(entry | more))
    return found
