"""What a thread of Codex has and is set to → the session layer of capabilities.

In: answers that open a thread, `thread/settings/updated`, `model/list`, token counts. Out: dotted path → value, None
where nothing is known. Where ACP's sessions have the same fact, it stands in the same place, so that a frontend need
look in one only.
"""

from __future__ import annotations

from typing import Any

from gateway.wire.acp.lenient import count, items, obj, present, text, word


def of_thread(result: dict[str, Any]) -> dict[str, Any]:
    """The answer to `thread/start`, `thread/resume` or `thread/fork`."""
    thread = obj(result.get("thread"))
    told = {
        "custom.acp.models.current": word(result.get("model")),
        "custom.acp.sessionInfo.cwd": word(result.get("cwd")),
        "custom.acp.sessionInfo.title": word(thread.get("name")),
        "custom.codex.provider": word(result.get("modelProvider")),
        "custom.codex.effort": word(result.get("reasoningEffort")),
    }
    return told | _permissions(result.get("approvalPolicy"), result.get("sandbox"))


def of_settings(settings: dict[str, Any]) -> dict[str, Any]:
    told = {
        "custom.acp.models.current": word(settings.get("model")),
        "custom.codex.provider": word(settings.get("modelProvider")),
        "custom.codex.effort": word(settings.get("effort")),
        "custom.codex.summary": word(settings.get("summary")),
        "custom.codex.collaboration": word(obj(settings.get("collaborationMode")).get("mode")),
    }
    return told | _permissions(settings.get("approvalPolicy"), settings.get("sandboxPolicy"))


def _permissions(policy: Any, sandbox: Any) -> dict[str, Any]:
    """A policy is a word, or an object of rules, whose name is enough here."""
    rules = next(iter(policy), None) if isinstance(policy, dict) else policy
    return {"custom.codex.approvalPolicy": word(rules), "custom.codex.sandbox": word(obj(sandbox).get("type"))}


def of_usage(usage: dict[str, Any]) -> dict[str, Any]:
    """How full the context is."""
    return {
        "custom.acp.usage.used": count(obj(usage.get("last")).get("totalTokens")),
        "custom.acp.usage.size": count(usage.get("modelContextWindow")),
    }


def models(result: Any) -> list[dict[str, Any]]:
    """`model/list`: what may be asked for, the default first said so."""
    found = []
    for model in items(obj(result).get("data")):
        if (name := word(model.get("id"))) is None or model.get("hidden") is True:
            continue
        levels = [word(one.get("reasoningEffort")) for one in items(model.get("supportedReasoningEfforts"))]
        about = {
            "id": name,
            "name": text(model.get("displayName")),
            "description": text(model.get("description")),
            "efforts": [level for level in levels if level],
            "defaultEffort": word(model.get("defaultReasoningEffort")),
            "default": True if model.get("isDefault") is True else None,
            "successor": word(model.get("upgrade")),
        }
        found.append(present(about))
    return found


def threads(result: Any) -> list[dict[str, Any]]:
    """`thread/list`."""
    found = []
    for thread in items(obj(result).get("data")):
        if (name := word(thread.get("id"))) is not None:
            title = word(thread.get("name")) or word(thread.get("preview"))
            about = {"cwd": word(thread.get("cwd")), "updatedAt": count(thread.get("updatedAt"))}
            found.append(present({"sessionId": name, "title": title, **about}))
    return found
