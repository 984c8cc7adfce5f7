"""Routes that state who may use them: a scope for each method, checked after the route was matched.

In: a request that matches, with its `Caller`. Out: the endpoint's answer, or the refusal. The scope is a part of the
route itself: a path is read once, by the router, so no other reading of it can be deceived. A route without a scope
cannot be built.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from starlette.routing import BaseRoute, Match, Mount, Route, WebSocketRoute
from starlette.types import Receive, Scope, Send

from gateway.errors import Forbidden, GatewayError
from gateway.identity import SCOPES, Caller
from gateway.web.problems import problem_response

OPEN = "open"
"""Instead of a scope: the route needs no credential."""
AGENT_PARAM = "agent"
"""The part of a path that names an agent."""


class ScopedRoute(Route):
    def __init__(
        self,
        path: str,
        endpoint: Callable[..., Any],
        *,
        scope: str | Mapping[str, str],
        is_page: bool = False,
        name: str | None = None,
    ) -> None:
        """`scope`: of `identity.SCOPES`, or `OPEN`; where methods differ, method → scope. `is_page`: pages of other
        sites may link to it."""
        scopes = {"GET": scope} if isinstance(scope, str) else dict(scope)
        if "GET" in scopes:
            scopes["HEAD"] = scopes["GET"]
        assert set(scopes.values()) <= SCOPES | {OPEN}, path
        super().__init__(path, endpoint, methods=list(scopes), name=name)
        self.scopes = scopes
        self.is_page = is_page

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        needed = self.scopes.get(scope["method"])
        if needed is not None and needed != OPEN:  # None: the router answers 405
            caller: Caller = scope["state"]["caller"]
            caller.require(needed)
            _check_agent(caller, scope, needed)
        await super().handle(scope, receive, send)


class ScopedWebSocketRoute(WebSocketRoute):
    def __init__(self, path: str, endpoint: Callable[..., Any], *, scope: str) -> None:
        assert scope in SCOPES, path
        super().__init__(path, endpoint)
        self.scopes = {"WS": scope}

    async def handle(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            caller: Caller = scope["state"]["caller"]
            caller.require(self.scopes["WS"])
            _check_agent(caller, scope, self.scopes["WS"])
        except GatewayError as exc:
            return await problem_response(exc)(scope, receive, send)
        return await super().handle(scope, receive, send)


def post(path: str, endpoint: Callable[..., Any], *, scope: str = "run") -> ScopedRoute:
    return ScopedRoute(path, endpoint, scope={"POST": scope})


def _check_agent(caller: Caller, scope: Scope, needed: str) -> None:
    """Raises `NotFound` where the path names an agent that the caller may not use; `Forbidden` where it would register
    or remove one."""
    agent = scope["path_params"].get(AGENT_PARAM)
    if agent is None or caller.may_use(agent):
        return
    if needed == "admin":
        detail = f"the token {caller.principal!r} may use only {', '.join(sorted(caller.agents or ()))}, not {agent!r}"
        raise Forbidden(detail, code="AGENT_NOT_ALLOWED")
    caller.require_agent(agent)


def open_routes(routes: Sequence[BaseRoute]) -> list[ScopedRoute]:
    """Those that need no credential for a GET."""
    found: list[ScopedRoute] = []
    for route in routes:
        if isinstance(route, Mount):
            assert not open_routes(route.routes), "an open route stands at the top, where it is looked for"
        elif isinstance(route, ScopedRoute) and OPEN in route.scopes.values():
            found.append(route)
    return found


def matches_any(routes: Sequence[BaseRoute], scope: Scope) -> bool:
    return any(route.matches(scope)[0] is Match.FULL for route in routes)
