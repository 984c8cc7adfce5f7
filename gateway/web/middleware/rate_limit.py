"""How many requests a principal may send in a second.

In: every HTTP and WebSocket request with its `Caller` in `scope["state"]`. Out: the request, or a problem (429) with
`Retry-After`. Health checks are not counted: an orchestrator must never take a busy gateway for a dead one. A caller
that is not known reaches only the console's files; those requests are not counted either, because all such callers
would share one count and could lock each other out.
"""

from __future__ import annotations

from starlette.types import ASGIApp, Receive, Scope, Send

from gateway.errors import LimitReached
from gateway.service.gateway import Gateway
from gateway.web.problems import problem_response

HEALTH_PATHS = frozenset(("/healthz", "/readyz"))


class RateLimitMiddleware:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] in ("http", "websocket") and _is_counted(scope):
            gateway: Gateway = scope["app"].state.gateway
            try:
                gateway.limits.spend_request(scope["state"]["principal"])
            except LimitReached as exc:
                return await problem_response(exc)(scope, receive, send)
        return await self._app(scope, receive, send)


def _is_counted(scope: Scope) -> bool:
    return scope["path"] not in HEALTH_PATHS and scope["state"]["caller"].credential != "none"
