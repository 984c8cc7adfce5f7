"""The application: routes as a list, the door around them, the house behind them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from starlette.applications import Starlette
from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.routing import BaseRoute, Mount, Route, WebSocketRoute
from starlette.types import ASGIApp

from gateway.capabilities.views import relay
from gateway.catalog.load import bundled, with_bare
from gateway.catalog.plugins import plugins
from gateway.encode.negotiate import transport_flags
from gateway.errors import ConfigError
from gateway.registry.file_watcher import AgentFolder
from gateway.registry.overlays import Overlay
from gateway.service.gateway import open_gateway
from gateway.settings import Settings
from gateway.store import open_store
from gateway.web.forward import forwarded
from gateway.web.middleware.gzip import GzipMiddleware
from gateway.web.middleware.security import SecurityMiddleware
from gateway.web.problems import HANDLERS
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
)
from gateway.web.tokens import load_tokens

Endpoint = Callable[[Request], Awaitable[ASGIApp]]


def by_method(**endpoints: Endpoint) -> Endpoint:
    """Several methods on one path as one route, so that a 405 can name them all."""

    async def choose(request: Request) -> ASGIApp:
        method = "GET" if request.method == "HEAD" else request.method
        return await endpoints[method](request)

    return choose


ONE_AGENT = by_method(GET=agents.show, POST=runs.start, PUT=registration.put, DELETE=registration.delete)
ONE_THREAD = by_method(GET=threads.show, DELETE=threads.delete)

ROUTES: list[BaseRoute] = [
    # These two first: they are asked for most, and every route that stands before another costs it a look.
    Route("/agents/{agent}/capabilities", capabilities.show),
    Route("/agents/{agent}", ONE_AGENT, methods=["GET", "POST", "PUT", "DELETE"]),
    Route("/", console.index),
    Route("/console/{path:path}", console.file),
    Route("/healthz", health.healthz),
    Route("/readyz", health.readyz),
    Route("/agents", agents.list_agents),
    WebSocketRoute("/agents/{agent}/socket", websocket.socket),
    Route("/schemas/agent.json", schemas.agent),
    Route("/capabilities/matrix", matrix.show),
    Route("/agents/{agent}/models", forwarded(models.list_models)),
    Route("/agents/{agent}/models:validate", forwarded(models.validate), methods=["GET", "POST"]),
    Route("/agents/{agent}/models:refresh", forwarded(models.refresh), methods=["POST"]),
    # The longer path first: a model's id may have slashes in it.
    Route("/agents/{agent}/models/{model:path}/cost", forwarded(models.show_cost)),
    Route("/agents/{agent}/models/{model:path}", forwarded(models.show)),
    Route("/agents/{agent}/threads", threads.list_threads),
    # Before the thread itself, whose id may have slashes in it.
    Route("/agents/{agent}/threads/{thread:path}/events", messages.events),
    Route("/agents/{agent}/threads/{thread:path}", ONE_THREAD, methods=["GET", "DELETE"]),
    Route("/agents/{agent}/threads/{thread:path}/messages", messages.post, methods=["POST"]),
    Route("/agents/{agent}/threads/{thread:path}/close", threads.close, methods=["POST"]),
    Route("/agents/{agent}/threads/{thread:path}/fork", threads.fork, methods=["POST"]),
    Route("/agents/{agent}/threads/{thread:path}/mode", threads.set_mode, methods=["POST"]),
    Route("/agents/{agent}/threads/{thread:path}/model", threads.set_model, methods=["POST"]),
    Route("/agents/{agent}/threads/{thread:path}/config", threads.set_config, methods=["POST"]),
    Route("/agents/{agent}/threads/{thread:path}/acp", threads.call, methods=["POST"]),
    Route("/runs/{run:path}/events", runs.attach, name="attach"),
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


def carried(routes: list[BaseRoute]) -> dict[str, Any]:
    """The gateway's own layer, read off what is really mounted."""
    return {
        **transport_flags(),
        "transport.websocket": any(isinstance(route, WebSocketRoute) for route in routes),
        "transport.resumable": any(isinstance(route, Route) and route.name == "attach" for route in routes),
        "transport.pushNotifications": any(isinstance(route, Route) and route.name == "webhooks" for route in routes),
        **relay.LAYER,
    }


def layers(settings: Settings) -> list[Overlay]:
    """Where agents come from; later ones are laid over earlier ones, and what is registered by HTTP over all."""
    mine = [AgentFolder(folder) for folder in settings.agents]
    return [
        AgentFolder(bundled()),
        Overlay("entry points", plugins()),
        *mine,
        Overlay("--acp", with_bare({}, settings.acp)),
    ]


def create_app(settings: Settings | None = None) -> Starlette:
    """The ASGI application. Files and tokens are read now, so that a mistake in them is told before it serves."""
    settings = settings or Settings()
    tokens = load_tokens(settings.token_file)
    shelves = layers(settings)
    known = sorted({name for overlay in shelves for name in overlay.catalog})
    if settings.default_agent not in (None, *known):
        raise ConfigError(f"default_agent: there is no agent {settings.default_agent!r}. Known: {', '.join(known)}.")
    store = open_store(settings.store)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with open_gateway(settings, store, shelves, carried(ROUTES)) as gateway:
            app.state.gateway = gateway
            await messages.start_delivery(gateway)
            yield

    return Starlette(
        routes=ROUTES,
        middleware=[Middleware(SecurityMiddleware, settings=settings, tokens=tokens), Middleware(GzipMiddleware)],
        exception_handlers=HANDLERS,
        lifespan=lifespan,
    )
