"""One connection to one MCP server, by the official SDK: its tools, and word when they are others.

In: how the server is reached. Out: listings. The SDK takes most of a second to import, so this module is imported when
the first server is asked, in a thread (`pool`). A server is greeted by `initialize`, as agents greet it; one that knows
only the newer protocol says so, and is then asked in that. Never: a call of a tool, sampling, roots, elicitation.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from typing import Any

import anyio
import httpx2
from mcp.client import ClientSession
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client
from mcp.client.subscriptions import SubscriptionLost, listen
from mcp.shared.exceptions import MCPError
from mcp_types import UNSUPPORTED_PROTOCOL_VERSION, Implementation, PaginatedRequestParams, ToolListChangedNotification

from gateway.drivers.mcp_client.byte_budget import MESSAGE, Budget
from gateway.drivers.mcp_client.http import client
from gateway.drivers.mcp_client.server_config import Server
from gateway.drivers.mcp_client.stdio import over_stdio
from gateway.drivers.mcp_client.tool_list import Gathering, Listing

PAGES = 64
"""Of one listing: a server whose pages never end is not followed for ever."""
US = Implementation(name="agui-gateway", version="1")

for chatty in ("mcp", "client", "httpx2", "httpcore2"):  # they log URLs and messages, which may hold secrets
    logging.getLogger(chatty).setLevel(logging.CRITICAL)


class News:
    """That the tools are others than were told last."""

    def __init__(self) -> None:
        self.come = anyio.Event()

    async def heard(self, message: Any) -> None:
        if isinstance(message, ToolListChangedNotification):
            self.come.set()


class Connection:
    def __init__(self, session: ClientSession, news: News) -> None:
        self._session, self._news = session, news

    async def tools(self) -> Listing:
        """All that it has now. What changes while it is asked is news."""
        self._news.come = anyio.Event()
        able = self._session.server_capabilities
        found, cursor = Gathering(), None
        for _ in range(PAGES if able is not None and able.tools is not None else 0):
            page = await self._session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            found.add(tool.model_dump(by_alias=True, exclude_none=True) for tool in page.tools)
            cursor = page.next_cursor
            if cursor is None or found.full:
                break
        return found.listing(more=cursor is not None)

    async def changed(self) -> None:
        """Until the server says that its tools are others than it told last."""
        await self._news.come.wait()

    async def listen(self) -> None:
        """In the newer protocol word is only sent to whoever wants it."""
        try:
            async with listen(self._session, tools_list_changed=True) as news:
                async for _ in news:
                    self._news.come.set()
        except (MCPError, SubscriptionLost, TimeoutError):
            return  # it is asked again now and then anyway


@asynccontextmanager
async def opened(server: Server, *, private: bool) -> AsyncIterator[Connection]:
    """Greeted. Raises whatever goes wrong, then and later; `pool` finds words for it."""
    news = News()
    async with (
        _transport(server, Budget(), private=private) as (read, write),
        ClientSession(read, write, message_handler=news.heard, client_info=US) as session,
        anyio.create_task_group() as tasks,
    ):
        connection = Connection(session, news)
        if await _greet(session):
            tasks.start_soon(connection.listen)
        yield connection
        tasks.cancel_scope.cancel()


async def _greet(session: ClientSession) -> bool:
    """Whether it speaks the newer protocol."""
    try:
        await session.initialize()
    except MCPError as exc:
        if exc.code != UNSUPPORTED_PROTOCOL_VERSION:
            raise
        await session.discover()
        return True
    return False


def _transport(server: Server, budget: Budget, *, private: bool) -> AbstractAsyncContextManager[tuple[Any, Any]]:
    match server.kind:
        case "stdio":
            return over_stdio(server, budget)
        case "sse":

            def made(*_: Any, **__: Any) -> httpx2.AsyncClient:
                return client(server, budget, private=private)

            return sse_client(server.url, httpx_client_factory=made)
        case "http":
            return _streamable(server, budget, private=private)


@asynccontextmanager
async def _streamable(server: Server, budget: Budget, *, private: bool) -> AsyncIterator[tuple[Any, Any]]:
    async with (
        client(server, budget, private=private) as http,
        streamable_http_client(server.url, http_client=http, max_sse_event_size=MESSAGE) as streams,
    ):
        yield streams
