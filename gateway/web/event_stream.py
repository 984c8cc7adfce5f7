"""A run's log, or a feed, as an HTTP response body, served by sse-starlette's `EventSourceResponse`.

In: a reader of numbered chunks and the encoder of the wire format. Out: an ASGI response. sse-starlette watches for the
client's disconnect, sends the keep-alive comments and bounds each send by `send_timeout`. It is given whole batches as
ready bytes: a chunk is encoded once per wire format, however many clients read it, and everything that is waiting goes
out as one write. The same response carries AG-UI's binary format, which has no comments and so no keep-alive.

Never: sse-starlette's own line ends (CRLF) or event ids. AG-UI's client finds no boundary in CRLF.

At shutdown the gateway ends the streams itself, each with its terminal event (`Gateway.drain`). sse-starlette cancels
streams when it sees the server's shutdown; `shutdown_grace_period` makes it wait longer than that takes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import anyio
import orjson
from sse_starlette import EventSourceResponse, ServerSentEvent
from starlette.types import Receive, Scope, Send

from gateway.agui.legacy import reshape
from gateway.encode.negotiate import Encoder
from gateway.errors import GatewayError
from gateway.runs.log import Chunk, Reader
from gateway.settings import Settings

MAX_WRITE_BYTES = 256 * 1024
"""A larger write would only wait in memory for a client that cannot take it."""
DRAIN_MARGIN_SECONDS = 5.0
"""How much longer than the drain of the runs their streams may take to end, before they are cut."""

DisconnectCallback = Callable[[], Awaitable[None]]


def drain_seconds(settings: Settings) -> float:
    """How long streams may go on after the server began to shut down."""
    return settings.shutdown_grace + settings.cancel_grace + DRAIN_MARGIN_SECONDS


class EventStream(EventSourceResponse):
    """One client's stream. `on_disconnect` is awaited when the client leaves before the stream is complete."""

    def __init__(
        self,
        reader: Reader,
        encoder: Encoder,
        settings: Settings,
        *,
        legacy: bool = False,
        on_disconnect: DisconnectCallback | None = None,
    ) -> None:
        self._reader = reader
        self._encoder = encoder
        self._legacy = legacy
        self._on_disconnect = on_disconnect
        self._last_number = 0
        self._is_complete = False
        super().__init__(
            self._batches(),
            headers={"content-type": encoder.content_type, "cache-control": "no-cache"},
            ping=0 if encoder.keep_alive is None else settings.keep_alive,
            ping_message_factory=self._keep_alive,
            send_timeout=settings.send_timeout,
            shutdown_grace_period=drain_seconds(settings),
        )
        # The HTTP server decides about the connection: a client that asked for `close` gets no `keep-alive`.
        del self.headers["connection"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            await super().__call__(scope, receive, send)
        except* OSError:
            pass  # The connection is lost, or the client took nothing for `send_timeout` (`SendTimeoutError`).
        if not self._is_complete and self._on_disconnect is not None:
            with anyio.CancelScope(shield=True):
                await self._on_disconnect()
        # A cancelled task keeps this object until the next garbage collection; it must not keep the run's log too.
        del self._reader
        del self._on_disconnect

    def _keep_alive(self) -> ServerSentEvent:
        return ReadyEvent(self._encoder.keep_alive or b"")

    async def _batches(self) -> AsyncIterator[bytes]:
        """What is sent, write by write, until the reader's end."""
        try:
            while chunks := await self._reader.next():
                for batch in self._join(chunks):
                    yield batch
                self._last_number = chunks[-1].last
        except GatewayError as exc:
            yield self._encode_error(exc)
        self._is_complete = True

    def _join(self, chunks: list[Chunk]) -> Iterator[bytes]:
        """The chunks' bytes, in as few writes as `MAX_WRITE_BYTES` allows."""
        if len(chunks) == 1:
            yield encode_chunk(chunks[0], self._encoder, self._legacy)
            return
        pending: list[bytes] = []
        size = 0
        for chunk in chunks:
            data = encode_chunk(chunk, self._encoder, self._legacy)
            pending.append(data)
            size += len(data)
            if size >= MAX_WRITE_BYTES:
                yield b"".join(pending)
                pending = []
                size = 0
        if pending:
            yield b"".join(pending)

    def _encode_error(self, exc: GatewayError) -> bytes:
        """The log cannot be read on. The client gets a terminal event that names the reason."""
        event = {"type": "RUN_ERROR", "message": exc.detail, "code": exc.code}
        return self._encoder.encode(self._last_number + 1, [orjson.dumps(event)], [event])


class ReadyEvent(ServerSentEvent):
    """An event whose bytes are ready, LF line ends included."""

    def __init__(self, data: bytes) -> None:
        super().__init__()
        self._bytes = data

    def encode(self) -> bytes:
        return self._bytes


def encode_chunk(chunk: Chunk, encoder: Encoder, legacy: bool) -> bytes:
    """The chunk's bytes. The first reader that needs them encodes them; the chunk keeps them for the others."""
    name = f"{encoder.name}/0" if legacy else encoder.name
    data = chunk.encoded.get(name)
    if data is None:
        data = _encode_legacy(chunk, encoder) if legacy else encoder.encode(chunk.first, chunk.lines, chunk.events)
        chunk.encoded[name] = data
    return data


def _encode_legacy(chunk: Chunk, encoder: Encoder) -> bytes:
    """The events as clients from before AG-UI 1.0 read them. They keep the log's numbers, so that such a client can
    re-attach too."""
    events = chunk.events or [orjson.loads(line) for line in chunk.lines]
    reshaped = [reshape(event) for event in events]
    if all(new is old for new, old in zip(reshaped, events, strict=True)):
        return encode_chunk(chunk, encoder, legacy=False)
    return b"".join(
        encoder.encode(number, [orjson.dumps(event)], [event])
        for number, event in enumerate(reshaped, chunk.first)
        if event is not None
    )
