"""The door: who may call at all. `Host` and `Origin` always, a token where one is set, CORS for allowed pages.

A web page can make its visitor's browser call a server on the visitor's own machine. Two checks stop it: a page of
another origin is refused by `Origin`, and a name that was pointed at 127.0.0.1 (DNS rebinding) is refused by `Host`.
"""

from __future__ import annotations

import re

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.errors import Forbidden, GatewayError
from gateway.identity import LOCAL
from gateway.settings import Settings
from gateway.web.problems import problem
from gateway.web.tokens import Tokens

LOOPBACK = frozenset(("localhost", "127.0.0.1", "[::1]"))
OPEN_PATHS = frozenset(("/healthz", "/readyz"))
"""A container's health check has no token."""
ADMIN_PATHS = ("/acp",)
"""Ways past the gateway's own words, straight to the agent."""
AN_AGENT = re.compile(r"/agents/[^/]+/?")
"""Registered and removed there: a definition starts programs."""
EXPOSED = "etag, last-event-id"
PREFLIGHT_AGE = "600"
BEARER = "bearer."


class SecurityMiddleware:
    def __init__(self, app: ASGIApp, settings: Settings, tokens: Tokens) -> None:
        self._app, self._tokens = app, tokens
        own = f"[{settings.host}]" if ":" in settings.host else settings.host
        self._hosts = LOOPBACK | {own.lower()} | {host.lower() for host in settings.allow_host}
        # Behind a token on an open address the name it is called by is not known, and a rebound page has no token.
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
            return await problem(exc)(scope, receive, send)
        if foreign is not None:
            send = _with_cors(send, foreign)
            if scope["type"] == "http" and _is_preflight(scope, headers):
                return await _preflight(headers)(scope, receive, send)
        try:
            scope.setdefault("state", {})["principal"] = self._principal(scope, headers)
        except GatewayError as exc:
            return await problem(exc)(scope, receive, send)
        return await self._app(scope, receive, send)

    def _principal(self, scope: Scope, headers: Headers) -> str:
        if not self._tokens or scope["path"] in OPEN_PATHS or _is_console(scope, headers):
            return LOCAL
        principal = self._tokens.principal(headers.get("authorization") or _offered(scope))
        self._tokens.require(principal, _needs(scope))
        return principal

    def _check_host(self, host: str) -> None:
        if self._any_host or host_name(host) in self._hosts:
            return
        raise Forbidden(
            f"the request names the host {host!r}, which is not this gateway's. If it should be, start it with "
            f"--allow-host {host_name(host) or 'NAME'}",
            code="HOST_NOT_ALLOWED",
        )

    def _check_origin(self, origin: str | None, own: str) -> str | None:
        """None for the gateway's own pages and for programs; else the origin, if it is an allowed one."""
        if origin is None or origin.lower() == own.lower():
            return None
        if origin.lower() in self._origins:
            return origin
        raise Forbidden(
            f"pages of {origin} may not call this gateway. If they should, start it with --allow-origin {origin}",
            code="ORIGIN_NOT_ALLOWED",
        )


def _offered(scope: Scope) -> str | None:
    """A page can give a WebSocket no header: its token is one of the subprotocols that it offers, `bearer.TOKEN`."""
    names = scope.get("subprotocols", ()) if scope["type"] == "websocket" else ()
    return next((f"Bearer {name.removeprefix(BEARER)}" for name in names if name.startswith(BEARER)), None)


def _is_console(scope: Scope, headers: Headers) -> bool:
    """The page and its files hold no secret. Whoever has no token gets no further than these."""
    path: str = scope["path"]
    return path.startswith("/console/") or (path == "/" and "text/html" in headers.get("accept", ""))


def _needs(scope: Scope) -> str:
    """The scope a request needs: by what it does, and where it goes past what the gateway itself offers."""
    if scope["type"] == "http" and scope["method"] in ("GET", "HEAD"):
        return "read"
    if scope["type"] == "http" and scope["method"] in ("PUT", "DELETE") and AN_AGENT.fullmatch(scope["path"]):
        return "admin"
    return "admin" if scope["path"].endswith(ADMIN_PATHS) else "run"


def host_name(host: str) -> str:
    """Without the port; an IPv6 address keeps its brackets."""
    if host.startswith("["):
        return host.partition("]")[0].lower() + "]"
    return host.partition(":")[0].lower()


def _page_scheme(scope: Scope) -> str:
    """A page that opens a WebSocket still has an origin of http."""
    scheme: str = scope["scheme"]
    return {"ws": "http", "wss": "https"}.get(scheme, scheme)


def _is_preflight(scope: Scope, headers: Headers) -> bool:
    return scope["method"] == "OPTIONS" and "access-control-request-method" in headers


def _preflight(headers: Headers) -> Response:
    allowed = {
        "access-control-allow-methods": "GET, POST, PUT, DELETE",
        "access-control-allow-headers": headers.get("access-control-request-headers", "content-type, authorization"),
        "access-control-max-age": PREFLIGHT_AGE,
    }
    return Response(status_code=204, headers=allowed)


def _with_cors(send: Send, origin: str) -> Send:
    async def with_cors(message: Message) -> None:
        if message["type"] == "http.response.start":
            headers = MutableHeaders(scope=message)
            headers["access-control-allow-origin"] = origin
            headers["access-control-allow-credentials"] = "true"
            headers["access-control-expose-headers"] = EXPOSED
            headers.add_vary_header("Origin")
        await send(message)

    return with_cors
