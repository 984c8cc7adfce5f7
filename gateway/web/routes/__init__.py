"""All routes: one file per resource, and `ROUTES`, at the end, is the list of them.

In: HTTP and WebSocket requests, authenticated by the middleware. Out: responses made of what `service.gateway.Gateway`
returns. A route reads the request, calls one part of the gateway, and writes the answer.
"""

from __future__ import annotations

from starlette.endpoints import HTTPEndpoint
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute

from gateway.web.forward import forwarded
from gateway.web.routes import (
    agents,
    capabilities,
    console,
    copilotkit,
    health,
    matrix,
    messages,
    models,
    registration,
    runs,
    schemas,
    threads,
    websocket,
    worktrees,
)
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


AGENT = "/agents/{agent}"
THREAD = f"{AGENT}/threads/{{thread:path}}"

ROUTES: list[BaseRoute] = [
    # These two first: clients request them most, and a route is compared with every route before it.
    Route(f"{AGENT}/capabilities", capabilities.show),
    Route(AGENT, AgentEndpoint, methods=["GET", "POST", "PUT", "DELETE"]),
    Route("/", console.index),
    Route("/console/{path:path}", console.file),
    Route("/healthz", health.healthz),
    Route("/readyz", health.readyz),
    Route("/agents", agents.list_agents),
    WebSocketRoute(f"{AGENT}/socket", websocket.socket),
    Route("/schemas/agent.json", schemas.agent),
    Route("/capabilities/matrix", matrix.show),
    Route(f"{AGENT}/models", forwarded(models.list_models)),
    Route(f"{AGENT}/models:validate", forwarded(models.validate), methods=["GET", "POST"]),
    Route(f"{AGENT}/models:refresh", forwarded(models.refresh), methods=["POST"]),
    # The longer path first: a model's id may contain slashes.
    Route(f"{AGENT}/models/{{model:path}}/cost", forwarded(models.show_cost)),
    Route(f"{AGENT}/models/{{model:path}}", forwarded(models.show)),
    Route(f"{AGENT}/threads", threads.list_threads),
    # Before the thread itself, whose id may contain slashes.
    Route(f"{THREAD}/events", messages.events),
    Route(f"{THREAD}/worktree", WorktreeEndpoint, methods=["GET", "DELETE"]),
    Route(f"{THREAD}/worktree/diff", worktrees.show_diff),
    Route(f"{THREAD}/worktree/commit", worktrees.commit, methods=["POST"]),
    Route(f"{THREAD}/worktree/merge", worktrees.merge, methods=["POST"]),
    Route(THREAD, ThreadEndpoint, methods=["GET", "DELETE"]),
    Route(f"{THREAD}/messages", messages.post, methods=["POST"]),
    Route(f"{THREAD}/close", threads.close, methods=["POST"]),
    Route(f"{THREAD}/fork", threads.fork, methods=["POST"]),
    Route(f"{THREAD}/mode", threads.set_mode, methods=["POST"]),
    Route(f"{THREAD}/model", threads.set_model, methods=["POST"]),
    Route(f"{THREAD}/config", threads.set_config, methods=["POST"]),
    Route(f"{THREAD}/acp", threads.call, methods=["POST"]),
    Route("/runs/{run:path}/events", runs.attach, name=REPLAY_ROUTE),
    Route("/runs/{run:path}/cancel", runs.cancel, methods=["POST"]),
    Mount(
        "/copilotkit",
        routes=[
            Route("/info", copilotkit.info),
            Route("/agent/{agent}/run", copilotkit.run, methods=["POST"]),
            Route("/agent/{agent}/connect", copilotkit.connect, methods=["POST"]),
            Route("/agent/{agent}/stop/{thread:path}", copilotkit.stop, methods=["POST"]),
        ],
    ),
]
