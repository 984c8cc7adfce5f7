"""A run's log, or a feed, as an HTTP response body.

In: a reader of numbered chunks and the encoder of the wire format. Out: an ASGI response. A chunk is encoded once per
wire format, however many clients read it, and everything that is waiting goes out as one write. The same response
carries AG-UI's binary format, which has no comments and so no keep-alive.

The headers, and the response to HEAD, are those of sse-starlette's `EventSourceResponse`. The rest is done here, for
two reasons. sse-starlette has five tasks for each stream, of which three are cancelled at its end: their objects wait
for the garbage collector, which then stops all streams. And it opens a cancel scope around each send, which cost a
fifth of the rate of events that come one by one, as measured.

Never: sse-starlette's own line ends (CRLF) or event ids. AG-UI's client finds no boundary in CRLF.

At shutdown the gateway ends the streams itself, each with its terminal event (`Gateway.drain`). Streams that are still
there when the time for that is over are ended by `live_streams`.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import anyio
from anyio.abc import TaskGroup
from sse_starlette import EventSourceResponse
from starlette.types import Message, Receive, Scope, Send

from gateway.agui.legacy import reshape
from gateway.encode.base import Encoder
from gateway.errors import GatewayError
from gateway.jsonio import dumps, loads
from gateway.runs.log import Chunk, Reader
from gateway.settings import Settings
from gateway.web.live_streams import LiveStreams

MAX_WRITE_BYTES = 256 * 1024
"""A larger write would only wait in memory for a client that cannot take it."""
CHECKS_PER_SEND_TIMEOUT = 4
"""A client that takes nothing is cut off within `send_timeout` and a quarter of it."""
DRAIN_MARGIN_SECONDS = 5.0
"""How much longer than the drain of the runs their streams may take to end, before they are cut."""
LISTENER_GRACE_SECONDS = 1.0
"""After the end of a response the server reports a disconnect at once. No other end is waited for longer than this:
https://asgi.readthedocs.io/en/latest/specs/www.html#disconnect-receive-event."""

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
        self._settings = settings
        self._legacy = legacy
        self._on_disconnect = on_disconnect
        self._last_number = 0
        self._is_complete = False
        super().__init__(
            _no_content(), headers={"content-type": encoder.content_type, "cache-control": "no-cache"}, ping=0
        )
        # The HTTP server decides about the connection: a client that asked for `close` gets no `keep-alive`.
        del self.headers["connection"]

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["method"] == "HEAD":
            return await super().__call__(scope, receive, send)
        streams: LiveStreams = scope["app"].state.live_streams
        try:
            async with anyio.create_task_group() as tasks:
                streams.add(tasks.cancel_scope)
                sender = _Sender(send, tasks, self._settings, self._encoder.keep_alive)
                tasks.start_soon(_cancel_on_disconnect, receive, sender)
                try:
                    await self._send_all(sender)
                finally:
                    sender.close()
                    streams.remove(tasks.cancel_scope)
        except* OSError:
            pass  # The connection is lost.
        finally:  # Also where the stream was cancelled, because the client's token has ended.
            if not self._is_complete and self._on_disconnect is not None:
                with anyio.CancelScope(shield=True):
                    await self._on_disconnect()
        # A cancelled task keeps this object until the next garbage collection; it must not keep the run's log too.
        del self._reader
        del self._on_disconnect
        return None

    async def _send_all(self, sender: _Sender) -> None:
        """Write by write, until the reader's end. The first event goes out with the headers, and the last one with the
        end of the body: each write wakes the client's process."""
        await asyncio.sleep(0)  # now a run that has just begun has its first event
        await sender.send({"type": "http.response.start", "status": self.status_code, "headers": self.raw_headers})
        last_body = b""
        try:
            while chunks := await self._reader.next():
                for body in self._join(chunks):
                    if last_body:
                        await sender.send({"type": "http.response.body", "body": last_body, "more_body": True})
                    last_body = body
                self._last_number = chunks[-1].last
                if chunks[-1].is_last:
                    break
                await sender.send({"type": "http.response.body", "body": last_body, "more_body": True})
                last_body = b""
        except GatewayError as exc:
            last_body = self._encode_error(exc)
        self._is_complete = True
        await sender.send({"type": "http.response.body", "body": last_body, "more_body": False})

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


class _Sender:
    """Sends a stream's messages, sends comments that keep the connection alive, and cancels the stream when the client
    has taken nothing for `send_timeout`. Timers of the event loop: they cost a stream nothing until they are due."""

    def __init__(self, send: Send, tasks: TaskGroup, settings: Settings, keep_alive: bytes | None) -> None:
        self._send = send
        self._tasks = tasks
        self._keep_alive_seconds = settings.keep_alive
        self._keep_alive = keep_alive
        self._send_timeout = settings.send_timeout
        self._begun = 0
        self._finished = 0
        self._finished_before = 0
        self._waited_seconds = 0.0
        self.is_closed = False
        self._loop = asyncio.get_running_loop()
        self._check_timer = self._loop.call_later(self._check_seconds, self._check_progress)
        self._keep_alive_timer: asyncio.TimerHandle | None = None
        if keep_alive is not None:
            self._keep_alive_timer = self._loop.call_later(settings.keep_alive, self._start_keep_alive)

    async def send(self, message: Message) -> None:
        self._begun += 1
        await self._send(message)
        self._finished += 1

    def close(self) -> None:
        """Everything was sent, or nothing more can be."""
        self.is_closed = True
        self._check_timer.cancel()
        if self._keep_alive_timer is not None:
            self._keep_alive_timer.cancel()
        self._tasks.cancel_scope.deadline = anyio.current_time() + LISTENER_GRACE_SECONDS

    def cancel(self) -> None:
        if not self.is_closed:
            self._tasks.cancel_scope.cancel()

    @property
    def _check_seconds(self) -> float:
        return self._send_timeout / CHECKS_PER_SEND_TIMEOUT

    def _check_progress(self) -> None:
        is_stuck = self._begun > self._finished == self._finished_before
        self._waited_seconds = self._waited_seconds + self._check_seconds if is_stuck else 0.0
        self._finished_before = self._finished
        if self._waited_seconds >= self._send_timeout:
            return self.cancel()
        self._check_timer = self._loop.call_later(self._check_seconds, self._check_progress)
        return None

    def _start_keep_alive(self) -> None:
        if self._begun == self._finished:  # otherwise the client has not taken what was sent before
            self._tasks.start_soon(self._send_keep_alive)
        self._keep_alive_timer = self._loop.call_later(self._keep_alive_seconds, self._start_keep_alive)

    async def _send_keep_alive(self) -> None:
        if self._begun and not self.is_closed:
            await self.send({"type": "http.response.body", "body": self._keep_alive, "more_body": True})


async def _cancel_on_disconnect(receive: Receive, sender: _Sender) -> None:
    while (await receive())["type"] != "http.disconnect":
        pass
    sender.cancel()


async def _no_content(content: tuple[bytes, ...] = ()) -> AsyncIterator[bytes]:
    """For the constructor of `EventSourceResponse`: `EventStream` sends its content itself."""
    for part in content:
        yield part


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
