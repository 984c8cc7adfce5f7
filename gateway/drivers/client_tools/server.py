"""One session's tools, served at a socket of their own to the shims that its agent starts.

In: connections that know the session's secret. Out: every call of a tool is put to `called`, and its answer sent back;
an agent that gives a call up, or leaves, ends the wait for it. Bounded: connections, the time for the secret, the time
that an agent may take to read; nobody waits for an agent but its own connection.
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
from gateway.drivers.client_tools.socket_dir import SocketDirectory
from gateway.turn import Answer
from gateway.wire.jsonrpc import Id
from gateway.wire.lines import Lines
from gateway.wire.mcp_server import CallCancelled, Offer, ToolCall, ToolServer

log = logging.getLogger(__name__)

SHIM = Path(__file__).with_name("shim.py")
SECRET = "AGUI_TOOLS_SECRET"
"""The environment variable by which a shim is told it, and by which one knows the gateway's own server."""
CONNECTIONS = 8
"""At once: an agent has one, or starts a second before it has ended the first."""
SECRET_LIMIT = 5.0
LINE_LIMIT = 16 * 1024 * 1024
"""Arguments that are longer are given up, not the agent."""
WRITE_LIMIT = 10.0
"""A shim that reads nothing for so long is let go: its agent is dead."""
STILL_WAITING = 10.0
"""Between two words that a call is still waited for: the shortest bound known is a minute."""

Called = Callable[[ToolCall], Awaitable[Answer]]
GONE = (anyio.EndOfStream, anyio.BrokenResourceError, anyio.ClosedResourceError, TimeoutError)


def is_own(server: Mapping[str, Any]) -> bool:
    """Is this entry of `mcpServers` the gateway's own? It is nobody else's to start."""
    env = server.get("env")
    return isinstance(env, list) and any(isinstance(one, dict) and one.get("name") == SECRET for one in env)


class ClientToolServer:
    """Made by `opened`."""

    def __init__(self, path: Path, folder: SocketDirectory, listener: SocketListener, called: Called) -> None:
        self._path, self._folder, self._listener, self._called = path, folder, listener, called
        self._secret = secrets.token_urlsafe(32)
        self._offer = Offer()
        self._links: set[ShimConnection] = set()
        self._scope = CancelScope()
        self._read = anyio.Event()

    @classmethod
    async def opened(cls, folder: SocketDirectory, called: Called, tasks: Tasks) -> ClientToolServer:
        path = await to_thread.run_sync(folder.take)
        try:
            listener = await anyio.create_unix_listener(path, mode=0o600)
        except BaseException:
            with CancelScope(shield=True):
                await to_thread.run_sync(folder.give_back, path)
            raise
        server = cls(path, folder, listener, called)
        tasks.start_soon(server._serve)
        return server

    def entry(self, name: str, *, typed: bool) -> dict[str, Any]:
        """Of `mcpServers`. `typed`: in the words of ACP's version 2."""
        command = [sys.executable, "-I", "-S", str(SHIM), str(self._path)]
        env = [{"name": SECRET, "value": self._secret}]
        told = {"name": name, "command": command[0], "args": command[1:], "env": env}
        return {"type": "stdio", **told} if typed else told

    async def offer(self, tools: Sequence[Mapping[str, Any]], within: float) -> bool:
        """From now on these. False: the agent was told that they are others, and did not ask for them within so long;
        one that is only told of fewer is not waited for."""
        before = self._offer.tools
        if not self._offer.change(tools):
            return True
        for link in list(self._links):
            await link.tell_changed()
        if all(before.get(name) == tool for name, tool in self._offer.tools.items()):
            return True
        with anyio.move_on_after(within):
            while not all(link.server.has_read_tools for link in self._links):
                await self._read.wait()
        return all(link.server.has_listed_tools for link in self._links)

    async def aclose(self) -> None:
        self._scope.cancel()
        with CancelScope(shield=True):
            await self._listener.aclose()
            await to_thread.run_sync(self._folder.give_back, self._path)

    # -- connections

    async def _serve(self) -> None:
        with self._scope, suppress(anyio.ClosedResourceError):
            await self._listener.serve(self._connected)

    async def _connected(self, stream: SocketStream) -> None:
        try:
            async with stream:
                await self._received(stream)
        except GONE:
            return
        except Exception:  # a defect here must not take the whole gateway along
            log.exception("a connection to a session's tools failed")

    async def _received(self, stream: SocketStream) -> None:
        if len(self._links) >= CONNECTIONS:
            return log.warning("an agent opens more than %s connections to a session's tools", CONNECTIONS)
        rest = await self._let_in(stream)
        if rest is None:
            return log.warning("somebody without the secret came to a session's tools")
        link = ShimConnection(stream, ToolServer(self._offer), self._called)
        self._links.add(link)
        try:
            await link.talk(rest, self._wake)
        finally:
            self._links.discard(link)
            self._wake()
        return None

    async def _let_in(self, stream: SocketStream) -> bytes | None:
        """What came after the secret. None: it was another."""
        expected, got = self._secret.encode() + b"\n", b""
        with anyio.fail_after(SECRET_LIMIT):
            while len(got) < len(expected):
                got += await stream.receive()
        told = got[: len(expected)]
        return got[len(expected) :] if hmac.compare_digest(told, expected) else None

    def _wake(self) -> None:
        self._read.set()
        self._read = anyio.Event()


class ShimConnection:
    """One connection that was let in."""

    def __init__(self, stream: SocketStream, server: ToolServer, called: Called) -> None:
        self._stream, self.server, self._called = stream, server, called
        self._lines = Lines(LINE_LIMIT)
        self._sending = anyio.Lock()
        self._calls: dict[Id, CancelScope] = {}

    async def talk(self, rest: bytes, read: Callable[[], None]) -> None:
        """Until one of the two leaves; then whatever waits for an answer here is given up. `read`: is told each time
        that something was."""
        async with anyio.create_task_group() as tasks:
            with suppress(*GONE):
                await self._hear(rest, tasks)
                while True:
                    read()
                    await self._hear(await self._stream.receive(), tasks)
            tasks.cancel_scope.cancel()

    async def _hear(self, data: bytes, tasks: TaskGroup) -> None:
        for found in self.server.read(self._lines.feed(data)):
            self._take(found, tasks)
        await self._flush()

    async def tell_changed(self) -> None:
        self.server.announce_change()
        with suppress(*GONE):
            await self._flush()

    def _take(self, found: ToolCall | CallCancelled, tasks: TaskGroup) -> None:
        if isinstance(found, CallCancelled):
            if (scope := self._calls.get(found.request_id)) is not None:
                scope.cancel()
        else:
            scope = self._calls[found.request_id] = CancelScope()
            tasks.start_soon(self._answer, found, scope)

    async def _answer(self, call: ToolCall, scope: CancelScope) -> None:
        with scope, suppress(*GONE):
            async with anyio.create_task_group() as beside:
                beside.start_soon(self._keep_waiting, call)
                self.server.answer(call, await self._called(call))
                beside.cancel_scope.cancel()
            await self._flush()
        if self._calls.get(call.request_id) is scope:
            del self._calls[call.request_id]

    async def _keep_waiting(self, call: ToolCall) -> None:
        count = 0
        while call.progress_token is not None:
            await anyio.sleep(STILL_WAITING)
            count += 1
            self.server.report_progress(call, count)
            with suppress(*GONE):  # its reader sees that, too
                await self._flush()

    async def _flush(self) -> None:
        if not self.server.outbox:
            return
        async with self._sending:
            out, self.server.outbox = self.server.outbox, []
            # Half a message would be the end of all that follow.
            with anyio.fail_after(WRITE_LIMIT, shield=True):
                await self._stream.send(b"".join(out))
