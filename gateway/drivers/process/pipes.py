"""The gateway's ends of an agent's pipes, on the running event loop (asyncio's or uvloop).

In: bytes for the agent. Out: the agent's bytes, as they are in the pipe. Nothing is read ahead, so an agent whose
output is not read has to wait. Never: lines, messages, processes. The caller that opens an end here must close it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable

import anyio
from anyio.lowlevel import checkpoint

CHUNK_BYTES = 64 * 1024
"""The most one read returns, and what a pipe holds. A larger buffer is slower: one of 256 KiB is allocated from the
kernel and freed at every read (25 µs), and the bytes of a larger pipe have left the cache before they are parsed."""
MAX_REST_BYTES = 4 * 1024 * 1024
"""The most that is read from a pipe after its writer is gone; on Linux a pipe of an ordinary user holds at most 1
MiB."""
STDERR_TAIL_BYTES = 8 * 1024
"""How much of stderr is kept: the last screens, which name the cause."""


class _End:
    """One end of a pipe. One task at a time may wait for it."""

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.Future[None] | None = None

    @property
    def is_open(self) -> bool:
        return self._fd >= 0

    def close(self) -> None:
        """May be called twice. A task that waits for the pipe goes on."""
        if self.is_open:
            self._loop.remove_reader(self._fd)
            self._loop.remove_writer(self._fd)
            os.close(self._fd)
            self._fd = -1
        self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def _wait_until_ready(self, add: Callable[..., object], remove: Callable[[int], object]) -> None:
        """Until the event loop reports the pipe ready, or `_wake`."""
        fd, waiting = self._fd, self._loop.create_future()

        def ready() -> None:
            remove(fd)
            self._wake()

        self._waiting = waiting
        add(fd, ready)
        try:
            await waiting
        finally:
            self._waiting = None
            if waiting.cancelled() and self._fd == fd:
                remove(fd)


class Source(_End):
    """The agent's stdout."""

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        self._rest = b""
        self._is_discarding = False

    async def read(self) -> bytes:
        """The bytes that are there, at least one; b"" at the end. A caller that is cancelled here has lost no bytes."""
        await checkpoint()  # a stream that never pauses must still let other tasks run
        while (data := self._take()) is None:
            await self._wait_until_ready(self._loop.add_reader, self._loop.remove_reader)
        return data

    def discard(self) -> None:
        """From now on everything is read and dropped; `read` returns b""."""
        if self.is_open and not self._is_discarding:
            self._is_discarding = True
            self._wake()
            self._loop.add_reader(self._fd, self._drop)
        self._rest = b""

    def finish(self) -> None:
        """The writer is gone. Close the pipe; what it held can still be read."""
        rest: list[bytes] = []
        while (
            self.is_open and not self._is_discarding and sum(map(len, rest)) < MAX_REST_BYTES and (data := self._take())
        ):
            rest.append(data)
        self.close()
        self._rest += b"".join(rest)

    def _take(self) -> bytes | None:
        """None: there is nothing yet."""
        if self._is_discarding or not self.is_open:
            data, self._rest = self._rest[:CHUNK_BYTES], self._rest[CHUNK_BYTES:]
            return data
        data_now = _read(self._fd)
        if data_now == b"":
            self.close()
        return data_now

    def _drop(self) -> None:
        if _read(self._fd) == b"":
            self.close()


class Tail(_End):
    """The end of the agent's stderr. It is always read, so that a flood of output never blocks the agent."""

    def __init__(self, fd: int, secrets: Iterable[str]) -> None:
        super().__init__(fd)
        self._secrets = [os.fsencode(secret) for secret in secrets]
        # More is kept than is shown: a secret that lies across the cut is still found whole, and masked.
        self._max_kept = STDERR_TAIL_BYTES + max(map(len, self._secrets), default=0)
        self._kept = b""
        self._loop.add_reader(fd, self._read_more)

    def text(self) -> str:
        """Including what is in the pipe now; secrets are masked."""
        for _ in range(MAX_REST_BYTES // CHUNK_BYTES):
            if not self._read_more():
                break
        tail = self._kept
        for secret in self._secrets:
            tail = tail.replace(secret, b"***")
        return tail[-STDERR_TAIL_BYTES:].decode("utf-8", "replace").strip()

    def finish(self) -> None:
        self.text()
        self.close()

    def _read_more(self) -> bool:
        data = _read(self._fd) if self.is_open else None
        if data == b"":
            self.close()
        if data:
            self._kept = (self._kept + data)[-self._max_kept :]
        return bool(data)


class Sink(_End):
    """The agent's stdin: messages stay whole, however many tasks write."""

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        self._lock = anyio.Lock()
        self._rest = memoryview(b"")

    async def write(self, message: bytes) -> None:
        """Returns when the pipe has all of it. Raises `BrokenPipeError`. A writer that is cancelled (by its caller's
        time limit) leaves no torn message: the rest of a message that has begun is written before the next."""
        async with self._lock:
            await self._drain()
            self._rest = memoryview(message)
            try:
                await self._drain()
            finally:
                if len(self._rest) == len(message):  # no byte of it was written: it was never sent
                    self._rest = memoryview(b"")

    async def _drain(self) -> None:
        while self._rest:
            self._rest = self._rest[self._write_some(self._rest) :]
            if self._rest:
                await self._wait_until_ready(self._loop.add_writer, self._loop.remove_writer)

    def _write_some(self, data: memoryview) -> int:
        if not self.is_open:
            raise BrokenPipeError("the pipe is closed")
        try:
            return os.write(self._fd, data)
        except BlockingIOError:
            return 0


def _read(fd: int) -> bytes | None:
    """None: there is nothing yet. b"": the end."""
    try:
        return os.read(fd, CHUNK_BYTES)
    except BlockingIOError:
        return None
