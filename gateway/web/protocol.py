"""HTTP/1.1 by uvicorn's httptools protocol, with the bounds it lacks (header size, header time) and our errors.

Neither bound exists in uvicorn: a client may send headers for ever, or never finish them.
"""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from gateway.errors import BadRequest, GatewayError, TooLarge, TooSlow
from gateway.settings import Settings
from gateway.web.problems import CONTENT_TYPE

REASONS = {400: "Bad Request", 408: "Request Timeout", 431: "Request Header Fields Too Large"}


class HeadersTooLarge(TooLarge):
    status, title, code = 431, "Headers too large", "HEADERS_TOO_LARGE"


def bounded_protocol(settings: Settings) -> type[HttpToolsProtocol]:
    """uvicorn builds protocols itself, so the settings travel in the class."""

    class BoundedProtocol(HttpToolsProtocol):
        _header_bytes = 0
        _begun = False
        _deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            self._unwatch()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self._deadline is None and (self.cycle is None or self.cycle.response_complete):
                self._watch()  # the next request on a connection that is kept open
            super().data_received(data)

        def on_message_begin(self) -> None:
            self._header_bytes, self._begun = 0, True
            super().on_message_begin()

        def on_url(self, url: bytes) -> None:
            self._count(url)
            super().on_url(url)

        def on_header(self, name: bytes, value: bytes) -> None:
            self._count(name + value)
            super().on_header(name, value)

        def on_headers_complete(self) -> None:
            self._unwatch()
            self._begun = False
            super().on_headers_complete()

        def send_400_response(self, msg: str) -> None:
            if not self.transport.is_closing():
                self._refuse(BadRequest("this is not an HTTP/1.1 request"))

        def _count(self, data: bytes) -> None:
            self._header_bytes += len(data)
            if self._header_bytes > settings.header_limit and not self.transport.is_closing():
                detail = f"the headers are larger than {settings.header_limit} bytes (header_limit)"
                self._refuse(HeadersTooLarge(detail))

        def _watch(self) -> None:
            self._deadline = self.loop.call_later(settings.header_timeout, self._too_slow)

        def _unwatch(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

        def _too_slow(self) -> None:
            if not self._begun:
                self.transport.close()  # opened in advance and never used: nobody waits for an answer
            elif not self.transport.is_closing():
                detail = f"the headers were not complete within {settings.header_timeout:g} seconds (header_timeout)"
                self._refuse(TooSlow(detail))

        def _refuse(self, error: GatewayError) -> None:
            self._unwatch()
            body = orjson.dumps(error.problem())
            head = (
                f"HTTP/1.1 {error.status} {REASONS[error.status]}\r\ncontent-type: {CONTENT_TYPE}\r\n"
                f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
            self.transport.close()

    return BoundedProtocol
