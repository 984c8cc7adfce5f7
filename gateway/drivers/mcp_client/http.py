"""HTTP to an MCP server, held to the address policy and to a budget.

In: a URL and headers that a client of the gateway gave. Out: an `httpx2` client for the SDK's transports, which
connects to nothing but what `allowed` lets pass. As for remote agents, a name is looked up once for each request and
the connection goes to the very address that was checked; proxies of the environment are not used, and a redirect to
another origin is not followed (the SDK's own rule).
"""

from __future__ import annotations

import math
from collections.abc import AsyncIterator

import httpx2

from gateway.drivers.address_policy import Refused, allowed
from gateway.drivers.mcp_client.byte_budget import MESSAGE, Budget
from gateway.drivers.mcp_client.server_config import Server, Unusable

TIMEOUT = httpx2.Timeout(15.0, read=None)
"""A stream of notifications may be silent for ever; whoever waits for an answer has a limit of its own."""


def client(server: Server, budget: Budget, *, private: bool) -> httpx2.AsyncClient:
    transport = PinnedTransport(budget, private=private)
    return httpx2.AsyncClient(transport=transport, headers=dict(server.headers), timeout=TIMEOUT, trust_env=False)


class PinnedTransport(httpx2.AsyncHTTPTransport):
    def __init__(self, budget: Budget, *, private: bool) -> None:
        super().__init__(trust_env=False)
        self._budget, self._private = budget, private

    async def handle_async_request(self, request: httpx2.Request) -> httpx2.Response:
        *others, last = await self._addresses(request.url)
        for address in others:
            try:
                return self._counted(await super().handle_async_request(_pinned(request, address)))
            except (httpx2.ConnectError, httpx2.ConnectTimeout):
                continue  # nothing was sent: a name may have an address that nobody listens at
        return self._counted(await super().handle_async_request(_pinned(request, last)))

    async def _addresses(self, url: httpx2.URL) -> list[str]:
        try:
            return await allowed(url.host, private=self._private)
        except Refused as exc:
            raise Unusable(str(exc)) from exc
        except OSError as exc:
            raise Unusable(f"{url.host} cannot be looked up: {exc.strerror or exc}") from exc

    def _counted(self, response: httpx2.Response) -> httpx2.Response:
        assert isinstance(response.stream, httpx2.AsyncByteStream)
        streams = response.headers.get("content-type", "").startswith("text/event-stream")
        response.stream = CountedStream(response.stream, self._budget, math.inf if streams else MESSAGE)
        return response


class CountedStream(httpx2.AsyncByteStream):
    def __init__(self, stream: httpx2.AsyncByteStream, budget: Budget, most: float) -> None:
        self._stream, self._budget, self._left = stream, budget, most

    async def __aiter__(self) -> AsyncIterator[bytes]:
        async for data in self._stream:
            self._budget.spend(data)
            self._left -= len(data)
            if self._left < 0:
                raise Unusable(f"it sent a message of more than {MESSAGE // 2**20} MiB")
            yield data

    async def aclose(self) -> None:
        await self._stream.aclose()


def _pinned(request: httpx2.Request, address: str) -> httpx2.Request:
    """The name stays in the Host header and in the check of the certificate."""
    return httpx2.Request(
        request.method,
        request.url.copy_with(host=address),
        headers=request.headers,
        stream=request.stream,
        extensions={**request.extensions, "sni_hostname": request.url.host},
    )
