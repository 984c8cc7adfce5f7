"""What Claude Code tells of itself and of a session → layers of capabilities.

In: the answer to `initialize`, the `init` line of a turn, a list of models. Out: dotted path → value. Of the account
only how it is reached: who it belongs to is nobody's business.
"""

from __future__ import annotations

from typing import Any

from gateway.capability_paths import COMMANDS, CWD, MCP_SERVERS, MODE, MODEL, MODELS, PERMISSION_MODE, SKILLS
from gateway.capability_paths import MODES as MODES_OFFERED
from gateway.wire.dialects.claude.client_tools import PREFIX, SERVER
from gateway.wire.fields import items, non_empty, obj, present, text

MODES = ("default", "acceptEdits", "plan", "dontAsk", "auto")
"""What a session can be set to. Without any checks it can only be started."""


def of_handshake(told: dict[str, Any]) -> dict[str, Any]:
    """The answer to `initialize`, as far as it holds for every session."""
    account = obj(told.get("account"))
    return present(
        {
            "identity.version": non_empty(told.get("claude_code_version")),
            "multiAgent.subagents": _described(told.get("agents")),
            MODELS: [_shown(model) for model in models(told.get("models"))],
            MODES_OFFERED: [{"id": mode} for mode in MODES],
            "custom.claude.provider": non_empty(account.get("apiProvider")),
            "custom.claude.keySource": non_empty(account.get("apiKeySource")),
        }
    )


def of_session(told: dict[str, Any]) -> dict[str, Any]:
    """The answer to `initialize`, as far as it is about this one."""
    return present(
        {
            **mode(told.get("current_permission_mode")),
            COMMANDS: commands(told.get("commands")),
            "custom.claude.outputStyle": non_empty(told.get("output_style")),
        }
    )


def of_turn(line: dict[str, Any]) -> dict[str, Any]:
    """`init`: at the beginning of every turn."""
    told = items(line.get("mcp_servers"))
    servers = [{"name": non_empty(one.get("name")), "status": non_empty(one.get("status"))} for one in told]
    own = [name for name in _words(line.get("tools")) if not name.startswith(PREFIX)]  # the others are the client's
    return present(
        {
            "identity.version": non_empty(line.get("claude_code_version")),
            "tools.items": [{"name": name, "description": ""} for name in own],
            MODEL: non_empty(line.get("model")),
            **mode(line.get("permissionMode")),
            CWD: non_empty(line.get("cwd")),
            MCP_SERVERS: [present(one) for one in servers if one["name"] not in (None, SERVER)],
            SKILLS: _words(line.get("skills")),
            "custom.claude.agents": _words(line.get("agents")),
            "custom.claude.outputStyle": non_empty(line.get("output_style")),
        }
    )


def mode(told: Any) -> dict[str, Any]:
    """Its modes are about nothing but permissions."""
    return {MODE: non_empty(told), PERMISSION_MODE: non_empty(told)}


def named_commands(line: dict[str, Any]) -> list[dict[str, Any]]:
    """`init` has their names alone: for a session that was told no more."""
    return [{"name": name} for name in _words(line.get("slash_commands"))]


def models(told: Any) -> list[dict[str, Any]]:
    """Each model once, in the words of an agent's file: Claude lists the default, and every short name, as a row."""
    found: dict[str, dict[str, Any]] = {}
    for row in items(told):
        alias = non_empty(row.get("value"))
        name = non_empty(row.get("resolvedModel")) or alias
        if alias is None or name is None:
            continue
        known = found.setdefault(name, {"id": name, "aliases": []})
        known["default"] = known.get("default", False) or alias == "default"
        if alias not in ("default", name):
            known["aliases"].append(alias)
        if alias != "default" or "name" not in known:
            known |= _about(row)
    return [present(model) for model in found.values()]


def _about(row: dict[str, Any]) -> dict[str, Any]:
    efforts = _words(row.get("supportedEffortLevels")) if row.get("supportsEffort") is True else []
    thinks = True if row.get("supportsAdaptiveThinking") is True else None
    names = {"name": text(row.get("displayName")), "description": text(row.get("description"))}
    return present({**names, "efforts": efforts, "thinking": thinks})


def _shown(model: dict[str, Any]) -> dict[str, Any]:
    return {key: model[key] for key in ("id", "name", "description") if key in model}


def commands(told: Any) -> list[dict[str, Any]]:
    return [{**about, **_hint(one)} for one in items(told) for about in _described([one])]


def _hint(command: dict[str, Any]) -> dict[str, Any]:
    return present({"hint": text(command.get("argumentHint"))})


def _described(told: Any) -> list[dict[str, Any]]:
    found = ({"name": non_empty(one.get("name")), "description": text(one.get("description"))} for one in items(told))
    return [present(agent) for agent in found if agent["name"]]


def _words(told: Any) -> list[str]:
    return [one for one in told if isinstance(one, str) and one] if isinstance(told, list) else []
