"""The gateway's ends of an agent's pipes, on the running event loop (asyncio's or uvloop).

In: bytes for the agent. Out: the agent's bytes, as they are in the pipe. Nothing is read ahead, so an agent that is not
read is made to wait. Never: lines, messages, processes. Whoever opens an end here must close it.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Iterable

import anyio
from anyio.lowlevel import checkpoint

CHUNK = 64 * 1024
"""The most one read gives, and what a pipe holds. More is slower: a buffer of 256 KiB comes from the kernel and goes
back to it at every read (25 µs), and the bytes of a larger pipe have left the cache before they are parsed."""
REST_LIMIT = 4 * 1024 * 1024
"""The most that is taken from a pipe nobody writes to any more; Linux lets an ordinary user's hold 1 MiB."""
TAIL = 8 * 1024
"""How much of stderr is kept: the last screens, where the cause stands."""


class _End:
    """One end of a pipe. One task at a time may wait for it."""

    def __init__(self, fd: int) -> None:
        os.set_blocking(fd, False)
        self._fd = fd
        self._loop = asyncio.get_running_loop()
        self._waiting: asyncio.Future[None] | None = None

    @property
    def open(self) -> bool:
        return self._fd >= 0

    def close(self) -> None:
        """May be called twice; whoever waits goes on."""
        if self.open:
            self._loop.remove_reader(self._fd)
            self._loop.remove_writer(self._fd)
            os.close(self._fd)
            self._fd = -1
        self._wake()

    def _wake(self) -> None:
        if self._waiting is not None and not self._waiting.done():
            self._waiting.set_result(None)

    async def _ready(self, add: Callable[..., object], remove: Callable[[int], object]) -> None:
        """Until the loop says so, or `_wake`."""
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
    """What the agent says."""

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        self._rest = b""
        self._deaf = False

    async def read(self) -> bytes:
        """What is there, at least a byte; b"" at the end. Whoever is cancelled here has taken nothing."""
        await checkpoint()  # a stream that never pauses must not keep the loop to itself
        while (data := self._take()) is None:
            await self._ready(self._loop.add_reader, self._loop.remove_reader)
        return data

    def discard(self) -> None:
        """From now on everything is read and thrown away: the end, for those who read here."""
        if self.open and not self._deaf:
            self._deaf = True
            self._wake()
            self._loop.add_reader(self._fd, self._throw_away)
        self._rest = b""

    def finish(self) -> None:
        """Nobody writes any more. What is in the pipe stays to be read; the pipe itself is given back."""
        rest: list[bytes] = []
        while self.open and not self._deaf and sum(map(len, rest)) < REST_LIMIT and (data := self._take()):
            rest.append(data)
        self.close()
        self._rest += b"".join(rest)

    def _take(self) -> bytes | None:
        """None when there is nothing yet."""
        if self._deaf or not self.open:
            data, self._rest = self._rest[:CHUNK], self._rest[CHUNK:]
            return data
        data_now = _read(self._fd)
        if data_now == b"":
            self.close()
        return data_now

    def _throw_away(self) -> None:
        if _read(self._fd) == b"":
            self.close()


class Tail(_End):
    """The last of what the agent writes to stderr. Always read, so that a flood of it never blocks the agent."""

    def __init__(self, fd: int, secrets: Iterable[str]) -> None:
        super().__init__(fd)
        self._secrets = [os.fsencode(secret) for secret in secrets]
        # More is kept than is shown: a secret that lies across the cut is still found whole, and masked.
        self._keep = TAIL + max(map(len, self._secrets), default=0)
        self._kept = b""
        self._loop.add_reader(fd, self._more)

    def text(self) -> str:
        """With what is in the pipe now, and without the secrets."""
        for _ in range(REST_LIMIT // CHUNK):
            if not self._more():
                break
        shown = self._kept
        for secret in self._secrets:
            shown = shown.replace(secret, b"***")
        return shown[-TAIL:].decode("utf-8", "replace").strip()

    def finish(self) -> None:
        self.text()
        self.close()

    def _more(self) -> bool:
        data = _read(self._fd) if self.open else None
        if data == b"":
            self.close()
        if data:
            self._kept = (self._kept + data)[-self._keep :]
        return bool(data)


class Sink(_End):
    """What the agent is told: whole messages, however many tasks write."""

    def __init__(self, fd: int) -> None:
        super().__init__(fd)
        self._turn = anyio.Lock()
        self._rest = memoryview(b"")

    async def write(self, message: bytes) -> None:
        """Returns when the pipe has it all. Raises `BrokenPipeError`. A writer that gives up (its caller's time limit)
        leaves no torn message: one that has begun is finished before the next."""
        async with self._turn:
            await self._drain()
            self._rest = memoryview(message)
            try:
                await self._drain()
            finally:
                if len(self._rest) == len(message):  # nothing of it has left: it was never sent
                    self._rest = memoryview(b"")

    async def _drain(self) -> None:
        while self._rest:
            self._rest = self._rest[self._put(self._rest) :]
            if self._rest:
                await self._ready(self._loop.add_writer, self._loop.remove_writer)

    def _put(self, data: memoryview) -> int:
        if not self.open:
            raise BrokenPipeError("the pipe is closed")
        try:
            return os.write(self._fd, data)
        except BlockingIOError:
            return 0


def _read(fd: int) -> bytes | None:
    """None when there is nothing yet, b"" at the end."""
    try:
        return os.read(fd, CHUNK)
    except BlockingIOError:
        return None
