"""The views, and the rendering of a snapshot in one of them. `VIEWS`, at the end, lists them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gateway.capabilities.layers import LayerStatement
from gateway.capabilities.merge import Snapshot, etag, to_json
from gateway.capabilities.versions import RenderedSnapshot
from gateway.capabilities.views import acp, agui, mux, relay
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.models.definition import Model
from gateway.errors import BadRequest


@dataclass(frozen=True, slots=True)
class SnapshotEntry:
    """A snapshot with its bytes."""

    snapshot: Snapshot
    body: bytes
    etag: str
    model: Model | None = None
    """The model whose limits it includes."""
    thread_status: relay.ThreadStatus | None = None
    """For a view that shows it."""
    layers: tuple[LayerStatement, ...] = ()
    """What it was merged from."""


View = Callable[[SnapshotEntry, AgentDefinition], Any]

LEGACY_AGUI = "agui/0"
"""AG-UI's view for clients from before 1.0."""


def resolve_view(name: str | None, protocol: str | None = None) -> str:
    """The view that a request names. Raises `BadRequest` for an unknown one."""
    name = name or "agui"
    if name not in VIEWS:
        raise BadRequest(f"there is no view {name!r}. Known: {', '.join(VIEWS)}.", code="UNKNOWN_VIEW")
    return LEGACY_AGUI if name == "agui" and protocol == "0" else name


def render(view: str, entry: SnapshotEntry, definition: AgentDefinition, *, explain: bool = False) -> RenderedSnapshot:
    """`explain`: with the source of each capability in AG-UI's view."""
    explanation = to_json(entry.snapshot.explain()) if explain else None
    if view == "agui":
        return RenderedSnapshot(entry.body, entry.etag.strip('"'), explanation)
    body = to_json((VIEWS | {LEGACY_AGUI: _legacy_agui})[view](entry, definition))
    return RenderedSnapshot(body, etag(body).strip('"'), explanation)


def _agui(entry: SnapshotEntry, definition: AgentDefinition) -> Any:
    return entry.snapshot.tree()


def _legacy_agui(entry: SnapshotEntry, definition: AgentDefinition) -> Any:
    return agui.before_1_0(entry.snapshot.tree())


VIEWS: dict[str, View] = {
    "agui": _agui,
    "acp": lambda entry, definition: acp.view(entry.snapshot, definition),
    "mux": lambda entry, definition: mux.view(entry.snapshot, definition),
    relay.NAME: lambda entry, definition: relay.view(entry.snapshot, entry.thread_status),
}
