"""JSON and CSV answers, packed for whoever can unpack them: a matrix of thirty agents is a twentieth of its size.

In: a response that is whole. Out: the same, smaller. Streams pass as they are, for each event must leave at once; so do
short answers, which gain nothing, and what is packed already.
"""

from __future__ import annotations

import gzip

from anyio import to_thread
from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

SMALL = 4096
"""Bytes below which packing costs more than it saves: a snapshot is called for often, and fits into three packets."""
LARGE = 128 * 1024
"""Bytes above which others would notice that the loop is busy."""
LEVEL = 5
TYPES = ("application/json", "text/csv")


class GzipMiddleware:
    def __init__(self, app: ASGIApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http" or "gzip" not in Headers(scope=scope).get("accept-encoding", ""):
            return await self._app(scope, receive, send)
        return await self._app(scope, receive, _Packed(send).send)


class _Packed:
    """One response. Its head waits for the body where that may be packed."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._head: Message | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start" and _may_be_packed(message):
            self._head = message
            return
        head, self._head = self._head, None
        if head is not None:
            if not message.get("more_body", False):
                message = await _packed(head, message)
            await self._send(head)
        await self._send(message)


def _may_be_packed(head: Message) -> bool:
    headers = Headers(raw=head["headers"])
    whole = int(headers.get("content-length", "0")) >= SMALL
    return whole and headers.get("content-type", "").startswith(TYPES) and "content-encoding" not in headers


async def _packed(head: Message, message: Message) -> Message:
    body: bytes = message.get("body", b"")
    packed = _pack(body) if len(body) < LARGE else await to_thread.run_sync(_pack, body)
    headers = MutableHeaders(raw=head["headers"])
    headers["content-encoding"], headers["content-length"] = "gzip", str(len(packed))
    headers.add_vary_header("accept-encoding")
    return {**message, "body": packed}


def _pack(body: bytes) -> bytes:
    return gzip.compress(body, LEVEL, mtime=0)
