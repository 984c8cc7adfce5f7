"""Two agents' files: one that says everything that can be said, and one that says nothing."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gateway.capability_paths import unflatten
from gateway.catalog.manifest import Manifest
from tests.behaviour.acp.harness import toml
from tests.interfaces import Interface, interface

DAY = "2026-01-02"
SPELT = {"multiAgent.subAgents": "multiAgent.subagents"}
"""As AG-UI 1.0 has it."""
CODE = "async def agent(turn):\n    yield 'yes'\n"

# fmt: off
STATED: dict[str, Any] = {
    "can_resume": True, "can_fork": True, "supports_multi_turn": True, "session_persistence": "file",
    "supports_text_streaming": True, "supports_tool_call_streaming": True, "supports_thinking_streaming": True,
    "supports_mcp": True, "requires_tool_approval": True, "approval_modes": ["yolo"], "supports_json_mode": True,
    "supports_skills": True, "supports_agents_md": True, "skills_format": "file", "supports_parallel_execution": True,
    "max_parallel_tasks": 2, "supports_interactive_mode": True, "supports_stdin_injection": True,
    "supports_file_attachments": True, "supports_plugins": True, "plugin_formats": ["npm-package"],
    "plugin_install_cmd": "whole add", "plugin_list_cmd": "whole list", "plugin_uninstall_cmd": "whole drop",
    "plugin_search_cmd": "whole find", "plugin_marketplace_url": "https://whole.example",
    "plugin_registries": [{"name": "whole", "url": "https://whole.example", "searchable": True}],
    "supported_platforms": ["linux"], "requires_git_repo": True, "requires_pty": True, "auth_methods": ["oauth"],
    "auth_files": ["~/.whole"],
}
MODEL: dict[str, Any] = {
    "id": "large", "aliases": ["big"], "name": "Large", "default": True, "deprecated": DAY, "successor": "larger",
    "context": 1000, "output": 100, "thinking": True, "max_thinking": 50, "effort": {"low": "1"}, "budget": [1, 2],
    "price": {
        "input": 1, "cached_input": 1, "output": 1, "thinking": 1, "cache_write": 1, "cache_write_1h": 2,
        "tiers": [{"above": 10, "input": 2}],
    },
    "pdf_input": True, "tools": True, "parallel_tools": True,
    "tool_streaming": True, "json_mode": True, "structured_output": True, "text_streaming": True,
    "thinking_streaming": True, "image_input": True, "image_output": True, "file_input": True, "provider": "Whole",
    "provider_model": "large-1", "protocol": "chat", "deployment": "hosted", "local": True,
}
# fmt: on
VALUES: dict[str, Any] = {
    "boolean": True,
    "string": "word",
    "number": 7,
    "object": {"key": "value"},
    "string[]": ["word"],
    "Tool[]": [{"name": "look", "description": "Looks."}],
    "SubAgent[]": [{"name": "scout"}],
}


def write_whole(folder: Path) -> None:
    folder.mkdir()
    (folder / "code.py").write_text(CODE, "utf-8")
    assert STATED.keys() == Manifest.model_fields.keys()
    whole: dict[str, Any] = {"id": "whole", "driver": "python", "entry": "code:agent", "verified": DAY}
    whole |= {"identity": {"name": "Whole"}, "capabilities": _stated(), "manifest": STATED, "models": [MODEL]}
    whole |= {"effort": {"parameter": "effort", "values": {"low": "1"}, "budget_parameter": "tokens"}}
    _write(folder / "whole.toml", whole | {"install": [{"kind": "npm", "package": "whole"}]})
    silent = {"id": "silent", "driver": "acp", "command": {"run": ["silent"]}, "identity": {"name": "Silent"}}
    _write(folder / "silent.toml", silent)


def _write(path: Path, keys: dict[str, Any]) -> None:
    text = "\n".join(f"{key} = {toml(value)}" for key, value in keys.items())
    path.write_text(text.replace(f'"{DAY}"', DAY), "utf-8")  # TOML has days of its own


def _stated() -> dict[str, Any]:
    """Every field of AG-UI's, and under `custom.acp` every one of agents-wire's."""
    stated = {SPELT.get(field.path, field.path): VALUES[field.type] for field in interface("agui").fields}
    wire = {field.path: True for field in interface("acp").fields if not field.extra}
    return unflatten(stated | {"custom": {"acp": unflatten(wire)}})


def answered_by(value: Any, against: Interface) -> set[str]:
    return {field.path for field in against.fields if _has(value, field.path)}


def _has(value: Any, path: str) -> bool:
    for key in path.split("."):
        if not isinstance(value, dict) or key not in value:
            return False
        value = value[key]
    return True
