"""uvicorn's HTTP/1.1 protocol (httptools) with bounds on header size and header time, and problem+json for its errors.

uvicorn has neither bound: a client could send headers without end, or never finish them. It also drops the body of a
request that offers an upgrade which the server does not accept (Java's client offers `h2c` with every request). Here
such an offer is ignored. And it closes a connection while the client is still sending, which may cost the answer.
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
from gateway.web.auth.local_user import Peer
from gateway.web.lingering_transport import LINGER_BYTES, LingeringTransport
from gateway.web.problems import CONTENT_TYPE

REASON_PHRASES = {400: "Bad Request", 408: "Request Timeout", 431: "Request Header Fields Too Large"}
NOT_HTTP = "this is not an HTTP/1.1 request"
WEBSOCKET_PATH_END = b"/socket"
HEADER_LINE_EXTRA_BYTES = 4
"""Of a header's line: the colon, the space and the line end."""


def _announces_body(name: bytes, value: bytes) -> bool:
    return name == b"transfer-encoding" or (name == b"content-length" and value.strip() != b"0")


class HeadersTooLarge(TooLarge):
    status = 431
    title = "Headers too large"
    code = "HEADERS_TOO_LARGE"


def bounded_protocol(settings: Settings) -> type[HttpToolsProtocol]:
    """A protocol class with these settings. uvicorn instantiates it, so they cannot be constructor arguments."""

    def too_large() -> HeadersTooLarge:
        return HeadersTooLarge(f"the headers are larger than {settings.header_limit} bytes (header_limit)")

    class BoundedProtocol(HttpToolsProtocol):
        _header_bytes = 0
        _unfinished_bytes = 0
        _in_headers = False
        _data = b""
        _unparsed = b""
        _deadline: asyncio.TimerHandle | None = None
        _refusal: GatewayError | None = None
        _lingering: LingeringTransport

        def connection_made(self, transport: Any) -> None:
            self._lingering = LingeringTransport(transport, self._is_receiving)
            super().connection_made(self._lingering)  # type: ignore[arg-type]  # it delegates what it does not change
            # uvicorn copies this into the state of every request of the connection.
            self.app_state = {**self.app_state, "peer": Peer.of_socket(transport.get_extra_info("socket"))}
            self._start_deadline()

        def connection_lost(self, exc: Exception | None) -> None:
            self._stop_deadline()
            self._lingering.abandon()
            super().connection_lost(exc)

        def handle_websocket_upgrade(self) -> None:
            self.transport = self._lingering.transport  # uvicorn gives it to the protocol of the WebSocket
            super().handle_websocket_upgrade()

        def data_received(self, data: bytes) -> None:
            if self._lingering.is_lingering:
                return self._lingering.drop(data)
            if self._deadline is None and (self.cycle is None or self.cycle.response_complete):
                self._start_deadline()  # The next request on a connection that is kept open.
            was_in_headers = self._in_headers
            self._unparsed = data
            while self._unparsed:
                self._data = self._unparsed
                self._unparsed = b""
                super().data_received(self._data)
            if was_in_headers and self._in_headers and not self.transport.is_closing():
                # The parser reports a header when it is complete. One that never ends is counted here.
                self._unfinished_bytes += len(data)
                if self._unfinished_bytes > settings.header_limit:
                    self._refuse(too_large())
            return None

        def on_message_begin(self) -> None:
            self._header_bytes = 0
            self._unfinished_bytes = 0
            self._in_headers = True
            super().on_message_begin()

        def on_url(self, url: bytes) -> None:
            self._count(len(url))
            super().on_url(url)

        def on_header(self, name: bytes, value: bytes) -> None:
            self._count(len(name) + len(value) + HEADER_LINE_EXTRA_BYTES)
            super().on_header(name, value)

        def _count(self, size: int) -> None:
            self._header_bytes += size
            if self._header_bytes > settings.header_limit:
                self._refusal = too_large()
                raise self._refusal  # This stops the parser, so that the request is not carried out.

        def on_headers_complete(self) -> None:
            self._stop_deadline()
            self._in_headers = False
            if not self._has_ignored_upgrade():
                super().on_headers_complete()

        def on_message_complete(self) -> None:
            if not self._has_ignored_upgrade():
                super().on_message_complete()

        def _should_upgrade(self) -> bool:
            """Only a GET without a body on the path of a WebSocket; elsewhere the offer is ignored. RFC 6455, section
            4.1: https://www.rfc-editor.org/rfc/rfc6455#section-4.1."""
            return (
                super()._should_upgrade()
                and self.parser.get_method() == b"GET"
                and self.url.partition(b"?")[0].endswith(WEBSOCKET_PATH_END)
                and not any(_announces_body(*header) for header in self.headers)
            )

        def _has_ignored_upgrade(self) -> bool:
            return self.parser.should_upgrade() and not self._should_upgrade()

        def _unsupported_upgrade_warning(self) -> None:
            """The parser has stopped after the headers. A new one reads the same request without the offer."""
            upgrade = sys.exception()
            method = self.parser.get_method()
            assert isinstance(upgrade, httptools.HttpParserUpgrade)
            if method == b"CONNECT":
                return self.send_400_response(NOT_HTTP)
            lines = [b"%b %b HTTP/%b" % (method, self.url, self.parser.get_http_version().encode())]
            lines += [b"%b: %b" % header for header in self.headers if header[0] != b"upgrade"]
            self.parser = httptools.HttpRequestParser(self)
            self._unparsed = b"\r\n".join(lines) + b"\r\n\r\n" + self._data[upgrade.args[0] :]
            return None

        def send_400_response(self, msg: str) -> None:
            if not self.transport.is_closing():
                self._refuse(self._refusal or BadRequest(NOT_HTTP))

        def _start_deadline(self) -> None:
            self._deadline = self.loop.call_later(settings.header_timeout, self._on_deadline)

        def _stop_deadline(self) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
                self._deadline = None

        def _on_deadline(self) -> None:
            if not self._in_headers:
                self.transport.close()  # Opened in advance and never used: the client waits for no response.
            elif not self.transport.is_closing():
                detail = f"the headers were not complete within {settings.header_timeout:g} seconds (header_timeout)"
                self._refuse(TooSlow(detail))

        def _refuse(self, error: GatewayError) -> None:
            self._stop_deadline()
            if self._is_responding():
                return self.transport.close()  # A second response would be read as a part of the first.
            body = orjson.dumps(error.problem())
            head = (
                f"HTTP/1.1 {error.status} {REASON_PHRASES[error.status]}\r\ncontent-type: {CONTENT_TYPE}\r\n"
                f"content-length: {len(body)}\r\nconnection: close\r\n\r\n"
            )
            self.transport.write(head.encode() + body)
            return self.transport.close()

        def _is_receiving(self) -> bool:
            """A body that is announced as larger than what is read in vain is cut off at once."""
            if self.cycle is None or not self.cycle.more_body:
                return self._in_headers
            sizes = [value.strip() for name, value in self.headers if name == b"content-length"]
            return not any(size.isdigit() and int(size) > LINGER_BYTES for size in sizes)

        def _is_responding(self) -> bool:
            cycle = self.cycle
            return bool(self.pipeline) or (cycle is not None and cycle.response_started and not cycle.response_complete)

    return BoundedProtocol
