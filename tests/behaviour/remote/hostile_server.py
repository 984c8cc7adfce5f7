"""An AG-UI endpoint that does with the connection of a run whatever a test wants: a real socket, byte by byte."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable
from types import TracebackType

Scene = Callable[[socket.socket], None]
"""What it does with a run's connection, once the request is read."""

HEAD = b"HTTP/1.1 200 OK\r\ncontent-type: %b\r\nconnection: close\r\n\r\n"
SSE, PROTOBUF = b"text/event-stream", b"application/vnd.ag-ui.event+proto"
LIMIT = 20.0


class HostileServer:
    """Every run plays the next scene, and the last one again and again. Other requests get 404, or `other_requests`."""

    def __init__(self, *scenes: Scene, other_requests: Scene | None = None) -> None:
        self._scenes, self._other_requests = scenes, other_requests or not_found
        self._server = socket.create_server(("127.0.0.1", 0))
        self.runs = 0
        self.gone = threading.Event()
        """Set when a scene finds the connection closed by the gateway."""
        self.stop = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self._server.getsockname()[1]}/run"

    def __enter__(self) -> HostileServer:
        threading.Thread(target=self._serve, daemon=True).start()
        return self

    def __exit__(self, *exc: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.stop.set()
        self._server.close()

    def _serve(self) -> None:
        while True:
            try:
                connection, _ = self._server.accept()
            except OSError:
                return
            threading.Thread(target=self._answer, args=(connection,), daemon=True).start()

    def _answer(self, connection: socket.socket) -> None:
        connection.settimeout(LIMIT)
        with connection:
            try:
                if not _read_request(connection).startswith(b"POST"):
                    return self._other_requests(connection)
                scene = self._scenes[min(self.runs, len(self._scenes) - 1)]
                self.runs += 1
                scene(connection)
            except (BrokenPipeError, ConnectionResetError):
                self.gone.set()


def not_found(connection: socket.socket) -> None:
    connection.sendall(b"HTTP/1.1 404 Not Found\r\ncontent-length: 0\r\nconnection: close\r\n\r\n")


def _read_request(connection: socket.socket) -> bytes:
    """Head and body."""
    data = b""
    while b"\r\n\r\n" not in data:
        data += _receive(connection)
    head, _, body = data.partition(b"\r\n\r\n")
    lengths = [line.split(b":")[1] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
    size = int(lengths[0]) if lengths else 0
    while len(body) < size:
        body += _receive(connection)
    return data


def _receive(connection: socket.socket) -> bytes:
    if data := connection.recv(65536):
        return data
    raise ConnectionResetError


def sends(*parts: bytes, kind: bytes = SSE) -> Scene:
    """These bytes as the body, one after the other, then the end."""

    def scene(connection: socket.socket) -> None:
        connection.sendall(HEAD % kind)
        for part in parts:
            connection.sendall(part)

    return scene


def floods(server: Callable[[], HostileServer], parts: Iterable[bytes], again: bytes) -> Scene:
    """The parts, then `again` for ever, as fast as it is read."""

    def scene(connection: socket.socket) -> None:
        connection.sendall(HEAD % SSE)
        for part in parts:
            connection.sendall(part)
        while not server().stop.is_set():
            connection.sendall(again)

    return scene


def hangs(server: Callable[[], HostileServer], *parts: bytes) -> Scene:
    """These bytes, head included, then nothing until the gateway closes the connection."""

    def scene(connection: socket.socket) -> None:
        for part in parts:
            connection.sendall(part)
        if connection.recv(1) == b"":
            server().gone.set()

    return scene


def responds_with(status: bytes, *headers: bytes) -> Scene:
    def scene(connection: socket.socket) -> None:
        lines = [b"HTTP/1.1 " + status, b"content-length: 0", b"connection: close", *headers]
        connection.sendall(b"\r\n".join(lines) + b"\r\n\r\n")

    return scene


def closes(connection: socket.socket) -> None:
    """Closes the connection without a response, though the request was read."""
