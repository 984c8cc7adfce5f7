"""One snapshot, in the words of whoever asks: `?view=`. `VIEWS`, at the end, is the list of them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from gateway.capabilities.layers import LayerStatement
from gateway.capabilities.merge import Snapshot, etag, to_json
from gateway.capabilities.versions import RenderedSnapshot
from gateway.capabilities.views import acp, agui, mux, relay
from gateway.capabilities.views.relay import ThreadStatus
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
    """Whose limits are in it."""
    standing: ThreadStatus | None = None
    """Where the thread is, for a view that tells it."""
    layers: tuple[LayerStatement, ...] = ()
    """What it was merged from."""


View = Callable[[SnapshotEntry, AgentDefinition], Any]


def view_named(name: str | None, protocol: str | None = None) -> str:
    """The view that a request asks for. Raises `BadRequest` for one that there is not."""
    name = name or "agui"
    if name not in VIEWS:
        raise BadRequest(f"there is no view {name!r}. Known: {', '.join(VIEWS)}.", code="UNKNOWN_VIEW")
    return OLDER if name == "agui" and protocol == "0" else name


def render(
    view: str, current: SnapshotEntry, definition: AgentDefinition, *, explain: bool = False
) -> RenderedSnapshot:
    """`explain`: with who said each leaf; of AG-UI's own."""
    who = to_json(current.snapshot.explain()) if explain else None
    if view == "agui":
        return RenderedSnapshot(current.body, current.etag.strip('"'), who)
    body = to_json((VIEWS | {OLDER: _older})[view](current, definition))
    return RenderedSnapshot(body, etag(body).strip('"'), who)


def _agui(current: SnapshotEntry, definition: AgentDefinition) -> Any:
    return current.snapshot.tree()


def _older(current: SnapshotEntry, definition: AgentDefinition) -> Any:
    return agui.before_1_0(current.snapshot.tree())


OLDER = "agui/0"
"""AG-UI's, as clients from before 1.0 read it."""

VIEWS: dict[str, View] = {
    "agui": _agui,
    "acp": lambda current, definition: acp.view(current.snapshot, definition),
    "mux": lambda current, definition: mux.view(current.snapshot, definition),
    relay.NAME: lambda current, definition: relay.view(current.snapshot, current.standing),
}
