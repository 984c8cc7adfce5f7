"""What a thread of Codex has and is set to → the session layer of capabilities.

In: answers that open a thread, `thread/settings/updated`, `model/list`, token counts. Out: dotted path → value, None
where nothing is known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from gateway.capability_paths import (
    CONTEXT_TOKENS,
    CWD,
    EFFORT,
    MCP_SERVERS,
    MODEL,
    PERMISSION_MODE,
    PROVIDER,
    SANDBOX,
    TITLE,
    USED_TOKENS,
)
from gateway.wire.fields import count, items, non_empty, obj, present, text


def of_thread(result: dict[str, Any]) -> dict[str, Any]:
    """The answer to `thread/start`, `thread/resume` or `thread/fork`."""
    thread = obj(result.get("thread"))
    told = {
        MODEL: non_empty(result.get("model")),
        CWD: non_empty(result.get("cwd")),
        TITLE: non_empty(thread.get("name")),
        PROVIDER: non_empty(result.get("modelProvider")),
        EFFORT: non_empty(result.get("reasoningEffort")),
    }
    return told | _permissions(result.get("approvalPolicy"), result.get("sandbox"))


def of_settings(settings: dict[str, Any]) -> dict[str, Any]:
    told = {
        MODEL: non_empty(settings.get("model")),
        PROVIDER: non_empty(settings.get("modelProvider")),
        EFFORT: non_empty(settings.get("effort")),
        "custom.codex.summary": non_empty(settings.get("summary")),
        "custom.codex.collaboration": non_empty(obj(settings.get("collaborationMode")).get("mode")),
    }
    return told | _permissions(settings.get("approvalPolicy"), settings.get("sandboxPolicy"))


def _permissions(policy: Any, sandbox: Any) -> dict[str, Any]:
    """A policy is a word, or an object of rules, whose name is enough here."""
    rules = next(iter(policy), None) if isinstance(policy, dict) else policy
    return {PERMISSION_MODE: non_empty(rules), SANDBOX: non_empty(obj(sandbox).get("type"))}


def of_usage(usage: dict[str, Any]) -> dict[str, Any]:
    """How full the context is."""
    return {
        USED_TOKENS: count(obj(usage.get("last")).get("totalTokens")),
        CONTEXT_TOKENS: count(usage.get("modelContextWindow")),
    }


def of_server(known: Mapping[str, Any], params: dict[str, Any]) -> dict[str, Any]:
    """How one MCP server stands now, among those that are known."""
    if (name := non_empty(params.get("name"))) is None:
        return {}
    others = [one for one in known.get(MCP_SERVERS, ()) if one["name"] != name]
    about = present({"name": name, "status": non_empty(params.get("status")), "error": text(params.get("error"))})
    return {MCP_SERVERS: [*others, about]}


def models(result: Any) -> list[dict[str, Any]]:
    """`model/list`: what may be asked for, the default first said so."""
    found = []
    for model in items(obj(result).get("data")):
        if (name := non_empty(model.get("id"))) is None or model.get("hidden") is True:
            continue
        levels = [non_empty(one.get("reasoningEffort")) for one in items(model.get("supportedReasoningEfforts"))]
        about = {
            "id": name,
            "name": text(model.get("displayName")),
            "description": text(model.get("description")),
            "efforts": [level for level in levels if level],
            "defaultEffort": non_empty(model.get("defaultReasoningEffort")),
            "default": True if model.get("isDefault") is True else None,
            "successor": non_empty(model.get("upgrade")),
        }
        found.append(present(about))
    return found
