"""`GET /agents/{agent}/capabilities` with `Accept: text/event-stream`: the snapshot, then every change of it.

    event: snapshot   {"version", "capabilities"}
    event: change     {"version", "patch", "capabilities"}: a JSON Patch from the last one, and the whole
                      with `?explain=1` both have `explain` too: who said each leaf
    event: gone       why there is nothing more to see (`application/problem+json`), then the end

Numbered, so that `Last-Event-ID` brings the difference; where that is not known any more, a snapshot comes.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from gateway.capabilities.feed import Watcher
from gateway.capabilities.versions import Key
from gateway.encode.negotiate import ENCODERS, names
from gateway.encode.sse import CONTENT_TYPE
from gateway.runs.log import Chunk
from gateway.service.gateway import Gateway
from gateway.web.event_stream import EventStream

MOST_DIGITS = 15
"""Of an event's number."""

_FRAME = b"id: %d\nevent: %b\ndata: %b\n\n"
_SSE = ENCODERS["sse"]


def wants_feed(request: Request) -> bool:
    """Named, and not only as a second choice beside JSON."""
    accept = request.headers.get("accept", "")
    return names(accept, CONTENT_TYPE) and not names(accept, "application/json")


class Feeding:
    """An ASGI response that lasts as long as its client stays. Then the watcher is forgotten."""

    def __init__(self, gateway: Gateway, key: Key, request: Request) -> None:
        self._gateway, self._key, self._after = gateway, key, _last_id(request)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._gateway.capability_feed.watch(self._key, self._after) as watcher:
            await EventStream(Following(watcher), _SSE, self._gateway.settings)(scope, receive, send)


class Following:
    """A watcher, as a stream reads it."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    async def next(self) -> list[Chunk]:
        told = await self._watcher.next()
        if told is None:
            return []
        if _SSE.name not in told.encoded:  # by the first of all watchers
            told.encoded[_SSE.name] = _FRAME % (told.number, told.name.encode(), told.data)
        return [Chunk(told.number, [told.data], None, told.encoded)]


def _last_id(request: Request) -> int | None:
    text = request.headers.get("last-event-id", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS else None
