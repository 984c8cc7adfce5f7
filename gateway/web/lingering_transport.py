"""A transport that ends a connection without losing the answer: RFC 9112, section 9.6
(https://www.rfc-editor.org/rfc/rfc9112#section-9.6).

In: the transport of a connection, and whether its client is still sending a request. Out: the same transport; `close`
ends only the gateway's side while the client sends, and the client's side a moment later. Closed at once, the system
would answer the client's next bytes with a reset, which can destroy the answer before the client has read it.

uvicorn writes the head of a response by itself, and uvloop sends each write at once. Here a head waits for the body
that follows in the same pass of the event loop: one system call and one packet instead of two.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

RESPONSE_HEAD = b"HTTP/1.1 "
LINGER_SECONDS = 2.0
LINGER_BYTES = 256 * 1024
"""What a client may send in vain. More is cut off, or a flood of large bodies would cost the gateway more to read than
to refuse."""


class LingeringTransport:
    def __init__(self, transport: asyncio.Transport, is_receiving: Callable[[], bool]) -> None:
        """`is_receiving`: the client has not sent all of a request."""
        self.transport = transport
        self._is_receiving = is_receiving
        self._deadline: asyncio.TimerHandle | None = None
        self._left = LINGER_BYTES
        self._head = b""
        self._write = transport.write

    def write(self, data: bytes) -> None:
        if self._head:
            data = self._head + data
            self._head = b""
        elif data.startswith(RESPONSE_HEAD):
            self._head = data
            asyncio.get_running_loop().call_soon(self.flush)
            return
        self._write(data)

    def flush(self) -> None:
        """Sends a head that no body has followed."""
        head, self._head = self._head, b""
        if head and not self.transport.is_closing():
            self._write(head)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.transport, name)

    @property
    def is_lingering(self) -> bool:
        """What arrives now is to be given to `drop`."""
        return self._deadline is not None

    def is_closing(self) -> bool:
        return self.is_lingering or self.transport.is_closing()

    def close(self) -> None:
        self.flush()
        can_linger = self.transport.can_write_eof() and not self.is_closing()
        if not can_linger or not self._is_receiving():
            return self.abandon()
        self._deadline = asyncio.get_running_loop().call_later(LINGER_SECONDS, self.abandon)
        self.transport.write_eof()
        self.transport.resume_reading()
        return None

    def drop(self, data: bytes) -> None:
        self._left -= len(data)
        if self._left < 0:
            self.abandon()

    def abandon(self) -> None:
        """Closes the connection now."""
        if self._deadline is not None:
            self._deadline.cancel()
        self._is_receiving = bool  # False from now on; the connection's own method would be a reference cycle
        self.transport.close()
