"""Who may call the gateway: `Host` and `Origin` are always checked, a token if the operator set any; CORS headers are
added for the pages that the operator allows.

In: every HTTP and WebSocket request. Out: the request with its `Caller` in `scope["state"]`, or a problem. A web page
can make its visitor's browser call a server on the visitor's own machine. Two checks stop this: a page of another
origin is refused by its `Origin`, and a host name that was pointed at 127.0.0.1 (DNS rebinding) is refused by `Host`.
"""

from __future__ import annotations

import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.errors import Forbidden, GatewayError
from gateway.identity import Caller
from gateway.settings import Settings
from gateway.web.problems import problem_response
from gateway.web.tokens import Tokens

LOOPBACK = frozenset(("localhost", "127.0.0.1", "[::1]"))
OPEN_PATHS = frozenset(("/healthz", "/readyz"))
"""A container's health check has no token."""
AGENT_PATH = re.compile(r"/agents/[^/]+/?")
"""Where agents are registered and removed. That needs a scope of its own: a definition starts programs."""
EXPOSED_HEADERS = "etag, last-event-id"
PREFLIGHT_MAX_AGE_SECONDS = 600
TOKEN_SUBPROTOCOL = "bearer."


class SecurityMiddleware:
    def __init__(self, app: ASGIApp, settings: Settings, tokens: Tokens) -> None:
        self._app = app
        self._tokens = tokens
        own = f"[{settings.host}]" if ":" in settings.host else settings.host
        self._hosts = LOOPBACK | {own.lower()} | {host.lower() for host in settings.allow_host}
        # On a public address the gateway cannot know its host names; there every caller needs a token, and a page that
        # uses DNS rebinding has none.
        self._any_host = bool(tokens) and own not in LOOPBACK and not settings.allow_host
        self._origins = frozenset(settings.allow_origin)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self._app(scope, receive, send)
        headers = Headers(scope=scope)
        origin = headers.get("origin")
        try:
            self._check_host(headers.get("host", ""))
            foreign = self._check_origin(origin, f"{_page_scheme(scope)}://{headers.get('host', '')}")
        except GatewayError as exc:
            return await problem_response(exc)(scope, receive, send)
        if foreign is not None:
            send = _with_cors(send, foreign)
            if scope["type"] == "http" and _is_preflight(scope, headers):
                return await _preflight(headers)(scope, receive, send)
        try:
            caller = self._authenticate(scope, headers)
        except GatewayError as exc:
            return await problem_response(exc)(scope, receive, send)
        scope.setdefault("state", {}).update(caller=caller, principal=caller.principal)
        return await self._app(scope, receive, send)

    def _authenticate(self, scope: Scope, headers: Headers) -> Caller:
        if not self._tokens or scope["path"] in OPEN_PATHS or _is_console(scope, headers):
            return Caller()
        caller = self._tokens.authenticate(headers.get("authorization") or _subprotocol_token(scope))
        caller.require(_required_scope(scope))
        return caller

    def _check_host(self, host: str) -> None:
        if self._any_host or host_name(host) in self._hosts:
            return
        raise Forbidden(
            f"the request names the host {host!r}, which is not this gateway's. If it should be, start it with "
            f"--allow-host {host_name(host) or 'NAME'}",
            code="HOST_NOT_ALLOWED",
        )

    def _check_origin(self, origin: str | None, own: str) -> str | None:
        """None for the gateway's own pages and for programs; otherwise the origin, if it is allowed. Raises
        `Forbidden`."""
        if origin is None or origin.lower() == own.lower():
            return None
        if origin.lower() in self._origins:
            return origin
        raise Forbidden(
            f"pages of {origin} may not call this gateway. If they should, start it with --allow-origin {origin}",
            code="ORIGIN_NOT_ALLOWED",
        )


def _subprotocol_token(scope: Scope) -> str | None:
    """A page cannot set headers of a WebSocket: its token is one of the subprotocols that it offers, `bearer.TOKEN`."""
    names = scope.get("subprotocols", ()) if scope["type"] == "websocket" else ()
    return next(
        (f"Bearer {name.removeprefix(TOKEN_SUBPROTOCOL)}" for name in names if name.startswith(TOKEN_SUBPROTOCOL)), None
    )


def _is_console(scope: Scope, headers: Headers) -> bool:
    """The console's page and files hold no secret: they are served without a token, and nothing else is."""
    path: str = scope["path"]
    return path.startswith("/console/") or (path == "/" and "text/html" in headers.get("accept", ""))


def _required_scope(scope: Scope) -> str:
    """The scope that a request needs, by its method and path."""
    if scope["type"] == "http" and scope["method"] in ("GET", "HEAD"):
        return "read"
    if scope["type"] == "http" and scope["method"] in ("PUT", "DELETE") and AGENT_PATH.fullmatch(scope["path"]):
        return "admin"
    return "run"


def host_name(host: str) -> str:
    """Without the port; an IPv6 address keeps its brackets."""
    if host.startswith("["):
        return host.partition("]")[0].lower() + "]"
    return host.partition(":")[0].lower()


def _page_scheme(scope: Scope) -> str:
    """The origin of a page that opens a WebSocket has the scheme http or https."""
    scheme: str = scope["scheme"]
    return {"ws": "http", "wss": "https"}.get(scheme, scheme)


def _is_preflight(scope: Scope, headers: Headers) -> bool:
    return scope["method"] == "OPTIONS" and "access-control-request-method" in headers


def _preflight(headers: Headers) -> Response:
    allowed = {
        "access-control-allow-methods": "GET, POST, PUT, DELETE",
        "access-control-allow-headers": headers.get("access-control-request-headers", "content-type, authorization"),
        "access-control-max-age": str(PREFLIGHT_MAX_AGE_SECONDS),
    }
    return Response(status_code=204, headers=allowed)


def _with_cors(send: Send, origin: str) -> Send:
    async def with_cors(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["access-control-allow-origin"] = origin
            headers["access-control-allow-credentials"] = "true"
            headers["access-control-expose-headers"] = EXPOSED_HEADERS
            headers.add_vary_header("Origin")
        await send(message)

    return with_cors
