"""uvicorn, set up for this gateway: uvloop, bounded HTTP, and a shutdown that drains runs instead of cutting them."""

from __future__ import annotations

import errno
import gc
import socket
import sys
from collections.abc import Callable, Generator
from contextlib import contextmanager

import anyio
import uvicorn
from starlette.applications import Starlette
from starlette.types import Message, Receive, Scope, Send
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol

from gateway.errors import ConfigError, GatewayError
from gateway.settings import Settings
from gateway.web.http_protocol import bounded_protocol
from gateway.web.middleware.security import LOOPBACK

LISTEN_BACKLOG = 2048
GARBAGE = 20_000
"""Objects between two looks of the garbage collector; a stream makes hundreds of thousands, and no cycles."""
FELL = "the gateway itself failed, and stops; its log says how"
MARGIN = 5.0
"""What uvicorn waits beyond the drain for connections to close, before it cuts them."""


class DrainingServer(uvicorn.Server):
    """Runs are drained while connections close: each stream gets its terminal event, then its end."""

    def __init__(self, config: uvicorn.Config, app: Starlette, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._app, self._ready = app, ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            # What is there now stays: the collector need not look at it again and again while streams run.
            gc.collect()
            gc.freeze()
            gc.set_threshold(GARBAGE)
            self._ready()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """uvicorn raises the signal that stopped it once more at the end. A stop that was asked for and went well is
        no failure: the exit code is 0, and Ctrl-C prints nothing."""
        with super().capture_signals():
            yield
            self._captured_signals.clear()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._app.state.gateway.drain)
            await super().shutdown(sockets)


class PatientSocket(WebSocketsSansIOProtocol):
    """uvicorn would close a WebSocket the moment it shuts down. Whoever serves it does, when its runs have ended."""

    def shutdown(self) -> None:
        if self.close_sent or not self.handshake_complete:
            super().shutdown()


class Startable:
    """The application. Why it could not start is kept, to be told in one sentence; uvicorn would log a traceback. And
    when the ground under it is gone, the server stops: one that answers and can do nothing is worse than none."""

    def __init__(self, app: Starlette, stop: Callable[[], None]) -> None:
        self._app, self._stop = app, stop
        self.failure: GatewayError | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            return await self._app(scope, receive, send)

        async def without_traceback(message: Message) -> None:
            if message["type"] == "lifespan.startup.failed" and isinstance(exc := sys.exception(), GatewayError):
                self.failure, message = exc, {"type": message["type"]}
            await send(message)

        try:
            return await self._app(scope, receive, without_traceback)
        except Exception:  # of the start, which is told, or of all that the gateway does in the background
            self.failure = self.failure or GatewayError(FELL)
            self._stop()
            raise


def bind(settings: Settings) -> socket.socket:
    """Bound here rather than in uvicorn, so that a port in use is told in one sentence."""
    if not is_loopback(settings.host) and settings.token_file is None:
        raise ConfigError(
            f"--host {settings.host} can be reached from other machines, so it needs a token: put one into a file "
            "(openssl rand -hex 24 > tokens.txt) and start with --token-file tokens.txt"
        )
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    if sys.platform != "win32":
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((settings.host, settings.port))
    except OSError as exc:
        sock.close()
        raise ConfigError(_why(settings, exc)) from exc
    sock.listen(LISTEN_BACKLOG)
    sock.set_inheritable(True)
    return sock


def _why(settings: Settings, exc: OSError) -> str:
    if exc.errno == errno.EADDRINUSE:
        return f"port {settings.port} is in use (another agui-gateway?). Choose one with --port; 0 takes a free one."
    if exc.errno == errno.EACCES:
        return f"port {settings.port} needs rights that this user has not. Choose one above 1023 with --port."
    return f"{settings.host}:{settings.port} cannot be bound: {exc.strerror or exc}"


def is_loopback(host: str) -> bool:
    return host in LOOPBACK or host == "::1" or host.startswith("127.")


class Serving:
    """One server, to be run once: until a signal, or in another thread until `stop`."""

    def __init__(self, app: Starlette, settings: Settings, ready: Callable[[], None]) -> None:
        self._startable = Startable(app, self.stop)
        config = uvicorn.Config(
            self._startable,
            http=bounded_protocol(settings),
            ws=PatientSocket,
            ws_max_size=settings.body_limit,
            ws_per_message_deflate=False,  # a processor's time for bytes that stay on the machine, or behind a proxy
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=65,
            timeout_graceful_shutdown=int(settings.shutdown_grace + settings.cancel_grace + MARGIN),
        )
        self._server = DrainingServer(config, app, ready)

    def run(self, sock: socket.socket) -> bool:
        """Raises why it could not start; False if there is nothing to add to the log."""
        try:
            self._server.run(sockets=[sock])
        except SystemExit:  # how some versions of uvicorn leave after a start that failed; others return
            if self._startable.failure is None:
                raise
        if self._startable.failure is not None:
            raise self._startable.failure
        return self._server.started

    def stop(self) -> None:
        """As a signal does; may be called from any thread."""
        self._server.should_exit = True


def serve(app: Starlette, settings: Settings, sock: socket.socket, ready: Callable[[], None]) -> bool:
    """Until a signal. Raises why it could not start; False if there is nothing to add to the log."""
    return Serving(app, settings, ready).run(sock)
