"""A route for administrators, called with a token for runs, by a path that is written in another way.

The incident: the scope was chosen by a second reading of the path. `POST …/acp%0A` did not end in `/acp`, so a token of
scope `run` reached any method of the agent, `session/list` of all principals included.

The promise: the scope is an attribute of the route that the router has matched, for every route; a path with a control
character is no path; who has no token cannot tell which routes exist.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from starlette.routing import BaseRoute, Mount

from gateway.identity import SCOPES
from gateway.web.routes import ROUTES
from gateway.web.scoped_routes import OPEN, ScopedRoute, ScopedWebSocketRoute, matches_any, open_routes
from tests.attacks.callers import MANY_LOGINS, token_of, write_tokens
from tests.support.gateway import Gateway
from tests.support.routes import endpoints
from tests.web.problem import problem_in
from tests.web.raw import ask, request

ENDINGS = [
    "",
    "%0A",
    "%0a%0A",
    "%0D",
    "%0D%0A",
    "%00",
    "%09",
    "%7F",
    "%20",
    "/",
    "//",
    "/.",
    "%2F",
    ";x",
    "%C2%85",
    "?",
]
ADMIN_PATHS = [
    ("POST", "/agents/echo/threads/t/acp"),
    ("PUT", "/agents/mine"),
    ("DELETE", "/agents/mine"),
    ("PUT", "/agents/echo"),
]
BODY = b'{"method": "session/set_mode", "params": {}}'
"""Of a call of the agent's own protocol, which is for administrators."""
SPELLINGS = [
    "/agents/echo/threads/t%2Facp",
    "/agents/echo/threads/t/%61cp",
    "/agents/echo/threads/t/x/acp",
    "//agents/echo/threads/t/acp",
    "/agents/%65cho/threads/t/acp",
    "/./agents/echo/threads/t/acp",
    "/agents/../agents/echo/threads/t/acp",
    "http://localhost/agents/echo/threads/t/acp",
]


@pytest.fixture(scope="module")
def limited(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway whose one token is for reading and running."""
    home = tmp_path_factory.mktemp("limited")
    headers = write_tokens(home / "tokens.json", user={}, reader={"scopes": frozenset({"read"})})
    with Gateway(home / "home", "--token-file", str(home / "tokens.json"), env=MANY_LOGINS) as gateway:
        gateway.client.headers.update(headers["user"])
        yield gateway


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize(("method", "path"), ADMIN_PATHS)
def test_no_ending_of_a_path_takes_its_scope_away(limited: Gateway, method: str, path: str, ending: str) -> None:
    token = limited.client.headers["authorization"]
    lines = [f"authorization: {token}", "connection: close"]
    response = ask(limited, request(path + ending, BODY, lines, method=method))
    assert response is not None
    assert response.status_code in (400, 403, 404, 405, 307), response.text
    assert "mine" not in limited.client.get("/agents").text


@pytest.mark.parametrize("path", SPELLINGS)
def test_no_spelling_of_a_path_takes_its_scope_away(limited: Gateway, path: str) -> None:
    lines = [f"authorization: {limited.client.headers['authorization']}", "connection: close"]
    response = ask(limited, request(path, BODY, lines))
    assert response is not None
    assert response.status_code in (400, 403, 404, 405), response.text


@pytest.mark.parametrize("character", ["%00", "%0A", "%0d", "%09", "%1B", "%7f", "%C2%80", "%C2%9F"])
@pytest.mark.parametrize(
    "path", ["/agents/echo{}", "/{}", "/console/{}", "/healthz{}", "/copilotkit/info{}", "/runs/a{}b/events"]
)
def test_a_control_character_is_refused_on_every_route(limited: Gateway, path: str, character: str) -> None:
    response = ask(limited, request(path.format(character), headers=["connection: close"]))
    problem_in(response, 400, "INVALID_PATH")


def scoped(routes: list[BaseRoute]) -> Iterator[ScopedRoute | ScopedWebSocketRoute]:
    for route in routes:
        if isinstance(route, Mount):
            yield from scoped(route.routes)
        else:
            assert isinstance(route, ScopedRoute | ScopedWebSocketRoute), f"{route} states no scope"
            yield route


def test_every_route_states_a_scope_for_every_method() -> None:
    for route in scoped(ROUTES):
        assert set(route.scopes.values()) <= SCOPES | {OPEN}
        if isinstance(route, ScopedRoute):
            assert route.methods == set(route.scopes)
            changes = {method: scope for method, scope in route.scopes.items() if method not in ("GET", "HEAD")}
            assert not set(changes.values()) & {"read", OPEN}, f"{route.path}: whoever changes something needs `run`"


def test_only_the_console_and_the_health_checks_are_open() -> None:
    assert {route.path for route in open_routes(ROUTES)} == {"/", "/console/{path:path}", "/healthz", "/readyz"}


@pytest.mark.parametrize("path", ["/", "/console/main.js", "/healthz", "/readyz"])
def test_an_open_path_is_no_other_route(path: str) -> None:
    scope = {"type": "http", "method": "GET", "path": path, "headers": []}
    others = [route for route in ROUTES if route not in open_routes(ROUTES)]
    assert not matches_any(others, scope)


def test_without_a_token_routes_cannot_be_told_from_others(limited: Gateway) -> None:
    """The same status and code for routes, wrong methods, and paths that do not exist."""
    found = set()
    for method, path in [*endpoints(), ("GET", "/nowhere"), ("DELETE", "/agents"), ("GET", "/agents/")]:
        if method != "WS" and path not in ("/", "/console/{path:path}", "/healthz", "/readyz"):
            target = path.replace("{", "").replace("}", "").replace(":path", "")
            response = limited.client.request(method, target, headers={"authorization": ""})
            found.add((response.status_code, response.json()["code"], "allow" in response.headers))
    assert found == {(401, "UNAUTHORIZED", False)}


def test_a_token_for_reading_changes_nothing(limited: Gateway) -> None:
    headers = {"authorization": f"Bearer {token_of('reader')}"}
    for method, path in endpoints():
        if method in ("POST", "PUT", "DELETE"):
            target = path.replace("{agent}", "echo").replace("{agentName}", "echo")
            target = target.replace("{", "").replace("}", "").replace(":path", "")
            response = limited.client.request(method, target, json={}, headers=headers)
            assert problem_in(response, 403, "SCOPE_MISSING")["scope"] in ("run", "admin"), target


def test_a_probe_starts_the_agent_so_it_needs_more_than_reading(limited: Gateway) -> None:
    headers = {"authorization": f"Bearer {token_of('reader')}"}
    (limited.client.get("/agents/claude/capabilities", headers=headers)).raise_for_status()
    response = limited.client.get("/agents/claude/capabilities?probe=1", headers=headers)
    assert problem_in(response, 403, "SCOPE_MISSING")["scope"] == "run"
