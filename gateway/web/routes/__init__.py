"""All routes: one file per resource, and `ROUTES`, at the end, is the list of them.

In: HTTP and WebSocket requests, authenticated by the middleware. Out: responses made of what `service.gateway.Gateway`
returns. A route reads the request, calls one part of the gateway, and writes the answer. Each names the scope that a
caller needs.
"""

from __future__ import annotations

from starlette.endpoints import HTTPEndpoint
from starlette.routing import BaseRoute, Mount

from gateway.web.forward import forwarded
from gateway.web.routes import (
    agents,
    audit,
    capabilities,
    console,
    copilotkit,
    health,
    installation,
    matrix,
    messages,
    models,
    registration,
    runs,
    schemas,
    threads,
    websocket,
    workspaces,
    worktrees,
)
from gateway.web.scoped_routes import OPEN, ScopedRoute, ScopedWebSocketRoute, post
from gateway.web.transports import REPLAY_ROUTE


class AgentEndpoint(HTTPEndpoint):
    """Several methods on one path are one route, so that a 405 names them all."""

    get = head = staticmethod(agents.show)
    post = staticmethod(runs.start)
    put = staticmethod(registration.put)
    delete = staticmethod(registration.delete)


class ThreadEndpoint(HTTPEndpoint):
    get = head = staticmethod(threads.show)
    delete = staticmethod(threads.delete)


class WorktreeEndpoint(HTTPEndpoint):
    get = head = staticmethod(worktrees.show)
    delete = staticmethod(worktrees.discard)


class InstallEndpoint(HTTPEndpoint):
    get = head = staticmethod(installation.show)
    post = staticmethod(installation.install)


class PluginsEndpoint(HTTPEndpoint):
    get = head = staticmethod(installation.list_plugins)
    post = delete = staticmethod(installation.change_plugin)


AGENT = "/agents/{agent}"
THREAD = f"{AGENT}/threads/{{thread:path}}"

ROUTES: list[BaseRoute] = [
    # These two first: clients request them most, and a route is compared with every route before it.
    ScopedRoute(f"{AGENT}/capabilities", capabilities.show, scope="read"),
    ScopedRoute(AGENT, AgentEndpoint, scope={"GET": "read", "POST": "run", "PUT": "admin", "DELETE": "admin"}),
    ScopedRoute("/", console.index, scope=OPEN, is_page=True),
    ScopedRoute("/console/{path:path}", console.file, scope=OPEN, is_page=True),
    ScopedRoute("/healthz", health.healthz, scope=OPEN),
    ScopedRoute("/readyz", health.readyz, scope=OPEN),
    ScopedRoute("/agents", agents.list_agents, scope="read"),
    ScopedRoute("/workspaces", workspaces.show, scope="read"),
    ScopedRoute("/audit", audit.show, scope="admin"),
    ScopedWebSocketRoute(f"{AGENT}/socket", websocket.socket, scope="run"),
    ScopedRoute("/schemas/agent.json", schemas.agent, scope="read"),
    ScopedRoute("/capabilities/matrix", matrix.show, scope="read"),
    post("/models:refresh", models.refresh_all, scope="admin"),
    ScopedRoute(f"{AGENT}/models", forwarded(models.list_models), scope="read"),
    ScopedRoute(f"{AGENT}/models:validate", models.validate, scope={"GET": "read", "POST": "run"}),
    post(f"{AGENT}/models:refresh", forwarded(models.refresh)),
    ScopedRoute(f"{AGENT}/install", InstallEndpoint, scope={"GET": "read", "POST": "admin"}),
    ScopedRoute(f"{AGENT}/plugins", PluginsEndpoint, scope={"GET": "admin", "POST": "admin", "DELETE": "admin"}),
    # The longer path first: a model's id may contain slashes.
    ScopedRoute(f"{AGENT}/models/{{model:path}}/cost", forwarded(models.show_cost), scope="read"),
    ScopedRoute(f"{AGENT}/models/{{model:path}}", forwarded(models.show), scope="read"),
    ScopedRoute(f"{AGENT}/threads", threads.list_threads, scope="read"),
    # Before the thread itself, whose id may contain slashes.
    ScopedRoute(f"{THREAD}/events", messages.events, scope="read"),
    ScopedRoute(f"{THREAD}/worktree", WorktreeEndpoint, scope={"GET": "read", "DELETE": "run"}),
    ScopedRoute(f"{THREAD}/worktree/diff", worktrees.show_diff, scope="read"),
    post(f"{THREAD}/worktree/commit", worktrees.commit),
    post(f"{THREAD}/worktree/merge", worktrees.merge),
    ScopedRoute(THREAD, ThreadEndpoint, scope={"GET": "read", "DELETE": "run"}),
    post(f"{THREAD}/messages", messages.post),
    post(f"{THREAD}/close", threads.close),
    post(f"{THREAD}/fork", threads.fork),
    post(f"{THREAD}/mode", threads.set_mode),
    post(f"{THREAD}/model", threads.set_model),
    post(f"{THREAD}/config", threads.set_config),
    # Any method of the agent's own protocol.
    post(f"{THREAD}/acp", threads.call),  # all but the list of one's own sessions needs `admin`: see `threads.call`
    ScopedRoute("/runs/{run:path}/events", runs.attach, scope="read", name=REPLAY_ROUTE),
    post("/runs/{run:path}/cancel", runs.cancel),
    Mount(
        "/copilotkit",
        routes=[
            ScopedRoute("/info", copilotkit.info, scope="read"),
            post(f"/agent/{{{copilotkit.AGENT_PARAM}}}/run", copilotkit.run),
            post(f"/agent/{{{copilotkit.AGENT_PARAM}}}/connect", copilotkit.connect),
            post(f"/agent/{{{copilotkit.AGENT_PARAM}}}/stop/{{thread:path}}", copilotkit.stop),
        ],
    ),
]
