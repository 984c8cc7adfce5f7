"""Each party's word on capabilities, flattened: dotted AG-UI path → value. Absent says nothing.

AG-UI's own names have no dots. An author's key below `custom` may: there `~1` stands for a dot and `~0` for a tilde.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from gateway.catalog.definition import AgentDefinition

LAYERS = ("profile", "probe", "handshake", "model", "session", "gateway")
"""Later wins, key by key."""


def now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class Said:
    """One layer: who says what, where it was read and when."""

    layer: str
    source: str
    values: Mapping[str, Any]
    at: str = field(default_factory=now)


def flatten(tree: Mapping[str, Any]) -> dict[str, Any]:
    """A capabilities object as leaves. Lists are leaves; so is an empty object, but for an empty category."""
    return dict(_leaves(tree, ""))


def _leaves(tree: Mapping[str, Any], prefix: str) -> Iterator[tuple[str, Any]]:
    for key, value in tree.items():
        path = prefix + key.replace("~", "~0").replace(".", "~1")
        if value is None:
            continue
        if isinstance(value, Mapping) and value:
            yield from _leaves(value, f"{path}.")
        elif value != {} or prefix:
            yield path, value


def unflatten(values: Mapping[str, Any]) -> dict[str, Any]:
    """The object with these leaves, none of which stands below another."""
    tree: dict[str, Any] = {}
    for path, value in values.items():
        *parents, leaf = (key.replace("~1", ".").replace("~0", "~") for key in path.split("."))
        node = tree
        for parent in parents:
            node = node.setdefault(parent, {})
        node[leaf] = value
    return tree


def profile_layer(definition: AgentDefinition) -> Said:
    """What the agent's file says of it."""
    identity = {
        "name": definition.identity.name,
        "type": definition.identity.type or definition.driver,
        "description": definition.identity.description,
        "version": definition.identity.version,
        "provider": definition.identity.provider,
        "documentationUrl": definition.identity.documentation_url,
    }
    values = flatten({"identity": identity}) | flatten(definition.capabilities)
    return Said("profile", definition.source.name, values)
