"""HTTP to an MCP server, held to the address policy and to a byte budget.

In: a URL and headers from a client of the gateway. Out: an `httpx2` client for the SDK's transports. The SDK itself
does not follow a redirect to another origin.
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator

import httpx2

from gateway.drivers.address_policy import AddressRefused, HostNotFound, PinnedTransport, pinned_client
from gateway.drivers.mcp_client.byte_budget import MAX_MESSAGE_BYTES, ByteBudget
from gateway.drivers.mcp_client.server_config import ServerConfig, ServerUnusable

TIMEOUT = httpx2.Timeout(15.0, read=None)
"""No limit on reading: a stream of notifications may be silent for ever. A caller that waits for an answer has its own
limit."""


def budgeted_client(server: ServerConfig, budget: ByteBudget, *, private: bool) -> httpx2.AsyncClient:
    transport = BudgetedTransport(PinnedTransport(private=private), budget)
    return pinned_client(private=private, timeout=TIMEOUT, headers=dict(server.headers), transport=transport)


class BudgetedTransport(httpx2.AsyncBaseTransport):
    """Counts the bytes of every response. Raises `ServerUnusable`."""

    def __init__(self, transport: PinnedTransport, budget: ByteBudget) -> None:
        self._transport = transport
        self._budget = budget

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        try:
            response = await self._transport.handle_async_request(request)
        except (AddressRefused, HostNotFound) as exc:
            raise ServerUnusable(str(exc)) from exc
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        is_event_stream = response.headers.get("content-type", "").startswith("text/event-stream")
        limit = math.inf if is_event_stream else MAX_MESSAGE_BYTES
        response.stream = BudgetedStream(response.stream, self._budget, limit)
        return response

    async def aclose(self) -> None:
        await self._transport.aclose()


class BudgetedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, budget: ByteBudget, limit: float) -> None:
        """`limit`: bytes of the whole body."""
        self._stream = stream
        self._budget = budget
        self._remaining = limit

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for data in self._stream:
            self._budget.spend(data)
            self._remaining -= len(data)
            if self._remaining < 0:
                raise ServerUnusable(f"it sent a message of more than {MAX_MESSAGE_BYTES // 2**20} MiB")
            yield data

    async def aclose(self) -> None:
        await self._stream.aclose()
