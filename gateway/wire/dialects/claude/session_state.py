"""What Claude Code reports about itself and a session → layers of capabilities.

In: the answer to `initialize`, the `init` line of a turn, a list of models. Out: dotted path → value. Never: who owns
the account; only its provider and key source are read.
"""

from __future__ import annotations

import re
from typing import Any

from gateway import capability_paths as paths
from gateway.wire.dialects.claude.client_tools import PREFIX
from gateway.wire.fields import items, non_empty, obj, present, text, unique_strings
from gateway.wire.mcp_server import SERVER

SETTABLE_MODES = ("default", "acceptEdits", "plan", "dontAsk", "auto")
"""Modes that a session can be set to. `bypassPermissions` can only be chosen when the process starts."""


SUMMARY_KEYS = ("id", "name", "description", "efforts", "default")


def handshake_layer(response: dict[str, Any]) -> dict[str, Any]:
    """The part of the answer to `initialize` that holds for every session."""
    account = obj(response.get("account"))
    return present(
        {
            "identity.version": non_empty(response.get("claude_code_version")),
            "multiAgent.subagents": _read_descriptions(response.get("agents")),
            paths.MODELS: [_summarize_model(model) for model in read_models(response.get("models"))],
            paths.MODES: [{"id": mode} for mode in SETTABLE_MODES],
            "custom.claude.provider": non_empty(account.get("apiProvider")),
            "custom.claude.keySource": non_empty(account.get("apiKeySource")),
        }
    )


def session_layer(response: dict[str, Any]) -> dict[str, Any]:
    """The part of the answer to `initialize` that holds for this session."""
    return present(
        {
            **mode_layer(response.get("current_permission_mode")),
            paths.COMMANDS: read_commands(response.get("commands")),
            "custom.claude.outputStyle": non_empty(response.get("output_style")),
        }
    )


def turn_layer(line: dict[str, Any]) -> dict[str, Any]:
    """The `init` line, which begins every turn."""
    servers = [
        {"name": non_empty(server.get("name")), "status": non_empty(server.get("status"))}
        for server in items(line.get("mcp_servers"))
    ]
    # Names with our prefix are the client's tools.
    tools = [_rename_tool(name, line) for name in unique_strings(line.get("tools")) if not name.startswith(PREFIX)]
    return present(
        {
            "identity.version": non_empty(line.get("claude_code_version")),
            "tools.items": [{"name": name, "description": ""} for name in tools],
            paths.MODEL: non_empty(line.get("model")),
            **mode_layer(line.get("permissionMode")),
            paths.CWD: non_empty(line.get("cwd")),
            paths.MCP_SERVERS: [present(server) for server in servers if server["name"] not in (None, SERVER)],
            paths.SKILLS: unique_strings(line.get("skills")),
            "custom.claude.agents": unique_strings(line.get("agents")),
            "custom.claude.outputStyle": non_empty(line.get("output_style")),
        }
    )


def _rename_tool(name: str, line: dict[str, Any]) -> str:
    """The name that the model sees: since 2.1.63 the line has an old one for the tool that starts subagents."""
    version = [int(part) for part in re.findall(r"\d+", non_empty(line.get("claude_code_version")) or "")]
    return "Agent" if name == "Task" and version >= [2, 1, 63] else name


def mode_layer(mode: Any) -> dict[str, Any]:
    """Claude's modes are permission modes and nothing else."""
    return {paths.MODE: non_empty(mode), paths.PERMISSION_MODE: non_empty(mode)}


def read_models(rows: Any) -> list[dict[str, Any]]:
    """Each model once, with the fields of an agent file. Claude lists a row for the default and for every alias."""
    models: dict[str, dict[str, Any]] = {}
    for row in items(rows):
        alias = non_empty(row.get("value"))
        model_id = non_empty(row.get("resolvedModel")) or alias
        if alias is None or model_id is None:
            continue
        model = models.setdefault(model_id, {"id": model_id, "aliases": []})
        model["default"] = model.get("default", False) or alias == "default"
        if alias not in ("default", model_id):
            model["aliases"].append(alias)
        if alias != "default" or "name" not in model:
            model |= _describe_model(row)
    return [present(model) for model in models.values()]


def _describe_model(row: dict[str, Any]) -> dict[str, Any]:
    return present(
        {
            "name": text(row.get("displayName")),
            "description": text(row.get("description")),
            "efforts": unique_strings(row.get("supportedEffortLevels")) if row.get("supportsEffort") is True else [],
            "thinking": True if row.get("supportsAdaptiveThinking") is True else None,
        }
    )


def _summarize_model(model: dict[str, Any]) -> dict[str, Any]:
    return {key: model[key] for key in SUMMARY_KEYS if model.get(key, False) is not False}


def read_commands(commands: Any) -> list[dict[str, Any]]:
    return [
        {**description, **present({"hint": text(command.get("argumentHint"))})}
        for command in items(commands)
        for description in _read_descriptions([command])
    ]


def read_command_names(line: dict[str, Any]) -> list[dict[str, Any]]:
    """The commands as `init` lists them: names only, for a session that has no other list."""
    return [{"name": name} for name in unique_strings(line.get("slash_commands"))]


def _read_descriptions(entries: Any) -> list[dict[str, Any]]:
    return [
        present({"name": name, "description": text(entry.get("description"))})
        for entry in items(entries)
        if (name := non_empty(entry.get("name"))) is not None
    ]
