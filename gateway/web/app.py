"""The ASGI application: routes, middleware, and the gateway behind them for as long as the application lives."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import anyio
from starlette.applications import Starlette
from starlette.middleware import Middleware

from gateway.service.gateway import open_gateway, read_files
from gateway.settings import Settings
from gateway.web.auth.authenticator import Authenticator
from gateway.web.auth.live_requests import LiveRequests
from gateway.web.event_stream import drain_seconds
from gateway.web.live_streams import LiveStreams
from gateway.web.middleware.audit import AuditMiddleware
from gateway.web.middleware.content_type import ContentTypeMiddleware
from gateway.web.middleware.gzip import GzipMiddleware
from gateway.web.middleware.rate_limit import RateLimitMiddleware
from gateway.web.middleware.security import SecurityMiddleware
from gateway.web.problems import HANDLERS
from gateway.web.request_body import BodyParser
from gateway.web.routes import ROUTES
from gateway.web.transports import transport_layer


def create_app(settings: Settings | None = None) -> Starlette:
    """Files and tokens are read now, so that the operator learns of a mistake in them before the gateway serves."""
    settings = settings or Settings()
    authenticator = Authenticator(settings)
    live_requests = LiveRequests()
    files = read_files(settings)

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        names = authenticator.token_names()

        def apply_tokens() -> None:
            nonlocal names
            before, names = names, authenticator.token_names()
            for name in sorted(names - before):
                gateway.audit.record("token.add", name)
            for name in sorted(before - names):
                gateway.audit.record("token.revoke", name)
            live_requests.end_all(authenticator.is_over)
            gateway.engine.cancel_runs_of(lambda principal: authenticator.find_principal(principal) is None)

        opened = open_gateway(
            settings, files.store, files.overlays, transport_layer(ROUTES), authenticator.find_principal
        )
        async with opened as gateway, anyio.create_task_group() as tasks:
            app.state.gateway = gateway
            app.state.body_parser = BodyParser()
            app.state.live_streams = LiveStreams(drain_seconds(settings))
            tasks.start_soon(app.state.live_streams.end_at_shutdown)
            tasks.start_soon(authenticator.watch, apply_tokens)
            await gateway.recover_deliveries()
            yield
            tasks.cancel_scope.cancel()

    return Starlette(
        routes=ROUTES,
        middleware=[
            Middleware(AuditMiddleware, routes=ROUTES),
            Middleware(ContentTypeMiddleware),
            Middleware(
                SecurityMiddleware,
                settings=settings,
                authenticator=authenticator,
                live_requests=live_requests,
                routes=ROUTES,
            ),
            Middleware(RateLimitMiddleware),
            Middleware(GzipMiddleware),
        ],
        exception_handlers=HANDLERS,
        lifespan=lifespan,
    )
