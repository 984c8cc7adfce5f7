"""The bench's reader: raw sockets in a process of its own, so cheap that the server is always what is measured.

In: requests as bytes. Out: how long, how many bytes, how many events. It looks at nothing it reads beyond frame
boundaries: SSE frames are counted as blank lines in whole buffers, protobuf frames after the clock has stopped.
"""

from __future__ import annotations

import selectors
import socket
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from time import perf_counter

BUFFER = 1024 * 1024
TAIL = 1024
"""Bytes kept of a stream's end; the terminal event is in them."""
SILENCE = 60.0
"""A server that says nothing for so long has failed."""


@dataclass(frozen=True, slots=True)
class Request:
    port: int
    data: bytes
    binary: bool = False
    """The answer is protobuf frames."""


@dataclass(frozen=True, slots=True)
class Got:
    """One stream, read to its end. Seconds count from the sending of the (first) request."""

    first: float
    seconds: float
    size: int
    """Bytes as they came, headers and chunk sizes included."""
    frames: int
    tail: bytes


class Stream:
    """One connection: the request is sent at once, the answer read in pieces."""

    def __init__(self, request: Request) -> None:
        self.socket = socket.create_connection(("127.0.0.1", request.port), SILENCE)
        self.socket.sendall(request.data)
        self._kept: list[bytes] | None = [] if request.binary else None
        self._head = self._tail = b""
        self._frames = self._size = 0
        self._first = 0.0

    @property
    def begun(self) -> bool:
        return self._first > 0

    def read(self, buffer: bytearray) -> bool:
        """Takes what is there; False at the end."""
        count = self.socket.recv_into(buffer)
        if not count:
            self.socket.close()
            return False
        if not self._size and not buffer.startswith(b"HTTP/1.1 200"):
            raise RuntimeError(f"the server refused: {bytes(buffer[:count]).decode()}")
        self._size += count
        if self._kept is not None:
            self._kept.append(bytes(buffer[:count]))
        else:
            self._frames += buffer.count(b"\n\n", 0, count) + (self._tail.endswith(b"\n") and buffer[0] == 10)
        self._tail = (self._tail + buffer[max(0, count - TAIL) : count])[-TAIL:]
        if not self.begun:
            self._head += buffer[:count]
            if self._head.partition(b"\r\n\r\n")[2]:
                self._first = perf_counter()
        return True

    def got(self, started: float, ended: float) -> Got:
        frames = self._frames if self._kept is None else count_binary(b"".join(self._kept))
        return Got(self._first - started, ended - started, self._size, frames, self._tail)


def read_one(request: Request, buffer_size: int = BUFFER) -> Got:
    buffer = bytearray(buffer_size)
    started = perf_counter()
    stream = Stream(request)
    while stream.read(buffer):
        pass
    return stream.got(started, perf_counter())


def read_many(first: Request, others: Sequence[Request]) -> list[Got]:
    """`others` are sent when `first` has begun to answer: they name the run that it starts."""
    buffer, selector = bytearray(BUFFER), selectors.DefaultSelector()
    started = perf_counter()
    leader = Stream(first)
    while not leader.begun:
        leader.read(buffer)
    for stream in (leader, *map(Stream, others)):
        selector.register(stream.socket, selectors.EVENT_READ, stream)
    ended: dict[Stream, float] = {}
    while len(ended) <= len(others):
        for key, _ in _ready(selector):
            if not key.data.read(buffer):
                selector.unregister(key.fileobj)
                ended[key.data] = perf_counter()
    return [stream.got(started, end) for stream, end in ended.items()]


def read_each(requests: Iterable[Request], at_once: int = 1) -> list[Got]:
    """One after the other, or so many at a time."""
    with ThreadPoolExecutor(at_once) as threads:
        return list(threads.map(lambda request: read_one(request, 64 * 1024), requests))


def hammer(request: Request, connections: int, seconds: float) -> float:
    """Requests a second over connections that are kept open, each with one request under way."""
    selector, sockets = selectors.DefaultSelector(), list[socket.socket]()
    for _ in range(connections):
        sockets.append(socket.create_connection(("127.0.0.1", request.port), SILENCE))
        length = _answer_length(sockets[-1], request.data)
        selector.register(sockets[-1], selectors.EVENT_READ)
    left = dict.fromkeys(sockets, length)
    answered, started = 0, perf_counter()
    for sock in sockets:
        sock.sendall(request.data)
    while (now := perf_counter()) < started + seconds:
        for key, _ in _ready(selector):
            sock = key.fileobj  # type: ignore[assignment]  # typeshed: any file; only sockets are registered
            left[sock] -= len(sock.recv(BUFFER))
            if not left[sock]:
                answered += 1
                left[sock] = length
                sock.sendall(request.data)
    for sock in sockets:
        sock.close()
    return answered / (now - started)


def _answer_length(sock: socket.socket, request: bytes) -> int:
    """Of the whole answer: each one to the same request is as long."""
    sock.sendall(request)
    answer = b""
    while b"\r\n\r\n" not in answer:
        answer += sock.recv(BUFFER)
    head, _, body = answer.partition(b"\r\n\r\n")
    if not head.startswith(b"HTTP/1.1 200"):
        raise RuntimeError(f"the server refused: {answer.decode()}")
    length = int(head.lower().split(b"content-length:")[1].split(b"\r\n")[0])
    while len(body) < length:
        body += sock.recv(BUFFER)
    return len(head) + 4 + length


def _ready(selector: selectors.BaseSelector) -> list[tuple[selectors.SelectorKey, int]]:
    if ready := selector.select(SILENCE):
        return ready
    raise TimeoutError(f"the server said nothing for {SILENCE:g} seconds")


def count_binary(answer: bytes) -> int:
    """Frames in a whole HTTP answer: each begins with its length in four bytes."""
    body = _unchunked(answer.partition(b"\r\n\r\n")[2])
    frames = at = 0
    while at < len(body):
        at += 4 + int.from_bytes(body[at : at + 4], "big")
        frames += 1
    return frames


def _unchunked(body: bytes) -> bytes:
    pieces, at = list[bytes](), 0
    while at < len(body):
        start = body.index(b"\r\n", at) + 2
        size = int(body[at : start - 2], 16)
        pieces.append(body[start : start + size])
        at = start + size + 2
    return b"".join(pieces)
