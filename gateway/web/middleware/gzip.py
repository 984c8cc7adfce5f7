"""Gzip for whole JSON and CSV responses: a capability matrix of thirty agents shrinks to a twentieth of its size.

In: a response. Out: the same, compressed if its body is complete, long enough and not compressed yet. Never: streams,
because each event must leave at once. Starlette's `GZipMiddleware` would buffer the protobuf stream.
"""

from __future__ import annotations

import gzip

from anyio import to_thread
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

MIN_BYTES = 4096
"""Compression of a shorter body costs more than it saves: snapshots are requested often, and fit into three packets."""
THREAD_MIN_BYTES = 128 * 1024
"""A body of this size is compressed in a thread, because it would block the event loop noticeably."""
COMPRESSION_LEVEL = 5
MEDIA_TYPES = ("application/json", "text/csv")


class GzipMiddleware:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or "gzip" not in Headers(scope=scope).get("accept-encoding", ""):
            return await self._app(scope, receive, send)
        return await self._app(scope, receive, _GzipResponse(send).send)


class _GzipResponse:
    """One response. Its head is kept back until the body is there, if that may be compressed."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._head: Message | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _is_compressible(message):
            self._head = message
            return
        head = self._head
        self._head = None
        if head is not None:
            if not message.get("more_body", False):
                message = await _compress(head, message)
            await self._send(head)
        await self._send(message)


def _is_compressible(head: Message) -> bool:
    headers = Headers(raw=head["headers"])
    is_long = int(headers.get("content-length", "0")) >= MIN_BYTES
    return is_long and headers.get("content-type", "").startswith(MEDIA_TYPES) and "content-encoding" not in headers


async def _compress(head: Message, message: Message) -> Message:
    """The body's message; the headers in `head` are changed to match."""
    body: bytes = message.get("body", b"")
    data = _gzip(body) if len(body) < THREAD_MIN_BYTES else await to_thread.run_sync(_gzip, body)
    headers = MutableHeaders(raw=head["headers"])
    headers["content-encoding"] = "gzip"
    headers["content-length"] = str(len(data))
    headers.add_vary_header("accept-encoding")
    return {**message, "body": data}


def _gzip(body: bytes) -> bytes:
    return gzip.compress(body, COMPRESSION_LEVEL, mtime=0)
