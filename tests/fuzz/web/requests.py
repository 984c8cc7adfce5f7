"""Requests for every route, derived from the table of routes.

In: a random number generator. Out: the bytes of one request, with a method that its route has. Ids, query, headers and
body are valid by chance only.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from random import Random

from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute

from gateway.web.routes import ROUTES
from tests.fuzz.web.bodies import make_body

TOKEN = "fuzz-0123456789abcdef"
PARAMETER = re.compile(r"\{(\w+)(?::\w+)?\}")
BODY_METHODS = ("POST", "PUT")
IDS = {
    "agent": ("demo", "echo", "fake", "python") * 4 + ("default", "none"),
    "thread": tuple(f"thread-{number}" for number in range(20)) + tuple(f"name-{number}" for number in range(40)),
    "run": tuple(f"name-{number}" for number in range(40)),
    "model": ("small", "large", "a/b", "none"),
    "path": ("", "index.html", "app.js", "none"),
}
REGISTERED = ("registered-1", "registered-2", "fake-2")
"""Ids that agents are registered and removed by: the others must stay what they are."""
WRONG_IDS = (
    "%00",
    "%0A",
    "%0d%0ax:y",
    "%2e%2e",
    "..%2f..%2fetc%2fpasswd",
    "%ff%fe",
    "%ed%a0%80",
    "%F0%9F%98%80",
    "%",
    "%zz",
    "a%2Fb",
    "a/b/c",
    "//",
    ".",
    "x" * 3000,
    "'\"<script>",
    ";x=y",
    "*",
    "~",
    "{agent}",
    "-1",
    "\x7f",
)
QUERIES = (
    "",
    "",
    "",
    "?",
    "?after=1",
    "?after=-1",
    "?after=99999999999999999999",
    "?after=%00",
    "?probe=1",
    "?explain=1",
    "?explain=1&view=mux",
    "?view=acp",
    "?view=relay&thread=thread-1",
    "?view=%00",
    "?view=none",
    "?protocol=0",
    "?protocol=%ff",
    "?thread=thread-1",
    "?thread=%ed%a0%80",
    "?model=small",
    "?model=%F0%9F%98%80",
    "?inputTokens=1&outputTokens=x",
    "?inputTokens=1&cachedInputTokens=9",
    "?inputTokens=99999999999999999999",
    "?a=b&a=c&&&=",
    "?%ff=%fe",
    "?" + "x=y&" * 400,
    "?format=csv",
)
HEADERS = (
    "Accept: text/event-stream",
    "Accept: application/vnd.ag-ui.event+proto",
    "Accept: text/csv",
    "Accept: */*;q=x, text/html;q=9",
    "Accept: ",
    "Last-Event-ID: 3",
    "Last-Event-ID: \xff",
    "Last-Event-ID: 99999999999999999999999",
    "If-None-Match: *",
    'If-None-Match: W/"x", "',
    "Accept-Encoding: gzip",
    "Accept-Encoding: gzip;q=x",
    "Range: bytes=0-1",
    "Range: bytes=9999-1,-",
    "If-Modified-Since: yesterday",
    "Expect: 100-continue",
    "X-Forwarded-For: 1.2.3.4",
    "Agui-Gateway-Hops: a,b,c,d,e,f,g,h,i,j",
    "Cookie: a=b; \xff",
    "X: " + "y" * 9000,
    "Upgrade: h2c\r\nConnection: Upgrade",
    "Upgrade: websocket\r\nConnection: Upgrade",
    "Origin: null",
    "Origin: http://evil.example",
    "Content-Encoding: gzip",
    "Sec-Fetch-Site: cross-site",
)
TYPES = ("application/json",) * 12 + (
    "application/json; charset=utf-16",
    "text/plain",
    "application/toml",
    "multipart/form-data; boundary=x",
    "application/x-www-form-urlencoded",
    "application/octet-stream",
    "application/\xff",
    "",
)
AUTHORIZATIONS = (f"Bearer {TOKEN}",) * 30 + ("", "Bearer", "Bearer \xff", "Basic eDp5", f"bearer  {TOKEN} ", "x" * 500)


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A method of a route."""

    method: str
    path: str

    @property
    def name(self) -> str:
        return f"{self.method} {self.path}"


def endpoints(routes: Sequence[BaseRoute] = ROUTES, prefix: str = "") -> Iterator[Endpoint]:
    for route in routes:
        if isinstance(route, Mount):
            yield from endpoints(route.routes, prefix + route.path)
        elif isinstance(route, Route):
            yield from (Endpoint(method, prefix + route.path) for method in sorted(route.methods or ("GET",)))
        elif isinstance(route, WebSocketRoute):
            yield Endpoint("GET", prefix + route.path)


ENDPOINTS = tuple(endpoints())


@dataclass(frozen=True, slots=True)
class FuzzRequest:
    endpoint: Endpoint
    data: bytes

    def __str__(self) -> str:
        return f"{self.endpoint.name}: {self.data[:600]!r}"


def make_request(rng: Random, endpoint: Endpoint | None = None) -> FuzzRequest:
    endpoint = endpoint or rng.choice(ENDPOINTS)
    target = PARAMETER.sub(lambda found: _parameter(rng, endpoint, found[1]), endpoint.path) + rng.choice(QUERIES)
    lines = [f"{endpoint.method} {target} HTTP/1.1", "Host: localhost", "Connection: close"]
    if authorization := rng.choice(AUTHORIZATIONS):
        lines.append(f"Authorization: {authorization}")
    lines += rng.sample(HEADERS, rng.choice((0, 0, 1, 1, 2)))
    body = b""
    if endpoint.method in BODY_METHODS or rng.random() < 0.05:
        body = make_body(rng, endpoint.name)
        content_type = rng.choice(TYPES)
        lines += [f"Content-Type: {content_type}"] if content_type else []
        lines.append(f"Content-Length: {len(body)}")
    head = "\r\n".join([*lines, "", ""]).encode("latin-1")
    return FuzzRequest(endpoint, head + body)


def _parameter(rng: Random, endpoint: Endpoint, name: str) -> str:
    if name == "agent" and endpoint.path == "/agents/{agent}" and endpoint.method in ("PUT", "DELETE"):
        return rng.choice(REGISTERED)
    if rng.random() < 0.12:
        return rng.choice(WRONG_IDS)
    return rng.choice(IDS.get(name, ("none",)))
