"""Dotted paths as nested objects."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def nested(layer: Mapping[str, Any]) -> dict[str, Any]:
    tree: dict[str, Any] = {}
    for path, value in layer.items():
        node, (*parents, leaf) = tree, path.split(".")
        for parent in parents:
            node = node.setdefault(parent, {})
        node[leaf] = value
    return tree
