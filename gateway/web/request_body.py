"""A request's body, within the bounds of size and time."""

from __future__ import annotations

import anyio
from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive

from gateway.errors import BadRequest, TooLarge, TooSlow, WrongType
from gateway.settings import Settings

DISCARD = 8
"""A body over the limit is read to its end and thrown away, up to so many times the limit: a client that is still
sending when the connection closes never sees the answer that tells it why."""


async def read_json_body(request: Request, settings: Settings) -> bytes:
    """A page of another site can send `text/plain` unasked, but not JSON: so the type is part of the safety."""
    kind = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if kind != "application/json":
        raise WrongType(f"the body must be application/json, not {kind or 'without a type'}")
    return await read_body(request, settings)


async def read_body(request: Request, settings: Settings) -> bytes:
    limit = settings.body_limit
    declared = request.headers.get("content-length", "0")
    if declared.isdigit() and int(declared) > limit * DISCARD:
        raise _too_large(limit)
    try:
        with anyio.fail_after(settings.body_timeout):
            return await _collect(request.receive, limit)
    except TimeoutError:
        raise TooSlow(f"the body was not complete within {settings.body_timeout:g} seconds (body_timeout)") from None


async def _collect(receive: Receive, limit: int) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect()
        part: bytes = message.get("body", b"")
        size += len(part)
        if size <= limit:
            parts.append(part)
        elif size > limit * DISCARD:
            raise _too_large(limit)
        else:
            parts.clear()
        if not message.get("more_body", False):
            break
    if size > limit:
        raise _too_large(limit)
    return b"".join(parts)


def _too_large(limit: int) -> BadRequest:
    return TooLarge(f"the body is larger than {limit} bytes (body_limit)", limit=limit)
