"""uvicorn, set up for this gateway: uvloop, bounded HTTP, and a shutdown that drains runs instead of cutting them.

In: the ASGI application, the settings, a bound socket. Out: whether it served; a `GatewayError` if it could not start.
"""

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

from gateway.errors import ConfigError, GatewayError
from gateway.settings import Settings
from gateway.web.event_stream import drain_seconds
from gateway.web.http_protocol import bounded_protocol
from gateway.web.websocket_protocol import bounded_websocket

LISTEN_BACKLOG_CONNECTIONS = 2048
IDLE_CONNECTION_SECONDS = 65
GC_THRESHOLD_OBJECTS = 20_000
"""New objects between two garbage collections. A stream makes hundreds of thousands, and no cycles."""
FAILURE_MESSAGE = "the gateway itself failed, and stops; its log says how"


class DrainingServer(uvicorn.Server):
    """Drains the runs while connections close: each stream gets its terminal event, then ends."""

    def __init__(self, config: uvicorn.Config, app: Starlette, ready: Callable[[], None]) -> None:
        super().__init__(config)
        self._app = app
        self._ready = ready

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if self.started:
            # What exists now lives as long as the process: the collector need not visit it while streams run.
            gc.collect()
            gc.freeze()
            gc.set_threshold(GC_THRESHOLD_OBJECTS)
            self._ready()

    @contextmanager
    def capture_signals(self) -> Generator[None, None, None]:
        """uvicorn raises the signal that stopped it again at its end. A stop by the operator is no failure: the exit
        code is 0, and Ctrl-C prints nothing."""
        with super().capture_signals():
            yield
            self._captured_signals.clear()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(self._app.state.gateway.drain)
            await super().shutdown(sockets)


class SupervisedApp:
    """The application. It keeps the error of a failed start, so that the operator gets one sentence instead of
    uvicorn's traceback. It stops the server when the gateway's background tasks fail: a server that answers but can do
    nothing is worse than none."""

    def __init__(self, app: Starlette, stop: Callable[[], None]) -> None:
        self._app = app
        self._stop = stop
        self.failure: GatewayError | None = None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "lifespan":
            return await self._app(scope, receive, send)

        async def without_traceback(message: Message) -> None:
            if message["type"] == "lifespan.startup.failed" and isinstance(exc := sys.exception(), GatewayError):
                self.failure = exc
                message = {"type": message["type"]}
            await send(message)

        try:
            return await self._app(scope, receive, without_traceback)
        except Exception:  # Of the start, or of the gateway's background tasks.
            self.failure = self.failure or GatewayError(FAILURE_MESSAGE)
            self._stop()
            raise


def bind(settings: Settings) -> socket.socket:
    """The listening socket. Bound here and not by uvicorn, so that a port in use is reported in one sentence. Raises
    `ConfigError`."""
    if settings.local_auth == "none":
        raise ConfigError('local_auth = "none" is for applications that embed the gateway: leave it out to serve')
    family = socket.AF_INET6 if ":" in settings.host else socket.AF_INET
    sock = socket.socket(family, socket.SOCK_STREAM)
    if sys.platform != "win32":
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        sock.bind((settings.host, settings.port))
    except OSError as exc:
        sock.close()
        raise ConfigError(_explain_bind_error(settings, exc)) from exc
    sock.listen(LISTEN_BACKLOG_CONNECTIONS)
    sock.set_inheritable(True)
    return sock


def _explain_bind_error(settings: Settings, exc: OSError) -> str:
    if exc.errno == errno.EADDRINUSE:
        return f"port {settings.port} is in use (another agui-gateway?). Choose one with --port; 0 takes a free one."
    if exc.errno == errno.EACCES:
        return f"port {settings.port} needs rights that this user does not have. Choose one above 1023 with --port."
    return f"{settings.host}:{settings.port} cannot be bound: {exc.strerror or exc}"


class GatewayServer:
    """One server, to be run once: until a signal, or in another thread until `stop`."""

    def __init__(self, app: Starlette, settings: Settings, ready: Callable[[], None]) -> None:
        self._supervised_app = SupervisedApp(app, self.stop)
        config = uvicorn.Config(
            self._supervised_app,
            http=bounded_protocol(settings),
            ws=bounded_websocket(settings),
            ws_max_size=settings.body_limit,
            ws_per_message_deflate=False,  # Costs CPU time; most bytes stay on the machine or behind a proxy.
            lifespan="on",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_keep_alive=IDLE_CONNECTION_SECONDS,
            timeout_graceful_shutdown=int(drain_seconds(settings)),
        )
        self._server = DrainingServer(config, app, ready)

    def run(self, sock: socket.socket) -> bool:
        """Whether it served. Raises the error of a failed start, or of the background tasks; False if uvicorn has
        logged already why it did not serve."""
        try:
            self._server.run(sockets=[sock])
        except SystemExit:  # After a failed start some versions of uvicorn raise this, others return.
            if self._supervised_app.failure is None:
                raise
        if self._supervised_app.failure is not None:
            raise self._supervised_app.failure
        return self._server.started

    def stop(self) -> None:
        """Stops the server as a signal does. May be called from any thread."""
        self._server.should_exit = True


def serve(app: Starlette, settings: Settings, sock: socket.socket, ready: Callable[[], None]) -> bool:
    """Serves until a signal, as `GatewayServer.run`."""
    return GatewayServer(app, settings, ready).run(sock)
