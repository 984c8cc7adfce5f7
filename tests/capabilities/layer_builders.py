"""Snapshots for tests, as if each layer had said this."""

from __future__ import annotations

from typing import Any

from gateway.capabilities.layers import LayerStatement, profile_layer
from gateway.capabilities.merge import Snapshot, etag, merge, to_json
from gateway.capabilities.options import with_options
from gateway.capabilities.versions import RenderedSnapshot
from gateway.capability_paths import flatten
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.models.registry import ModelRegistry


def snapshot(definition: AgentDefinition, *more: LayerStatement, **layers: dict[str, Any]) -> Snapshot:
    """What its file says, and these: `handshake={"custom": {…}}`, or leaves by their dotted path."""
    statements = [
        LayerStatement(name, f"{name}'s source", flatten(tree) if _is_nested(tree) else tree)
        for name, tree in layers.items()
    ]
    merged = merge([profile_layer(definition), *statements, *more])
    return with_options(merged, definition, None, ModelRegistry(definition))


def render_json(tree: Any) -> RenderedSnapshot:
    """As a route would show it."""
    body = to_json(tree)
    return RenderedSnapshot(body, etag(body).strip('"'))


def _is_nested(tree: dict[str, Any]) -> bool:
    return not any("." in key for key in tree)
