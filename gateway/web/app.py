"""The ASGI application: routes, middleware, and the gateway behind them for as long as the application lives."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from starlette.applications import Starlette
from starlette.middleware import Middleware

from gateway.service.gateway import open_gateway, read_files
from gateway.settings import Settings
from gateway.web.middleware.gzip import GzipMiddleware
from gateway.web.middleware.rate_limit import RateLimitMiddleware
from gateway.web.middleware.security import SecurityMiddleware
from gateway.web.problems import HANDLERS
from gateway.web.request_body import BodyParser
from gateway.web.routes import ROUTES
from gateway.web.tokens import load_tokens
from gateway.web.transports import transport_layer


def create_app(settings: Settings | None = None) -> Starlette:
    """Files and tokens are read now, so that the operator learns of a mistake in them before the gateway serves."""
    settings = settings or Settings()
    tokens = load_tokens(settings.token_file)
    files = read_files(settings)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        async with open_gateway(settings, files.store, files.overlays, transport_layer(ROUTES)) as gateway:
            app.state.gateway = gateway
            app.state.body_parser = BodyParser()
            await gateway.recover_deliveries()
            yield

    return Starlette(
        routes=ROUTES,
        middleware=[
            Middleware(SecurityMiddleware, settings=settings, tokens=tokens),
            Middleware(RateLimitMiddleware),
            Middleware(GzipMiddleware),
        ],
        exception_handlers=HANDLERS,
        lifespan=lifespan,
    )
