"""The mistakes that the loader finds in a definition."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gateway.catalog.load import InvalidDefinition, define
from gateway.catalog.problems import Place


def mistakes(**more: Any) -> list[tuple[Place, str]]:
    """The mistakes in a minimal definition with these keys, each with its place."""
    minimal = {"id": "mine", "driver": "python", "entry": "mine:agent", "identity": {"name": "Mine"}}
    try:
        define({**minimal, **more}, Path("mine.toml"))
    except InvalidDefinition as exc:
        return [(problem.place, problem.message) for problem in exc.problems]
    return []
