"""Reads the formats that agents keep settings in: JSON, JSON with comments, TOML, `.env`. Pure.

In: the text of a foreign file. Out: a tree of plain values. Raises `ValueError`, and nothing else, for what it cannot
read. A key that a JSON object has twice is kept twice: which of them an agent reads is the agent's own business.
"""

from __future__ import annotations

import json
import re
import tomllib
from typing import Any

_TOKENS = re.compile(r'"(?:\\.|[^"\\])*"|//[^\n]*|/\*.*?\*/', re.DOTALL)
_TRAILING_COMMA = re.compile(r'("(?:\\.|[^"\\])*")|,(?=\s*[}\]])', re.DOTALL)
_ASSIGNMENT = re.compile(r"^\s*(?:export\s+)?([A-Za-z_][\w.]*)\s*=\s*(.*)$")


def parse_file(name: str, content: str) -> Any:
    """`name`: decides the format. Text in no known format is one string."""
    lower = name.lower()
    try:
        if lower.endswith((".json", ".jsonc", ".json5")):
            return parse_json(content)
        if lower.endswith(".toml"):
            return tomllib.loads(content)
    except RecursionError as exc:
        raise ValueError("nested too deeply") from exc
    return content


def parse_json(content: str) -> Any:
    try:
        return json.loads(content, object_pairs_hook=_keep_all)
    except ValueError:
        plain = _TOKENS.sub(lambda found: found[0] if found[0].startswith('"') else " ", content)
        plain = _TRAILING_COMMA.sub(lambda found: found[1] or "", plain)
        return json.loads(plain, object_pairs_hook=_keep_all)


def parse_environment(content: str) -> dict[str, str]:
    """Variables of a `.env` file."""
    found = (_ASSIGNMENT.match(line) for line in content.splitlines())
    return {match[1]: match[2].strip().strip("'\"") for match in found if match}


def _keep_all(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for key, value in pairs:
        while key in tree:
            key = f"{key} (again)"
        tree[key] = value
    return tree
