"""What is wrong with a definition, as the loader tells it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gateway.catalog.load import InvalidDefinition, define
from gateway.catalog.problems import Place


def mistakes(**more: Any) -> list[tuple[Place, str]]:
    """What is wrong with a definition that has these keys too, each with its place."""
    least = {"id": "mine", "driver": "python", "entry": "mine:agent", "identity": {"name": "Mine"}}
    try:
        define({**least, **more}, Path("mine.toml"))
    except InvalidDefinition as exc:
        return [(wrong.place, wrong.message) for wrong in exc.wrongs]
    return []
