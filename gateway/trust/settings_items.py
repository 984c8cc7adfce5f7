"""The settings of one file of a project, as a list of what they run or set. Pure.

In: a parsed file of any vendor. Out: items, each with its kind, its key and a line of text. Every key of the file is in
the list: what no table here knows is listed as a plain setting, so that nothing can hide in a new key.
"""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from gateway.trust.text import show_text

MAX_DEPTH = 6

EACH_ENTRY = {
    "hooks": "hook",
    "mcpservers": "mcp-server",
    "mcp_servers": "mcp-server",
    "servers": "mcp-server",
    "env": "environment",
    "enabledplugins": "plugin",
    "extraknownmarketplaces": "plugin",
    "marketplaces": "plugin",
    "plugins": "plugin",
    "formatter": "helper",
    "lsp": "helper",
}
"""Key, in lower case → kind of each of its entries."""

WHOLE_VALUE = {
    **dict.fromkeys(
        (
            "apikeyhelper", "awsauthrefresh", "awscredentialexport", "gcpauthrefresh", "otelheadershelper",
            "statusline", "filesuggestion", "subagentstatusline", "notify", "discoverycommand", "tooldiscoverycommand",
            "callcommand", "toolcallcommand", "servercommand", "mcpservercommand", "command", "helper",
            "shell", "forkcommand",
        ),
        "helper",
    ),
    **dict.fromkeys(
        (
            "permissions", "permission", "approvalmode", "approval_policy", "approvals", "sandbox", "sandbox_mode",
            "sandbox_workspace_write", "defaultmode", "autoaccept", "yolo", "trust_level", "foldertrust", "allowed",
            "allow", "deny", "enableallprojectmcpservers", "enabledmcpjsonservers", "disableallhooks",
            "allowmcpservers", "permissionmode", "trustedfolders", "disablebypasspermissionsmode", "auto_approve",
        ),
        "permission",
    ),
    **dict.fromkeys(("plugin", "extensions", "packages", "skills", "extension", "tools_path"), "plugin"),
}  # fmt: skip
"""Key, in lower case → kind of its value."""

URL_KEY = re.compile(r"(url|uri|endpoint|proxy|host)s?$", re.IGNORECASE)
SECRET_KEY = re.compile(r"key|token|secret|passw|credential|authorization|cookie", re.IGNORECASE)
RUNNING_KEY = re.compile(r"command|helper|cmd|exec|script|hook", re.IGNORECASE)
"""A key with one of these parts is never masked, whatever else its name says: it may run something."""
COMMAND_KEYS = (
    "command",
    "cmd",
    "bash",
    "powershell",
    "args",
    "url",
    "serverUrl",
    "httpUrl",
    "script",
    "exec",
    "run",
    "prompt",
)


@dataclass(frozen=True, slots=True)
class SettingsItem:
    kind: str
    key: str
    """The path of the key in the file, with dots."""
    text: str


def read_items(tree: Any, kind: str | None = None) -> Iterator[SettingsItem]:
    """`kind`: of every entry of the file, where the file is for one kind only."""
    if not isinstance(tree, Mapping):
        yield SettingsItem(kind or "setting", "", describe(tree))
        return
    yield from _items((), tree, kind)


def _items(path: tuple[str, ...], tree: Mapping[str, Any], kind: str | None) -> Iterator[SettingsItem]:
    for key, value in tree.items():
        name = str(key)
        here = (*path, name)
        each = EACH_ENTRY.get(name.lower()) or ("mcp-server" if name == "mcp" and _holds_servers(value) else None)
        if each is not None and isinstance(value, Mapping) and value:
            for entry, content in value.items():
                yield _item(each, (*here, str(entry)), content)
        elif (whole := WHOLE_VALUE.get(name.lower())) is not None or each is not None:
            yield _item(whole or each or "setting", here, value)
        elif isinstance(value, Mapping) and value and len(here) < MAX_DEPTH:
            yield from _items(here, value, kind)
        elif isinstance(value, str) and URL_KEY.search(name):
            yield _item("base-url", here, value)
        else:
            yield _item(kind or "setting", here, value)


def _holds_servers(value: Any) -> bool:
    """opencode's `mcp` has a server for each name; gemini's has settings."""
    return isinstance(value, Mapping) and any(isinstance(entry, Mapping) for entry in value.values())


def _item(kind: str, path: tuple[str, ...], value: Any) -> SettingsItem:
    name = path[-1]
    if kind == "environment" and isinstance(value, str):
        if URL_KEY.search(name):
            kind = "base-url"
        elif is_secret(name):
            value = "(a value that is not shown)"
    elif kind == "setting" and isinstance(value, str) and is_secret(name):
        value = "(a value that is not shown)"
    return SettingsItem(kind, show_text(".".join(path), 200), describe(value))


def is_secret(name: str) -> bool:
    return SECRET_KEY.search(name) is not None and RUNNING_KEY.search(name) is None


def describe(value: Any) -> str:
    """What a value runs, where it names a command or an address; else the value itself."""
    if isinstance(value, str):
        return show_text(value)
    if commands := list(_commands(value, 0)):
        return show_text(" ; ".join(commands))
    return show_text(_dump(value))


def _commands(value: Any, depth: int) -> Iterator[str]:
    if depth > MAX_DEPTH * 2:
        return
    if isinstance(value, Mapping):
        line = [part for key in COMMAND_KEYS for part in _arguments(value.get(key))]
        if line:
            yield line[0] if len(line) == 1 else f"{line[0]} {shlex.join(line[1:])}"
        for key, child in value.items():
            if key not in COMMAND_KEYS and not (key in ("env", "headers") and isinstance(child, Mapping)):
                yield from _commands(child, depth + 1)
    elif isinstance(value, list):
        for child in value:
            yield from _commands(child, depth + 1)


def _arguments(value: Any) -> list[str]:
    if isinstance(value, str):
        return [value]
    return [str(each) for each in value] if isinstance(value, list) else []


def _dump(value: Any) -> str:
    return json.dumps(_masked(value, 0), ensure_ascii=False, default=str)


def _masked(value: Any, depth: int) -> Any:
    """Values under secret names are left out: the question is stored with the run."""
    if depth > MAX_DEPTH * 2:
        return "…"
    if isinstance(value, Mapping):
        return {
            str(key): "…" if isinstance(child, str) and is_secret(str(key)) else _masked(child, depth + 1)
            for key, child in value.items()
        }
    if isinstance(value, list):
        return [_masked(child, depth + 1) for child in value]
    return value
