"""A gateway inside this process, for one command, behind a Unix socket.

In: settings. Out: an HTTP client of it. The socket is a file in a directory of the user, not a port: neither other
users of the machine nor web pages can reach the agent.
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
from gateway.web.auth.socket_owner import can_read_owners
from gateway.web.server import GatewayServer

BASE_URL = "http://localhost"
STOP_TIMEOUT_SECONDS = 30.0
"""Agents are stopped in bounded steps; after this time the rest ends with the process."""


class ServerThread:
    """The server in a thread of its own: the main thread reads the terminal and receives the signals."""

    def __init__(self, settings: Settings) -> None:
        self._started_or_failed = Event()
        self._failure: BaseException | None = None
        self._serving = GatewayServer(create_app(settings), settings, self._started_or_failed.set)

    def start(self, sock: socket.socket) -> None:
        """Returns when the server accepts requests; raises the reason if it cannot."""
        self._thread = Thread(target=self._run, args=(sock,), name="gateway", daemon=True)
        self._thread.start()
        self._started_or_failed.wait()
        if self._failure is not None:
            raise self._failure

    def _run(self, sock: socket.socket) -> None:
        try:
            if not self._serving.run(sock):
                self._failure = GatewayError("the gateway could not be started; --verbose shows more")
        except BaseException as exc:  # raised again by `start`
            self._failure = exc
        finally:
            self._started_or_failed.set()

    def stop(self) -> None:
        self._serving.stop()
        self._thread.join(STOP_TIMEOUT_SECONDS)


def private_settings(settings: Settings) -> Settings:
    """For a gateway that only this command uses: it gives out no credentials."""
    return settings.model_copy(
        update={
            "token_file": None,
            "oidc_issuer": None,
            "oidc_audience": None,
            "proxy_user_header": None,
            # Its socket is in a folder of this user. Where the system tells who connects, that is checked as well.
            "local_auth": "user" if can_read_owners() else "none",
        }
    )


@contextmanager
def embedded_gateway(settings: Settings) -> Iterator[httpx.Client]:
    """A client of a gateway with these settings, which runs until the block ends."""
    with TemporaryDirectory(prefix="agui-gateway-") as folder, socket.socket(socket.AF_UNIX) as sock:
        path = str(Path(folder) / "socket")
        sock.bind(path)
        sock.listen()
        server = ServerThread(private_settings(settings))
        server.start(sock)
        try:
            with httpx.Client(base_url=BASE_URL, transport=httpx.HTTPTransport(uds=path)) as client:
                yield client
        finally:
            server.stop()
