"""Writes refusals, and principals that connect, to the audit log.

In: every request, before any other middleware has seen it. Out: the same request. A refusal is a response with 401, 403
or 429, by HTTP or in answer to a WebSocket's handshake; its route is the one that the path matches, because paths of a
flood may all differ. The log bounds what a flood can write.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import orjson
from starlette.routing import BaseRoute, Match, Mount
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.audit import AuditLog

if TYPE_CHECKING:
    from gateway.service.gateway import Gateway

REFUSALS = frozenset((401, 403, 429))
STARTS = ("http.response.start", "websocket.http.response.start")
BODIES = ("http.response.body", "websocket.http.response.body")
NO_ROUTE = "(none)"


class AuditMiddleware:
    def __init__(self, app: ASGIApp, routes: Sequence[BaseRoute]) -> None:
        self._app = app
        self._routes = routes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self._app(scope, receive, send)
        peer = scope["client"][0] if scope.get("client") else "(unknown)"  # before a proxy's header replaces it
        refused_with = 0

        async def audited_send(message: Message) -> None:
            nonlocal refused_with
            kind = message["type"]
            if kind in STARTS:
                if message["status"] in REFUSALS:
                    refused_with = message["status"]
                else:
                    self._record_connection(scope)
            elif kind == "websocket.accept":
                self._record_connection(scope)
            elif refused_with and kind in BODIES:
                self._record_refusal(scope, peer, refused_with, message.get("body", b""))
                refused_with = 0
            await send(message)

        return await self._app(scope, receive, audited_send)

    def _record_connection(self, scope: Scope) -> None:
        """An open route has no principal."""
        if (principal := scope.get("state", {}).get("principal")) and (log := _find_log(scope)) is not None:
            log.record_connection(principal)

    def _record_refusal(self, scope: Scope, peer: str, status: int, body: bytes) -> None:
        if (log := _find_log(scope)) is not None:
            principal = scope.get("state", {}).get("principal") or peer
            method = "WS" if scope["type"] == "websocket" else scope["method"]
            log.record_refusal(principal, _read_code(body), f"{method} {self._find_route(scope)}", status)

    def _find_route(self, scope: Scope) -> str:
        return _match(self._routes, scope) or NO_ROUTE


def _find_log(scope: Scope) -> AuditLog | None:
    """None: the gateway has not started yet."""
    gateway: Gateway | None = getattr(scope["app"].state, "gateway", None) if "app" in scope else None
    return None if gateway is None else gateway.audit


def _match(routes: Sequence[BaseRoute], scope: Scope) -> str | None:
    """The route's path as it is written, placeholders included."""
    for route in routes:
        match, child = route.matches(scope)
        if match is Match.NONE:
            continue
        path = str(getattr(route, "path", NO_ROUTE))
        if isinstance(route, Mount):
            return path + (_match(route.routes, {**scope, **child}) or "/…")
        return path
    return None


def _read_code(body: bytes) -> str:
    try:
        problem = orjson.loads(body)
        return str(problem["code"])[:80]
    except (orjson.JSONDecodeError, KeyError, TypeError):
        return "REFUSED"
