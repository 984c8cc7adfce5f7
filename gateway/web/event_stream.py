"""A run's log, or a feed, as an HTTP response body, served by sse-starlette's `EventSourceResponse`.

In: a reader of numbered chunks and the encoder of the wire format. Out: an ASGI response. sse-starlette watches for the
client's disconnect and sends the keep-alive comments. It is given whole batches as ready bytes: a chunk is encoded once
per wire format, however many clients read it, and everything that is waiting goes out as one write. The same response
carries AG-UI's binary format, which has no comments and so no keep-alive.

Never: sse-starlette's own line ends (CRLF) or event ids. AG-UI's client finds no boundary in CRLF.

At shutdown the gateway ends the streams itself, each with its terminal event (`Gateway.drain`). sse-starlette cancels
streams when it sees the server's shutdown; `shutdown_grace_period` makes it wait longer than that takes.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import anyio
from sse_starlette import EventSourceResponse, ServerSentEvent
from sse_starlette.sse import SendTimeoutError
from starlette.types import Message, Receive, Scope, Send

from gateway.agui.legacy import reshape
from gateway.encode.base import Encoder
from gateway.errors import GatewayError
from gateway.jsonio import dumps, loads
from gateway.runs.log import Chunk, Reader
from gateway.settings import Settings

MAX_WRITE_BYTES = 256 * 1024
"""A larger write would only wait in memory for a client that cannot take it."""
CHECKS_PER_SEND_TIMEOUT = 4
"""A client that takes nothing is cut off within `send_timeout` and a quarter of it."""
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
        self._sends_begun = 0
        self._sends_finished = 0
        super().__init__(
            self._batches(),
            headers={"content-type": encoder.content_type, "cache-control": "no-cache"},
            ping=0 if encoder.keep_alive is None else settings.keep_alive,
            ping_message_factory=self._keep_alive,
            send_timeout=settings.send_timeout,
            data_sender_callable=self._watch_sends,
            shutdown_grace_period=drain_seconds(settings),
        )
        # The HTTP server decides about the connection: a client that asked for `close` gets no `keep-alive`.
        del self.headers["connection"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def counted_send(message: Message) -> None:
            self._sends_begun += 1
            await send(message)
            self._sends_finished += 1

        try:
            await super().__call__(scope, receive, counted_send)
        except* OSError:
            pass  # The connection is lost, or the client took nothing for `send_timeout` (`SendTimeoutError`).
        finally:  # Also where the stream was cancelled, because the client's token has ended.
            if not self._is_complete and self._on_disconnect is not None:
                with anyio.CancelScope(shield=True):
                    await self._on_disconnect()
        # A cancelled task keeps this object until the next garbage collection; it must not keep the run's log too.
        del self._reader
        del self._on_disconnect

    async def _send_with_timeout(self, send: Send, message: Message) -> None:
        """Leaves the time limit to `_watch_sends`. sse-starlette opens a cancel scope around each send, which takes 6
        µs: measured, that is a fifth of the rate of events that come one by one. It also sends the end without any
        limit."""
        await send(message)

    async def _watch_sends(self) -> None:
        """Raises `SendTimeoutError` once a send has been waiting for the client for `send_timeout`."""
        assert self.send_timeout is not None
        interval = self.send_timeout / CHECKS_PER_SEND_TIMEOUT
        waited = 0.0
        finished = self._sends_finished
        while waited < self.send_timeout:
            await anyio.sleep(interval)
            is_stuck = self._sends_begun > self._sends_finished == finished
            waited = waited + interval if is_stuck else 0.0
            finished = self._sends_finished
        raise SendTimeoutError

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
        return self._encoder.encode(self._last_number + 1, [dumps(event)], [event])


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
    events = chunk.events or [loads(line) for line in chunk.lines]
    reshaped = [reshape(event) for event in events]
    if all(new is old for new, old in zip(reshaped, events, strict=True)):
        return encode_chunk(chunk, encoder, legacy=False)
    return b"".join(
        encoder.encode(number, [dumps(event)], [event])
        for number, event in enumerate(reshaped, chunk.first)
        if event is not None
    )
