"""HTTP/1.1 by uvicorn's httptools protocol, with the bounds it lacks (header size, header time) and our errors.

Neither bound exists in uvicorn: a client may send headers for ever, or never finish them. An offer to upgrade that is
not taken (Java's client offers `h2c` with every request) is left aside; uvicorn would drop the request's body with it.
"""

from __future__ import annotations

import asyncio
import sys
from typing import Any

import httptools
import orjson
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from gateway.errors import BadRequest, GatewayError, TooLarge, TooSlow
from gateway.settings import Settings
from gateway.web.problems import CONTENT_TYPE

REASONS = {400: "Bad Request", 408: "Request Timeout", 431: "Request Header Fields Too Large"}
NOT_HTTP = "this is not an HTTP/1.1 request"
SOCKET = b"/socket"
"""How the path of every WebSocket ends."""
LINE_EXTRA = 4
"""Bytes of a header's line beside its name and value."""


class HeadersTooLarge(TooLarge):
    status, title, code = 431, "Headers too large", "HEADERS_TOO_LARGE"


def bounded_protocol(settings: Settings) -> type[HttpToolsProtocol]:
    """uvicorn builds protocols itself, so the settings travel in the class."""

    def too_large() -> HeadersTooLarge:
        return HeadersTooLarge(f"the headers are larger than {settings.header_limit} bytes (header_limit)")

    class BoundedProtocol(HttpToolsProtocol):
        _header_bytes = _unfinished_bytes = 0
        _begun = False
        _data = _again = b""
        _deadline: asyncio.TimerHandle | None = None
        _refusal: GatewayError | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._watch()

        def connection_lost(self, exc: Exception | None) -> None:
            self._unwatch()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self._deadline is None and (self.cycle is None or self.cycle.response_complete):
                self._watch()  # the next request on a connection that is kept open
            in_headers, self._again = self._begun, data
            while self._again:
                self._data, self._again = self._again, b""
                super().data_received(self._data)
            if in_headers and self._begun and not self.transport.is_closing():
                # The parser tells of a header when it is whole; one that never ends is counted here.
                self._unfinished_bytes += len(data)
                if self._unfinished_bytes > settings.header_limit:
                    self._refuse(too_large())

        def on_message_begin(self) -> None:
            self._header_bytes = self._unfinished_bytes = 0
            self._begun = True
            super().on_message_begin()

        def on_url(self, url: bytes) -> None:
            self._count(len(url))
            super().on_url(url)

        def on_header(self, name: bytes, value: bytes) -> None:
            self._count(len(name) + len(value) + LINE_EXTRA)
            super().on_header(name, value)

        def _count(self, size: int) -> None:
            self._header_bytes += size
            if self._header_bytes > settings.header_limit:
                self._refusal = too_large()
                raise self._refusal  # the parser stops here, so that nothing of the request is carried out

        def on_headers_complete(self) -> None:
            self._unwatch()
            self._begun = False
            if not self._offers_upgrade():
                super().on_headers_complete()

        def on_message_complete(self) -> None:
            if not self._offers_upgrade():
                super().on_message_complete()

        def _should_upgrade(self) -> bool:
            """Only where there is a socket; elsewhere the offer is left aside."""
            return super()._should_upgrade() and self.url.partition(b"?")[0].endswith(SOCKET)

        def _offers_upgrade(self) -> bool:
            return self.parser.should_upgrade() and not self._should_upgrade()

        def _unsupported_upgrade_warning(self) -> None:
            """The parser has stopped behind the headers: a new one reads the request as if nothing was offered."""
            stopped, method = sys.exception(), self.parser.get_method()
            assert isinstance(stopped, httptools.HttpParserUpgrade)
            if method == b"CONNECT":
                return self.send_400_response(NOT_HTTP)
            lines = [b"%b %b HTTP/%b" % (method, self.url, self.parser.get_http_version().encode())]
            lines += [b"%b: %b" % header for header in self.headers if header[0] != b"upgrade"]
            self.parser = httptools.HttpRequestParser(self)
            self._again = b"\r\n".join(lines) + b"\r\n\r\n" + self._data[stopped.args[0] :]
            return None

        def send_400_response(self, msg: str) -> None:
            if not self.transport.is_closing():
                self._refuse(self._refusal or BadRequest(NOT_HTTP))

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
            if self._answering():
                return self.transport.close()  # an answer inside another would be taken for a part of it
            body = orjson.dumps(error.problem())
            head = (
                f"HTTP/1.1 {error.status} {REASONS[error.status]}\r\ncontent-type: {CONTENT_TYPE}\r\n"
                f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
            return self.transport.close()

        def _answering(self) -> bool:
            cycle = self.cycle
            return bool(self.pipeline) or (cycle is not None and cycle.response_started and not cycle.response_complete)

    return BoundedProtocol
