"""uvicorn's WebSocket protocol (websockets) with a bound on the handshake, and a shutdown that lets runs end.

uvicorn never answers a handshake that its library cannot read (more than 128 headers, a line of more than 8 KiB), and
has no time limit for one. Here such a handshake gets a problem, and one that is not complete within `header_timeout` is
closed. A text message that is not UTF-8 ends the connection (RFC 6455, section 8.1) without a traceback in the log.
"""

from __future__ import annotations

import asyncio
from typing import Any

import orjson
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from gateway.errors import BadRequest
from gateway.settings import Settings
from gateway.web.problems import CONTENT_TYPE

CLOSE_INVALID_DATA = 1007
"""https://www.iana.org/assignments/websocket/websocket.xhtml#close-code-number"""
UNREADABLE = "the WebSocket handshake has too many headers, or a header that is too long"


def bounded_websocket(settings: Settings) -> type[WebSocketsSansIOProtocol]:
    """A protocol class with these settings. uvicorn instantiates it, so they cannot be constructor arguments."""

    class BoundedWebSocket(WebSocketsSansIOProtocol):
        _deadline: asyncio.TimerHandle | None = None

        def connection_made(self, transport: Any) -> None:
            super().connection_made(transport)
            self._deadline = self.loop.call_later(settings.header_timeout, self._on_deadline)

        def connection_lost(self, exc: Exception | None) -> None:
            if self._deadline is not None:
                self._deadline.cancel()
            super().connection_lost(exc)

        def _on_deadline(self) -> None:
            if not self.handshake_complete:
                self.transport.close()

        def data_received(self, data: bytes) -> None:
            super().data_received(data)
            if self.conn.handshake_exc is not None and not self.handshake_initiated:
                self._refuse_handshake()

        def _refuse_handshake(self) -> None:
            body = orjson.dumps(BadRequest(UNREADABLE).problem())
            head = (
                f"HTTP/1.1 400 Bad Request\r\ncontent-type: {CONTENT_TYPE}\r\ncontent-length: {len(body)}\r\n"
                "connection: close\r\n\r\n"
            )
            self.handshake_complete = self.close_sent = True
            self.transport.write(head.encode() + body)
            self.transport.close()

        def send_receive_event_to_app(self) -> None:
            if self.curr_msg_data_type == "text" and not self.close_sent and not _is_utf8(b"".join(self.frames)):
                self.frames = []
                if self.conn.close_sent is not None or self.conn.close_rcvd is not None:
                    return None  # The client's own close came with it, and is handled next.
                self.conn.send_close(CLOSE_INVALID_DATA)
                return self.handle_parser_exception()
            return super().send_receive_event_to_app()

        async def send(self, message: Any) -> None:
            await super().send(message)
            if self.initial_response is not None and self.close_sent:
                self.handshake_complete = True  # It was refused: uvicorn would log an error, and answer once more.

        def shutdown(self) -> None:
            """uvicorn closes WebSockets as soon as it shuts down. Here the route closes them, after their runs have
            ended."""
            if self.close_sent or not self.handshake_complete:
                super().shutdown()

    return BoundedWebSocket


def _is_utf8(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True
