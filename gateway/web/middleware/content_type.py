"""`x-content-type-options: nosniff` on every response, so that no browser takes an answer of the API for a page."""

from __future__ import annotations

from collections.abc import Awaitable

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from gateway.web.problems import NOSNIFF


class ContentTypeMiddleware:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        def with_header(message: Message) -> Awaitable[None]:
            # Not a coroutine of its own: a stream sends a message for every event.
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(NOSNIFF)
            return send(message)

        await self._app(scope, receive, with_header if scope["type"] == "http" else send)
