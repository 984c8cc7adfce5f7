"""`GET /agents/{agent}/capabilities` with `Accept: text/event-stream`: the snapshot, then each change of it.

    event: snapshot   {"version", "capabilities"}
    event: change     {"version", "patch", "capabilities"}: a JSON Patch from the last one, and the whole
                      with `?explain=1` both have `explain` too: the source of each capability
    event: removed    why the capabilities are no longer available (`application/problem+json`), then the end

Events are numbered: a client that reconnects with `Last-Event-ID` gets the difference. If the gateway no longer has
that version, the client gets a snapshot.
"""

from __future__ import annotations

from starlette.requests import Request
from starlette.types import Receive, Scope, Send

from gateway.capabilities.feed import Watcher
from gateway.capabilities.versions import Key
from gateway.encode import sse
from gateway.encode.negotiate import accepts
from gateway.runs.log import Chunk
from gateway.service.gateway import Gateway
from gateway.web.event_stream import EventStream

MAX_NUMBER_DIGITS = 15
"""A longer `Last-Event-ID` is no event number of the gateway."""

_FRAME = b"id: %d\nevent: %b\ndata: %b\n\n"


def accepts_feed(request: Request) -> bool:
    """Whether the client wants the feed: it names SSE, and not JSON beside it."""
    accept = request.headers.get("accept", "")
    return accepts(accept, sse.CONTENT_TYPE) and not accepts(accept, "application/json")


class CapabilityFeedResponse:
    """An ASGI response that lasts until the client disconnects, the feed ends or the gateway stops."""

    def __init__(self, gateway: Gateway, key: Key, request: Request) -> None:
        self._gateway = gateway
        self._key = key
        self._after = _last_event_id(request)
        self._principal: str = request.state.principal

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async with self._gateway.capability_feed.watch(self._key, self._after, self._principal) as watcher:
            await EventStream(WatcherReader(watcher), sse.ENCODER, self._gateway.settings)(scope, receive, send)


class WatcherReader:
    """A watcher of a feed as the reader that `EventStream` takes."""

    def __init__(self, watcher: Watcher) -> None:
        self._watcher = watcher

    async def next(self) -> list[Chunk]:
        event = await self._watcher.next()
        if event is None:
            return []
        if sse.ENCODER.name not in event.encoded:  # The first watcher encodes it for all.
            event.encoded[sse.ENCODER.name] = _FRAME % (event.number, event.name.encode(), event.data)
        return [Chunk(event.number, [event.data], None, event.encoded)]


def _last_event_id(request: Request) -> int | None:
    text = request.headers.get("last-event-id", "")
    return int(text) if text.isascii() and text.isdigit() and len(text) <= MAX_NUMBER_DIGITS else None
