"""A run's log as a response body: framed once per wire format, whatever the number of readers.

One task writes, one listens for the client to leave, one watches the clock for both: a deadline around every wait would
cost more than the rest of an event that comes alone. What has piled up goes out as one write.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable

import anyio
import orjson
from starlette.types import Receive, Scope, Send

from gateway.agui.legacy import reshape
from gateway.encode.negotiate import Encoder
from gateway.errors import GatewayError
from gateway.runs.log import Chunk, Reader
from gateway.settings import Settings

WRITE_BYTES = 256 * 1024
"""A larger write would only wait in memory for a reader that cannot take it."""

LOOKS = 4
"""In every keep-alive time: so a stream may be silent for a quarter more than that."""

Gone = Callable[[], Awaitable[None]]


class EventStream:
    """An ASGI response. `gone` is called when the client leaves before the end."""

    def __init__(
        self, reader: Reader, encoder: Encoder, settings: Settings, *, legacy: bool = False, gone: Gone | None = None
    ) -> None:
        self._reader, self._encoder, self._settings = reader, encoder, settings
        self._legacy, self._gone = legacy, gone
        self._last = 0
        self._ended = False
        self._sent = 0
        self._sending = False

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        headers = [
            (b"content-type", self._encoder.content_type.encode()),
            (b"cache-control", b"no-cache"),
            (b"x-accel-buffering", b"no"),
        ]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._listen, receive, tasks.cancel_scope)
            tasks.start_soon(self._watch, send, tasks.cancel_scope)
            await self._write(send)
            tasks.cancel_scope.cancel()
        if not self._ended and self._gone is not None:
            with anyio.CancelScope(shield=True):
                await self._gone()
        # Until the garbage is looked for, the listener's cancellation keeps this object: not the run's log with it.
        del self._reader, self._gone

    async def _listen(self, receive: Receive, scope: anyio.CancelScope) -> None:
        while (await receive())["type"] != "http.disconnect":
            pass
        scope.cancel()

    async def _watch(self, send: Send, scope: anyio.CancelScope) -> None:
        """Looks up now and then: says something where nothing was said for the keep-alive time, lets a client go that
        has taken nothing for the send timeout."""
        keep_alive, send_timeout = self._settings.keep_alive, self._settings.send_timeout
        step, silent = min(keep_alive, send_timeout) / LOOKS, 0.0
        while True:
            sent = self._sent
            await anyio.sleep(step)
            silent = silent + step if sent == self._sent else 0.0
            if self._sending:
                if silent >= send_timeout:
                    scope.cancel()
            elif silent >= keep_alive and self._encoder.keep_alive is not None:
                await self._send(self._encoder.keep_alive, send)

    async def _write(self, send: Send) -> None:
        try:
            while chunks := await self._reader.next():
                await self._write_chunks(chunks, send)
        except GatewayError as exc:
            await self._say_broken(exc, send)
        except OSError:
            return  # the client is gone
        self._ended = self._sending = True  # this too may wait for the client, and nothing may come after it
        await send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _write_chunks(self, chunks: list[Chunk], send: Send) -> None:
        pending: list[bytes] = []
        size = 0
        for chunk in chunks:
            data = encoded(chunk, self._encoder, self._legacy)
            pending.append(data)
            size += len(data)
            if size >= WRITE_BYTES:
                await self._send(b"".join(pending), send)
                pending, size = [], 0
        if pending:
            await self._send(pending[0] if len(pending) == 1 else b"".join(pending), send)
        self._last = chunks[-1].last

    async def _send(self, body: bytes, send: Send) -> None:
        self._sending = True
        await send({"type": "http.response.body", "body": body, "more_body": True})
        self._sending = False
        self._sent += 1

    async def _say_broken(self, exc: GatewayError, send: Send) -> None:
        """The log cannot be read on: this reader at least gets an end it can act on."""
        event = {"type": "RUN_ERROR", "message": exc.detail, "code": exc.code}
        await self._send(self._encoder.encode(self._last + 1, [orjson.dumps(event)], [event]), send)


def encoded(chunk: Chunk, encoder: Encoder, legacy: bool) -> bytes:
    """The chunk's bytes, made by the first reader who needs them."""
    name = f"{encoder.name}/0" if legacy else encoder.name
    data = chunk.encoded.get(name)
    if data is None:
        data = _for_older(chunk, encoder) if legacy else encoder.encode(chunk.first, chunk.lines, chunk.events)
        chunk.encoded[name] = data
    return data


def _for_older(chunk: Chunk, encoder: Encoder) -> bytes:
    """What a client from before 1.0 can read. Numbers stay those of the log, so re-attaching works the same."""
    events = chunk.events or [orjson.loads(line) for line in chunk.lines]
    shaped = [reshape(event) for event in events]
    if all(new is old for new, old in zip(shaped, events, strict=True)):
        return encoded(chunk, encoder, legacy=False)
    return b"".join(
        encoder.encode(number, [orjson.dumps(event)], [event])
        for number, event in enumerate(shaped, chunk.first)
        if event is not None
    )
