"""HTTP requests and a stream of server-sent events, to an agent that is a server on a loopback port.

A message to the agent is a request `{"id", "method", "path", "body"}`. Its response comes back among the events as a
message `{"id", "status", "body"}`; status 0 and an `error` where there was no response at all.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

import anyio
import httpx2
import orjson
from anyio import ClosedResourceError, EndOfStream

from gateway.background import Tasks
from gateway.drivers.cli.transports.base import MAX_MESSAGE_BYTES, Endpoint
from gateway.drivers.cli.transports.server import port_client, reach_server
from gateway.drivers.process import Process
from gateway.wire.lines import TooLong
from gateway.wire.sse import Events

log = logging.getLogger(__name__)

MAX_UNREAD_MESSAGES = 1024
"""Messages that may wait to be read; with more the agent waits."""
REQUEST_TIMEOUT_SECONDS = 120.0
"""Prompts are posted, and their output comes by events: so no request takes long."""
MAX_ERROR_TEXT_CHARS = 2000
"""Of a response that is not JSON."""


async def open_http(endpoint: Endpoint) -> HttpTransport:
    url = await reach_server(endpoint)
    return HttpTransport(endpoint.process, endpoint.tasks, url, endpoint.cli.events)


class HttpTransport:
    """One event stream for each directory in which there is a session."""

    def __init__(self, process: Process, tasks: Tasks, url: str, events_path: str | None) -> None:
        self.process = process
        self._tasks = tasks
        self._events_path = events_path
        timeout = httpx2.Timeout(REQUEST_TIMEOUT_SECONDS, read=None, pool=None)
        self._client = port_client(process, timeout=timeout, base_url=url)
        self._send, self._receive = anyio.create_memory_object_stream[bytes](MAX_UNREAD_MESSAGES)
        self._subscribed: dict[str, anyio.Event] = {}

    async def read(self) -> list[bytes]:
        try:
            messages = [await self._receive.receive()]
        except (EndOfStream, ClosedResourceError):
            return []
        while len(messages) < MAX_UNREAD_MESSAGES:
            try:
                messages.append(self._receive.receive_nowait())
            except (anyio.WouldBlock, EndOfStream):
                break
        return messages

    async def write(self, messages: Sequence[bytes]) -> None:
        for message in messages:
            self._tasks.start_soon(self._send_request, orjson.loads(message))

    async def _send_request(self, request: dict[str, Any]) -> None:
        reply: dict[str, Any] = {"id": request.get("id")}
        try:
            with anyio.fail_after(REQUEST_TIMEOUT_SECONDS):
                response = await self._client.request(request["method"], request["path"], json=request.get("body"))
            reply |= {"status": response.status_code, "body": _parse_body(response.content)}
        except (httpx2.HTTPError, TimeoutError, RuntimeError) as exc:  # RuntimeError: the client was closed meanwhile
            reply |= {"status": 0, "error": f"{type(exc).__name__}: {exc}"}
        await self._put(orjson.dumps(reply))

    async def _put(self, message: bytes) -> None:
        try:
            await self._send.send(message)
        except (anyio.BrokenResourceError, ClosedResourceError):
            return  # the transport was closed meanwhile

    def close_input(self) -> None:
        return None

    async def subscribe(self, cwd: str) -> None:
        """Returns when the event stream of this directory is open."""
        if self._events_path is None or cwd in self._subscribed:
            return
        is_open = self._subscribed[cwd] = anyio.Event()
        path = self._events_path.replace("{cwd}", quote(cwd, safe=""))
        self._tasks.start_soon(self._read_events, path, is_open)
        with anyio.move_on_after(REQUEST_TIMEOUT_SECONDS):
            await is_open.wait()

    async def _read_events(self, path: str, is_open: anyio.Event) -> None:
        events = Events(MAX_MESSAGE_BYTES)
        try:
            async with self._client.stream("GET", path, headers={"accept": "text/event-stream"}) as response:
                is_open.set()
                async for data in response.aiter_bytes():
                    for message in events.feed(data):
                        if isinstance(message, TooLong):
                            log.warning("the agent sent an event of %d bytes: it is dropped", message.size)
                        else:
                            await self._put(message)
        except httpx2.HTTPError as exc:
            log.info("the agent's event stream ended: %s", exc)
        finally:
            is_open.set()
            self._send.close()  # without its events the agent cannot be used

    async def aclose(self) -> None:
        self._send.close()
        self._receive.close()
        await self.process.stop()
        await self._client.aclose()


def _parse_body(content: bytes) -> Any:
    try:
        return orjson.loads(content) if content else None
    except orjson.JSONDecodeError:
        return content.decode("utf-8", "replace")[:MAX_ERROR_TEXT_CHARS]
