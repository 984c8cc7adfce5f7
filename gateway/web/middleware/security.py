"""Who may call the gateway: path, `Host` and `Origin` are always checked, then the caller is authenticated. CORS
headers are added for the pages that the operator allows.

In: every HTTP and WebSocket request. Out: the request with its `Caller` in `scope["state"]`, or a problem. A web page
can make its visitor's browser call a server on the visitor's own machine. Three checks stop this: a page of another
origin is refused by its `Origin`, its images and scripts by `Sec-Fetch-Site`, and a host name that was pointed at
127.0.0.1 (DNS rebinding) by `Host`. What a caller may do is not decided here but by the route (`web.scoped_routes`).
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import Response
from starlette.routing import BaseRoute
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.errors import BadRequest, Forbidden, GatewayError, Unauthorized
from gateway.identity import Caller
from gateway.settings import Settings
from gateway.web.auth.authenticator import Authenticator
from gateway.web.auth.live_requests import LiveRequests
from gateway.web.auth.local_user import Peer
from gateway.web.auth.proxies import Forwarded
from gateway.web.login_attempts import LoginAttempts
from gateway.web.problems import problem_response
from gateway.web.scoped_routes import matches_any, open_routes

LOOPBACK = frozenset(("localhost", "127.0.0.1", "[::1]"))
EXPOSED_HEADERS = "etag, last-event-id"
PREFLIGHT_MAX_AGE_SECONDS = 600
TOKEN_SUBPROTOCOL = "bearer."
CONTROL_CHARACTERS = re.compile(r"[\x00-\x1f\x7f-\x9f]")
HOST = re.compile(r"(\[[0-9a-f:.]+\]|[a-z0-9_](?:[a-z0-9._-]*[a-z0-9_])?\.?)(?::[0-9]{1,5})?", re.IGNORECASE)
CHECKED_HEADERS = frozenset((b"host", b"origin", b"sec-fetch-site"))
CROSS_SITE = "cross-site"
REVOCABLE = ("token", "oidc")
"""Credentials that a client sends, and that end."""
NOT_FORWARDED = Forwarded()


class SecurityMiddleware:
    def __init__(
        self,
        app: ASGIApp,
        settings: Settings,
        authenticator: Authenticator,
        live_requests: LiveRequests,
        routes: Sequence[BaseRoute],
    ) -> None:
        self._app = app
        self._authenticator = authenticator
        self._attempts = LoginAttempts(settings)
        self._live_requests = live_requests
        self._open_routes = open_routes(routes)
        """A container's health check has no token, and the console's files hold no secret."""
        self._pages = [route for route in self._open_routes if route.is_page]
        own = f"[{settings.host}]" if ":" in settings.host else settings.host
        self._hosts = LOOPBACK | {own.lower()} | {host.lower() for host in settings.allow_host}
        # On a public address the gateway cannot know its host names; there every caller needs a token, and a page that
        # uses DNS rebinding has none.
        self._any_host = authenticator.needs_credential and own not in LOOPBACK and not settings.allow_host
        self._origins = frozenset(settings.allow_origin)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] not in ("http", "websocket"):
            return await self._app(scope, receive, send)
        headers = Headers(scope=scope)
        checked = _read_checked_headers(scope)
        origin = checked.get(b"origin", (None,))[0]
        is_proxied = self._authenticator.proxies.trusts(scope["client"][0] if scope.get("client") else None)
        try:
            _check_path(scope["path"])
            forwarded = self._authenticator.proxies.read(headers) if is_proxied else NOT_FORWARDED
            host = self._check_host(checked.get(b"host", ()), forwarded, is_proxied)
            own = f"{forwarded.scheme or _page_scheme(scope)}://{host}"
            foreign = self._check_origin(origin, own)
            if foreign is None and CROSS_SITE in checked.get(b"sec-fetch-site", ()):
                self._check_page(scope)
        except GatewayError as exc:
            return await problem_response(exc)(scope, receive, send)
        if foreign is not None:
            send = _with_cors(send, foreign)
            if scope["type"] == "http" and _is_preflight(scope, headers):
                return await _preflight(headers)(scope, receive, send)
        try:
            caller = await self._authenticate(scope, headers, forwarded, is_proxied)
        except GatewayError as exc:
            return await problem_response(exc)(scope, receive, send)
        scope.setdefault("state", {}).update(caller=caller, principal=caller.principal)
        if forwarded.client is not None:
            scope["client"] = (forwarded.client, 0)
        if caller.credential in REVOCABLE:
            return await self._live_requests.serve(self._app, caller, scope, receive, send)
        return await self._app(scope, receive, send)

    async def _authenticate(self, scope: Scope, headers: Headers, forwarded: Forwarded, is_proxied: bool) -> Caller:
        """A caller that is not known passes to what is open to everybody, without any scope."""
        peer = scope.get("state", {}).get("peer") or Peer(scope.get("client"), scope.get("server"))
        read_token = partial(_read_token, scope, headers)
        try:
            caller = await self._authenticator.authenticate(peer, is_proxied, headers, read_token)
        except GatewayError as exc:
            if isinstance(exc, Unauthorized | Forbidden) and matches_any(self._open_routes, scope):
                return Caller("", frozenset(), frozenset(), "none", refusal=exc)
            if isinstance(exc, Unauthorized) and read_token() is not None:
                self._attempts.reject(_address(scope, forwarded))
            raise
        if caller.credential in REVOCABLE:
            self._attempts.accept(_address(scope, forwarded), caller.principal)
        return caller

    def _check_host(self, hosts: Sequence[str], forwarded: Forwarded, is_proxied: bool) -> str:
        """The host that the client used. A named proxy decides itself which names it answers to. Raises
        `Forbidden`."""
        host = forwarded.host or (hosts[0] if hosts else "")
        match = HOST.fullmatch(host)
        is_known = match is not None and (is_proxied or self._any_host or match[1].lower() in self._hosts)
        if is_known and len(hosts) == 1:
            return host
        if len(hosts) > 1:
            raise Forbidden("the request names more than one host", code="HOST_NOT_ALLOWED")
        raise Forbidden(
            f"the request names the host {host!r}, which is not this gateway's. If it should be, start it with "
            f"--allow-host {match[1].lower() if match else 'NAME'}",
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

    def _check_page(self, scope: Scope) -> None:
        """Pages of other sites may link to the console, and do nothing else: their images and scripts send no `Origin`.
        Raises `Forbidden`."""
        if not matches_any(self._pages, scope):
            raise Forbidden("pages of other sites may only link to the console of this gateway", code="CROSS_SITE")


def _address(scope: Scope, forwarded: Forwarded) -> str:
    """Of the client."""
    return forwarded.client or (scope["client"][0] if scope.get("client") else "")


def _check_path(path: str) -> None:
    """Raises `BadRequest`: no route has such a path, and programs disagree about where it ends."""
    if CONTROL_CHARACTERS.search(path) is not None:
        raise BadRequest("the path has a control character in it", code="INVALID_PATH")


def _read_checked_headers(scope: Scope) -> dict[bytes, list[str]]:
    """The values of those that are checked on every request, in one pass over all headers."""
    found: dict[bytes, list[str]] = {}
    for name, value in scope["headers"]:
        if name in CHECKED_HEADERS:
            found.setdefault(name, []).append(value.decode("latin-1"))
    return found


def _read_token(scope: Scope, headers: Headers) -> str | None:
    """The bearer token; "" for another scheme, which is no token that is known. A page cannot set headers of a
    WebSocket: its token is one of the subprotocols that it offers, `bearer.TOKEN`."""
    if (header := headers.get("authorization")) is not None:
        scheme, _, token = header.partition(" ")
        return token.strip() if scheme.lower() == "bearer" else ""
    names = scope.get("subprotocols", ()) if scope["type"] == "websocket" else ()
    return next((name.removeprefix(TOKEN_SUBPROTOCOL) for name in names if name.startswith(TOKEN_SUBPROTOCOL)), None)


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
