"""Capabilities as leaves: dotted AG-UI path → value, and back.

AG-UI's own names have no dots. An author's key below `custom` may: there `~1` stands for a dot and `~0` for a tilde.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any


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
