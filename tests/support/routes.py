"""Every method and path that the gateway answers, read off its own list."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute

from gateway.web.routes import ROUTES


def endpoints(routes: Sequence[BaseRoute] = ROUTES, prefix: str = "") -> Iterator[tuple[str, str]]:
    """(method, path), the path with its `{names}`. HEAD goes with GET."""
    for route in routes:
        match route:
            case Mount():
                yield from endpoints(route.routes, prefix + route.path)
            case Route():
                yield from ((method, prefix + route.path) for method in (route.methods or set()) - {"HEAD"})
            case WebSocketRoute():
                yield "WS", prefix + route.path
            case other:
                raise AssertionError(f"{other!r} is of a kind that is not known here")
