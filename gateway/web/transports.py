"""What the gateway carries to its clients, read from what it serves: the gateway's own layer of every snapshot."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from starlette.routing import BaseRoute, Route, WebSocketRoute

from gateway.capabilities.views import relay
from gateway.encode.negotiate import transport_flags

REPLAY_ROUTE = "attach"
"""The name of the route that replays a run and goes on following it."""


def transport_layer(routes: Sequence[BaseRoute]) -> dict[str, Any]:
    """Dotted path of the snapshot → value."""
    return {
        **transport_flags(),
        "transport.websocket": any(isinstance(route, WebSocketRoute) for route in routes),
        "transport.resumable": any(isinstance(route, Route) and route.name == REPLAY_ROUTE for route in routes),
        **relay.LAYER,
    }
