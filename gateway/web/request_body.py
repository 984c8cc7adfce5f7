"""A request's body, read within `body_limit` and `body_timeout`, and parsed.

In: a request, and the function that reads its bytes. Out: what the function returns; or `TooLarge`, `TooSlow`,
`WrongType`, `LimitReached`, or what the function raises. While the bytes arrive their values are counted
(`web.json_items`), so that millions of small values are refused before they become objects. A body that is large, or
has many values, is parsed in a worker thread: meanwhile the gateway answers other clients.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

import anyio
from anyio import CapacityLimiter, to_thread
from starlette.requests import ClientDisconnect, Request

from gateway.errors import BadRequest, GatewayError, TooLarge, TooSlow, WrongType
from gateway.limits import BODY_BYTES, Hold
from gateway.service.gateway import Gateway
from gateway.web.json_items import ItemCounter

MAX_DISCARDED_LIMITS = 8
"""A body over the limit is read to its end and discarded, if it is not larger than this many limits. A client that is
still sending when the connection closes would never see the response that names the reason."""
DISCARD_PAUSE_SECONDS = 0.02
"""Between two pieces of a body that is discarded: each has up to 64 KiB."""
THREAD_BYTES = 1024 * 1024
"""Bodies of this size are parsed in a worker thread. Measured: 8 MB of text take 14 ms."""
THREAD_ITEMS = 5_000
"""And bodies with so many values. Measured: 100,000 of them take up to 90 ms."""

Result = TypeVar("Result")


class BodyParser:
    """Parses one large body after the other. More threads would not be faster: only one of them runs at a time."""

    def __init__(self) -> None:
        self._limiter = CapacityLimiter(1)

    async def run(self, size: int, items: int, parse: Callable[[], Result]) -> Result:
        """What `parse` returns for a body of `size` bytes with so many values. Raises what it raises."""
        if size < THREAD_BYTES and items < THREAD_ITEMS:
            return parse()
        return await to_thread.run_sync(parse, limiter=self._limiter)


async def read_json_body(request: Request, parse: Callable[[bytes], Result]) -> Result:
    """The body of a request whose content type is JSON. The check is a protection too: a browser lets a page of another
    site send `text/plain` without a preflight request, but not JSON."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise WrongType(f"the body must be application/json, not {media_type or 'without a type'}")
    return await read_body(request, parse)


async def read_body(request: Request, parse: Callable[[bytes], Result]) -> Result:
    """What `parse` makes of the body. Its bytes count among those of its principal until then."""
    gateway: Gateway = request.app.state.gateway
    settings = gateway.settings
    declared = request.headers.get("content-length", "0")
    if declared.isdigit() and int(declared) > settings.body_limit * MAX_DISCARDED_LIMITS:
        raise _too_large(settings.body_limit)
    with gateway.limits.hold(BODY_BYTES, request.state.principal) as hold:
        try:
            with anyio.fail_after(settings.body_timeout):
                body, items = await _collect(request, gateway, hold)
        except TimeoutError:
            detail = f"the body was not complete within {settings.body_timeout:g} seconds (body_timeout)"
            raise TooSlow(detail) from None
        parser: BodyParser = request.app.state.body_parser
        return await parser.run(len(body), items, lambda: parse(body))


async def _collect(request: Request, gateway: Gateway, hold: Hold) -> tuple[bytes, int]:
    """The body, and how many values it has. What is refused is read on slowly: the client can read the response, and
    reading costs the others nothing."""
    limit = gateway.settings.body_limit
    counter = ItemCounter(gateway.settings.max_body_items)
    parts: list[bytes] = []
    size = 0
    refusal: GatewayError | None = None
    while True:
        message = await request.receive()
        if message["type"] == "http.disconnect":
            raise ClientDisconnect()
        part: bytes = message.get("body", b"")
        size += len(part)
        if refusal is None:
            try:
                if size > limit:
                    raise _too_large(limit)
                gateway.limits.spend_request(request.state.principal, len(part))
                hold.add(len(part))
                counter.count(part)
                counter.raise_if_full()
                parts.append(part)
            except GatewayError as exc:
                refusal = exc
                parts.clear()
                hold.release()
        else:
            if size > limit * MAX_DISCARDED_LIMITS:
                raise refusal
            await anyio.sleep(DISCARD_PAUSE_SECONDS)
        if not message.get("more_body", False):
            break
    if refusal is not None:
        raise refusal
    return b"".join(parts), counter.items


def _too_large(limit: int) -> BadRequest:
    return TooLarge(f"the body is larger than {limit} bytes (body_limit)", limit=limit)
