"""The client tools of one session, served at a Unix socket to the shims that its agent starts.

In: connections that know the session's secret. Out: every tool call goes to `handle_call`, and its answer back to the
agent; an agent that cancels a call, or disconnects, ends the wait for it. Bounded: the connections, the time to send
the secret, the time that an agent may take to read. An agent that is slow delays only its own connection.
"""

from __future__ import annotations

import hmac
import logging
import secrets
import sys
from collections.abc import Awaitable, Callable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import anyio
from anyio import CancelScope, to_thread
from anyio.abc import SocketListener, SocketStream, TaskGroup

from gateway.background import Tasks
from gateway.drivers.client_tools.socket_dir import SocketPaths
from gateway.turn import Answer
from gateway.wire.jsonrpc import Id
from gateway.wire.lines import Lines
from gateway.wire.mcp_server import CallCancelled, Offer, ToolCall, ToolServer

log = logging.getLogger(__name__)

SHIM = Path(__file__).with_name("shim.py")
SECRET_VARIABLE = "AGUI_TOOLS_SECRET"
"""The environment variable that passes the secret to a shim. Its name also identifies the gateway's own server."""
MAX_CONNECTIONS = 8
"""At once: an agent has one, or opens a second before it has closed the first."""
SECRET_TIMEOUT_SECONDS = 5.0
MAX_LINE_BYTES = 16 * 1024 * 1024
"""A message with longer arguments is dropped; the connection goes on."""
WRITE_TIMEOUT_SECONDS = 10.0
"""A shim that reads nothing for so long is disconnected: its agent is dead."""
PROGRESS_INTERVAL_SECONDS = 10.0
"""Between two notices that a call is still waiting: the shortest call timeout of a known agent is a minute."""

CallHandler = Callable[[ToolCall], Awaitable[Answer]]
DISCONNECTED = (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, TimeoutError)


def is_gateway_server(server: Mapping[str, Any]) -> bool:
    """This entry of `mcpServers` is the gateway's own server, which only the agent may start."""
    env = server.get("env")
    return isinstance(env, list) and any(
        isinstance(variable, dict) and variable.get("name") == SECRET_VARIABLE for variable in env
    )


class ClientToolServer:
    """Made by `open`."""

    def __init__(self, path: Path, directory: SocketPaths, listener: SocketListener, handle_call: CallHandler) -> None:
        self._path = path
        self._directory = directory
        self._listener = listener
        self._handle_call = handle_call
        self._secret = secrets.token_urlsafe(32)
        self._offer = Offer()
        self._connections: set[ShimConnection] = set()
        self._scope = CancelScope()
        self._changed = anyio.Event()
        self._listed = anyio.Event()

    @classmethod
    async def open(cls, directory: SocketPaths, handle_call: CallHandler, tasks: Tasks) -> ClientToolServer:
        path = await to_thread.run_sync(directory.new_path)
        try:
            listener = await anyio.create_unix_listener(path, mode=0o600)
        except BaseException:
            with CancelScope(shield=True):
                await to_thread.run_sync(directory.release, path)
            raise
        server = cls(path, directory, listener, handle_call)
        tasks.start_soon(server._serve)
        return server

    def entry(self, name: str, *, typed: bool) -> dict[str, Any]:
        """The entry for `mcpServers`. `typed`: in the form of ACP's protocol version 2, with a `type`."""
        command = [sys.executable, "-I", "-S", str(SHIM), str(self._path)]
        env = [{"name": SECRET_VARIABLE, "value": self._secret}]
        entry = {"name": name, "command": command[0], "args": command[1:], "env": env}
        return {"type": "stdio", **entry} if typed else entry

    async def offer(self, tools: Sequence[Mapping[str, Any]], limit: float) -> bool:
        """Serve these tools from now on. False: the agent was notified of the change and did not request the new list
        within `limit` seconds. An agent that only loses tools is not waited for."""
        before = self._offer.tools
        if not self._offer.change(tools):
            return True
        for connection in list(self._connections):
            await connection.notify_changed()
        if all(before.get(name) == tool for name, tool in self._offer.tools.items()):
            return True
        with anyio.move_on_after(limit):
            while not all(connection.server.has_read_tools for connection in self._connections):
                await self._changed.wait()
        return all(connection.server.has_listed_tools for connection in self._connections)

    @property
    def was_listed(self) -> bool:
        """The agent has asked for the tools at least once: so its model can have them."""
        return self._listed.is_set()

    async def wait_until_listed(self, limit: float) -> bool:
        """False: the agent has not asked for the tools within `limit` seconds."""
        with anyio.move_on_after(limit):
            await self._listed.wait()
        return self.was_listed

    async def aclose(self) -> None:
        self._scope.cancel()
        with CancelScope(shield=True):
            await self._listener.aclose()
            await to_thread.run_sync(self._directory.release, self._path)

    # -- connections

    async def _serve(self) -> None:
        with self._scope, suppress(anyio.ClosedResourceError):
            await self._listener.serve(self._accept)

    async def _accept(self, stream: SocketStream) -> None:
        try:
            async with stream:
                await self._serve_stream(stream)
        except DISCONNECTED:
            return
        except Exception:  # a defect in one connection must not end the gateway
            log.exception("a connection to a session's client tools failed")

    async def _serve_stream(self, stream: SocketStream) -> None:
        if len(self._connections) >= MAX_CONNECTIONS:
            return log.warning("an agent opens more than %s connections to a session's client tools", MAX_CONNECTIONS)
        rest = await self._check_secret(stream)
        if rest is None:
            return log.warning("a process without the secret connected to a session's client tools")
        server = ToolServer(self._offer, on_list=self._listed.set)
        connection = ShimConnection(stream, server, self._handle_call, self._notify)
        self._connections.add(connection)
        try:
            await connection.serve(rest)
        finally:
            self._connections.discard(connection)
            self._notify()
        return None

    async def _check_secret(self, stream: SocketStream) -> bytes | None:
        """The bytes after the secret. None: it is not this session's secret."""
        expected, received = self._secret.encode() + b"\n", b""
        with anyio.fail_after(SECRET_TIMEOUT_SECONDS):
            while len(received) < len(expected):
                received += await stream.receive()
        secret = received[: len(expected)]
        return received[len(expected) :] if hmac.compare_digest(secret, expected) else None

    def _notify(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


class ShimConnection:
    """One connection that has sent the secret."""

    def __init__(
        self, stream: SocketStream, server: ToolServer, handle_call: CallHandler, on_read: Callable[[], None]
    ) -> None:
        """`on_read`: called after each read."""
        self.server = server
        self._stream = stream
        self._handle_call = handle_call
        self._on_read = on_read
        self._lines = Lines(MAX_LINE_BYTES)
        self._write_lock = anyio.Lock()
        self._calls: dict[Id, CancelScope] = {}

    async def serve(self, rest: bytes) -> None:
        """Until one side disconnects; then every pending call is cancelled. `rest`: the bytes after the secret."""
        async with anyio.create_task_group() as tasks:
            with suppress(*DISCONNECTED):
                await self._read(rest, tasks)
                while True:
                    self._on_read()
                    await self._read(await self._stream.receive(), tasks)
            tasks.cancel_scope.cancel()

    async def _read(self, data: bytes, tasks: TaskGroup) -> None:
        for message in self.server.read(self._lines.feed(data)):
            self._handle(message, tasks)
        await self._flush()

    async def notify_changed(self) -> None:
        self.server.announce_change()
        with suppress(*DISCONNECTED):
            await self._flush()

    def _handle(self, message: ToolCall | CallCancelled, tasks: TaskGroup) -> None:
        if isinstance(message, CallCancelled):
            if (scope := self._calls.get(message.request_id)) is not None:
                scope.cancel()
        else:
            scope = self._calls[message.request_id] = CancelScope()
            tasks.start_soon(self._answer, message, scope)

    async def _answer(self, call: ToolCall, scope: CancelScope) -> None:
        with scope, suppress(*DISCONNECTED):
            async with anyio.create_task_group() as background:
                background.start_soon(self._send_progress, call)
                self.server.answer(call, await self._handle_call(call))
                background.cancel_scope.cancel()
            await self._flush()
        if self._calls.get(call.request_id) is scope:
            del self._calls[call.request_id]

    async def _send_progress(self, call: ToolCall) -> None:
        count = 0
        while call.progress_token is not None:
            await anyio.sleep(PROGRESS_INTERVAL_SECONDS)
            count += 1
            self.server.report_progress(call, count)
            with suppress(*DISCONNECTED):  # the reader of this connection sees that, too
                await self._flush()

    async def _flush(self) -> None:
        if not self.server.outbox:
            return
        async with self._write_lock:
            messages, self.server.outbox = self.server.outbox, []
            # Shielded: half a message would make all that follow unreadable.
            with anyio.fail_after(WRITE_TIMEOUT_SECONDS, shield=True):
                await self._stream.send(b"".join(messages))
