"""How messages travel to an agent that listens on a port of loopback: HTTP with server-sent events, or a WebSocket.

Over HTTP a message to the agent is `{"id", "method", "path", "body"}`, and its answer comes back as a message
`{"id", "status", "body"}` among the events; status 0 with an `error` where there was no answer at all.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import anyio
import httpx
import orjson
from anyio import ClosedResourceError, EndOfStream
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import WebSocketException

from gateway.background import Tasks
from gateway.drivers.process.process import Process
from gateway.errors import AgentFault
from gateway.wire.lines import TooLong
from gateway.wire.sse import Events

log = logging.getLogger(__name__)

LIMIT = 64 * 1024 * 1024
WAITING = 1024
"""Messages that may wait to be read; past this the agent waits."""
CALL_LIMIT = 120.0
"""Until a call is answered. Prompts are posted, and answered by events."""
LOOK_AGAIN = 0.1
"""Between two looks whether it listens by now."""


async def listening(process: Process, health: str, seconds: float) -> None:
    """Until the URL answers 200. Raises `AgentFault` when it does not within the bound, or the agent is gone."""
    with anyio.move_on_after(seconds):
        async with httpx.AsyncClient(trust_env=False, timeout=5.0) as client:
            while process.exit_code is None:
                try:
                    if (await client.get(health)).status_code < 500:
                        return
                except httpx.HTTPError:
                    pass
                await anyio.sleep(LOOK_AGAIN)
            raise process.died("it listened")
    raise AgentFault(f"the agent did not listen within {seconds:g} seconds", code="AGENT_STALLED")


class HttpTransport:
    """One event stream for each directory in which there is a session."""

    def __init__(self, process: Process, tasks: Tasks, url: str, events: str | None) -> None:
        self.process, self._tasks, self._path = process, tasks, events
        timeout = httpx.Timeout(CALL_LIMIT, read=None, pool=None)
        # The proxy of a company's network is for the world outside, never for loopback.
        self._client = httpx.AsyncClient(base_url=url, timeout=timeout, trust_env=False)
        self._send, self._receive = anyio.create_memory_object_stream[bytes](WAITING)
        self._heard: dict[str, anyio.Event] = {}

    async def read(self) -> list[bytes]:
        try:
            found = [await self._receive.receive()]
        except (EndOfStream, ClosedResourceError):
            return []
        while len(found) < WAITING:
            try:
                found.append(self._receive.receive_nowait())
            except (anyio.WouldBlock, EndOfStream):
                break
        return found

    async def write(self, messages: Sequence[bytes]) -> None:
        for message in messages:
            self._tasks.start_soon(self._call, orjson.loads(message))

    async def _call(self, call: dict[str, Any]) -> None:
        answer: dict[str, Any] = {"id": call.get("id")}
        try:
            with anyio.fail_after(CALL_LIMIT):
                response = await self._client.request(call["method"], call["path"], json=call.get("body"))
            answer |= {"status": response.status_code, "body": _json(response.content)}
        except (httpx.HTTPError, TimeoutError, RuntimeError) as exc:  # RuntimeError: the client is closed by now
            answer |= {"status": 0, "error": f"{type(exc).__name__}: {exc}"}
        await self._put(orjson.dumps(answer))

    async def _put(self, message: bytes) -> None:
        try:
            await self._send.send(message)
        except (anyio.BrokenResourceError, ClosedResourceError):
            return  # nobody reads any more

    def close_input(self) -> None:
        return None

    async def subscribe(self, cwd: str) -> None:
        """Returns when the stream of this directory is open: what happens from now on is heard."""
        if self._path is None or cwd in self._heard:
            return
        heard = self._heard[cwd] = anyio.Event()
        self._tasks.start_soon(self._follow, self._path.replace("{cwd}", quote(cwd, safe="")), heard)
        with anyio.move_on_after(CALL_LIMIT):
            await heard.wait()

    async def _follow(self, path: str, heard: anyio.Event) -> None:
        events = Events(LIMIT)
        try:
            async with self._client.stream("GET", path, headers={"accept": "text/event-stream"}) as response:
                heard.set()
                async for data in response.aiter_bytes():
                    for message in events.feed(data):
                        if isinstance(message, TooLong):
                            log.warning("the agent sent an event of %d bytes: left out", message.size)
                        else:
                            await self._put(message)
        except httpx.HTTPError as exc:
            log.info("the agent's event stream ended: %s", exc)
        finally:
            heard.set()
            self._send.close()  # without its events the agent is as good as gone

    async def aclose(self) -> None:
        self._send.close()
        self._receive.close()
        await self.process.stop()
        await self._client.aclose()


class WebSocketTransport:
    def __init__(self, process: Process, socket: ClientConnection) -> None:
        self.process, self._socket = process, socket

    @classmethod
    async def open(cls, process: Process, url: str) -> WebSocketTransport:
        try:
            socket = await connect(url, max_size=LIMIT, compression=None, proxy=None, ping_interval=None)
        except (OSError, WebSocketException, TimeoutError) as exc:
            raise AgentFault(f"the agent's WebSocket cannot be opened: {exc}", code="AGENT_DIED") from exc
        return cls(process, socket)

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
        with anyio.move_on_after(1.0):
            await self._socket.close()
        await self.process.stop()


def _json(content: bytes) -> Any:
    try:
        return orjson.loads(content) if content else None
    except orjson.JSONDecodeError:
        return content.decode("utf-8", "replace")[:2000]
