"""Layers → one snapshot, with the source of each capability."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any

import orjson

from gateway.capabilities.layers import LAYERS, LayerStatement
from gateway.capability_paths import unflatten

UNKNOWN_SOURCE = "unknown"
"""The source of a capability that no layer states."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    """What an agent can do: dotted path → value."""

    values: dict[str, Any]
    sources: dict[str, list[LayerStatement]]
    """Path → the layers that state it. The last one decides, the others are overridden."""

    def get(self, path: str) -> Any:
        return self.values.get(path)

    def source_of(self, path: str) -> str:
        """The layer that decides, for an error message: `profile (echo.toml)`."""
        statements = self.sources.get(path)
        return statements[-1].label if statements else UNKNOWN_SOURCE

    def tree(self) -> dict[str, Any]:
        """AG-UI's AgentCapabilities."""
        return unflatten(self.values)

    def explain(self) -> dict[str, Any]:
        """Each path with its value, the layer that states it, and the layers that this one overrides."""
        return {path: _explain_path(path, statements) for path, statements in sorted(self.sources.items())}


def merge(layers: Iterable[LayerStatement]) -> Snapshot:
    """Later layers win, key by key. A missing key states nothing; it is not False. Neither does an empty object: it
    leaves what other layers state below it. If one layer has a value where another has an object, the later one stays.
    """
    values: dict[str, Any] = {}
    sources: dict[str, list[LayerStatement]] = {}
    parents_of_all: set[str] = set()
    """Paths below which there is, or was, a value: only these need be searched."""
    for statement in sorted(layers, key=lambda statement: LAYERS.index(statement.layer)):
        for path, value in statement.values.items():
            parents = _parents(path)
            above = [other for other in parents if other in values]
            below = [other for other in values if other.startswith(f"{path}.")] if path in parents_of_all else []
            parents_of_all.update(parents)
            if value == {} and (below or path in values):
                continue
            for other in (*above, *below):
                del values[other]
                del sources[other]
            values[path] = value
            sources.setdefault(path, []).append(statement)
    return Snapshot(values, sources)


def _parents(path: str) -> list[str]:
    """`a.b.c` → `a`, `a.b`."""
    dots = [index for index, character in enumerate(path) if character == "."]
    return [path[:index] for index in dots]


def _explain_path(path: str, statements: list[LayerStatement]) -> dict[str, Any]:
    *overridden, last = (_explain_statement(path, statement) for statement in statements)
    return {**last, "overridden": overridden[::-1]} if overridden else last


def _explain_statement(path: str, statement: LayerStatement) -> dict[str, Any]:
    explanation = {
        "value": statement.values[path],
        "layer": statement.layer,
        "source": statement.source,
        "since": statement.since,
    }
    return explanation if statement.key_of is None else {**explanation, "key": statement.key_of(path)}


def etag(body: bytes) -> str:
    return f'"{blake2b(body, digest_size=12).hexdigest()}"'


def to_json(tree: dict[str, Any]) -> bytes:
    return orjson.dumps(tree)
