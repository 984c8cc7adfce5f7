"""A request's body, read within `body_limit` and `body_timeout`.

In: a request. Out: its bytes, or `TooLarge`, `TooSlow`, `WrongType`.
"""

from __future__ import annotations

import anyio
from starlette.requests import ClientDisconnect, Request
from starlette.types import Receive

from gateway.errors import BadRequest, TooLarge, TooSlow, WrongType
from gateway.settings import Settings

MAX_DISCARDED_LIMITS = 8
"""A body over the limit is read to its end and discarded, if it is not larger than this many limits. A client that is
still sending when the connection closes would never see the response that names the reason."""


async def read_json_body(request: Request, settings: Settings) -> bytes:
    """The body of a request whose content type is JSON. The check is a protection too: a browser lets a page of another
    site send `text/plain` without a preflight request, but not JSON."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise WrongType(f"the body must be application/json, not {media_type or 'without a type'}")
    return await read_body(request, settings)


async def read_body(request: Request, settings: Settings) -> bytes:
    limit = settings.body_limit
    declared = request.headers.get("content-length", "0")
    if declared.isdigit() and int(declared) > limit * MAX_DISCARDED_LIMITS:
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
        elif size > limit * MAX_DISCARDED_LIMITS:
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
