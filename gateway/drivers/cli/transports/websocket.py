"""A WebSocket, to an agent that is a server on a loopback port. Each WebSocket message is one message."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import anyio
from websockets.asyncio.client import ClientConnection, connect, unix_connect
from websockets.exceptions import WebSocketException

from gateway.drivers.cli.transports.base import MAX_MESSAGE_BYTES, Endpoint
from gateway.drivers.cli.transports.server import reach_server
from gateway.drivers.process import Process
from gateway.errors import AgentFault

CLOSE_TIMEOUT_SECONDS = 1.0


async def open_websocket(endpoint: Endpoint) -> WebSocketTransport:
    url = await reach_server(endpoint)
    try:
        socket = await _connect(url, endpoint.process.port_socket)
    except (OSError, WebSocketException, TimeoutError) as exc:
        raise AgentFault(f"the agent's WebSocket cannot be opened: {exc}", code="AGENT_DIED") from exc
    return WebSocketTransport(endpoint.process, socket)


async def _connect(url: str, port_socket: Path | None) -> ClientConnection:
    """`port_socket`: leads to the port of a process in a sandbox."""
    options: dict[str, Any] = {"max_size": MAX_MESSAGE_BYTES, "compression": None, "ping_interval": None}
    if port_socket is not None:
        return await unix_connect(str(port_socket), url, **options)
    return await connect(url, proxy=None, **options)


class WebSocketTransport:
    def __init__(self, process: Process, socket: ClientConnection) -> None:
        self.process = process
        self._socket = socket

    async def read(self) -> list[bytes]:
        try:
            message = await self._socket.recv()
        except WebSocketException:
            return []
        return [message.encode() if isinstance(message, str) else message]

    async def write(self, messages: Sequence[bytes]) -> None:
        try:
            for message in messages:
                await self._socket.send(message.decode())
        except WebSocketException as exc:
            raise self.process.died("it had read what it was sent") from exc

    def close_input(self) -> None:
        return None

    async def subscribe(self, cwd: str) -> None:
        return None

    async def aclose(self) -> None:
        with anyio.move_on_after(CLOSE_TIMEOUT_SECONDS):
            await self._socket.close()
        await self.process.stop()
