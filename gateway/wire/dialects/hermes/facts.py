"""What Hermes says of a session, its models and its other sessions → facts and lists."""

from __future__ import annotations

from typing import Any

from gateway.wire.acp.lenient import items, obj, present, text, word

KEPT = {
    "model": "model",
    "provider": "provider",
    "reasoning_effort": "reasoningEffort",
    "approval_mode": "approvalMode",
    "cwd": "cwd",
    "title": "title",
}
"""Of `session.info`, what is worth knowing → its name in the snapshot."""


def facts_of(info: dict[str, Any]) -> dict[str, Any]:
    """By dotted path. Its tools by their sets; the system prompt and prices of updates stay inside."""
    found: dict[str, Any] = {KEPT[name]: word(info.get(name)) for name in KEPT}
    found["tools"] = [tool for tools in obj(info.get("tools")).values() if isinstance(tools, list) for tool in tools]
    found["mcpServers"] = [word(server.get("name")) for server in items(info.get("mcp_servers"))]
    return {f"custom.hermes.{name}": value for name, value in present(found).items()}


def model_list(result: Any) -> list[dict[str, Any]]:
    """`provider:model`, as `model` of a run takes it. Providers that nobody is signed in to are left out."""
    told = obj(result)
    current = (text(told.get("provider")), text(told.get("model")))
    found: list[dict[str, Any]] = []
    for provider in items(told.get("providers")):
        slug, models = word(provider.get("slug")), provider.get("models")
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


def session_list(result: Any) -> list[dict[str, Any]]:
    return [
        present({"id": word(one.get("id")), "title": text(one.get("title")), "preview": text(one.get("preview"))})
        for one in items(obj(result).get("sessions"))
        if word(one.get("id"))
    ]
