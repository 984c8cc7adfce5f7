"""A gateway of this process's own, for one command: the whole road, HTTP included, behind a socket that is a file.

In: settings. Out: a client that talks to it. A file in a folder of the user's own, not a port: nobody else on this
machine can reach the agent, and no web page.
"""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from threading import Event, Thread

import httpx

from gateway.errors import GatewayError
from gateway.settings import Settings
from gateway.web.app import create_app
from gateway.web.server import GatewayServer

BASE = "http://localhost"
STOP_LIMIT = 30.0
"""Agents are ended in order, each in bounded steps; then whatever is left goes with the process."""


class Host:
    """The server, in a thread of its own: this one reads the terminal and gets the signals."""

    def __init__(self, settings: Settings) -> None:
        self._answered = Event()
        self._failure: BaseException | None = None
        self._serving = GatewayServer(create_app(settings), settings, self._answered.set)

    def start(self, sock: socket.socket) -> None:
        """Returns when it takes requests; raises why it cannot."""
        self._thread = Thread(target=self._run, args=(sock,), name="gateway", daemon=True)
        self._thread.start()
        self._answered.wait()
        if self._failure is not None:
            raise self._failure

    def _run(self, sock: socket.socket) -> None:
        try:
            if not self._serving.run(sock):
                self._failure = GatewayError("the gateway could not be started; --verbose tells more")
        except BaseException as exc:  # raised again where somebody waits for it
            self._failure = exc
        finally:
            self._answered.set()

    def stop(self) -> None:
        self._serving.stop()
        self._thread.join(STOP_LIMIT)


@contextmanager
def hosted(settings: Settings) -> Iterator[httpx.Client]:
    with TemporaryDirectory(prefix="agui-gateway-") as folder, socket.socket(socket.AF_UNIX) as sock:
        path = str(Path(folder) / "socket")
        sock.bind(path)
        sock.listen()
        host = Host(settings)
        host.start(sock)
        try:
            with httpx.Client(base_url=BASE, transport=httpx.HTTPTransport(uds=path)) as client:
                yield client
        finally:
            host.stop()
