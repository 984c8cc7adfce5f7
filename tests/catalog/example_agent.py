"""An invented agent with models and effort, for tests of the catalog."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

from gateway.catalog.definition import AgentDefinition

EFFORT: dict[str, Any] = {
    "parameter": "think",
    "values": {"low": "brief", "medium": "normal", "high": "deep", "max": "abyss"},
    "budget_parameter": "budget_tokens",
    "budget_range": (100, 9000),
    "override_parameters": ("style",),
}
MODELS: tuple[dict[str, Any], ...] = (
    {
        "id": "otter-2-large",
        "aliases": ("large", "big"),
        "name": "Otter 2 Large",
        "default": True,
        "context": 200_000,
        "output": 32_000,
        "thinking": True,
        "budget": (1024, 4096),
        "price": {"input": Decimal("3"), "cached_input": Decimal("0.3"), "output": Decimal("15")},
        "verified": "2026-02-03",
    },
    {"id": "otter-2-small", "aliases": ("small",), "thinking": False, "image_input": False, "argument": "otter-s"},
    {
        "id": "otter-1",
        "deprecated": "2025-12-01",
        "successor": "otter-2-small",
        "effort": {"low": "x"},
        "budget": False,
    },
)


def otter(**more: Any) -> AgentDefinition:
    """A command-line agent; `more` sets any key of its file."""
    table: dict[str, Any] = {
        "id": "otter",
        "driver": "cli",
        "identity": {"name": "Otter"},
        "command": {"run": ("otter",)},
        "cli": {"dialect": "otter-json", "flags": {"model": ["--model", "{model}"]}},
        "effort": EFFORT,
        "models": MODELS,
        "verified": "2026-01-15",
        "source": Path("folder/otter.toml"),
        **more,
    }
    return AgentDefinition.model_validate(table)
