"""One connection to one MCP server, by the official SDK: its tools, and notice of their changes.

In: how the server is reached. Out: lists of tools. The SDK takes most of a second to import, so this module is imported
with the first server, in a thread (`watcher`). A server is initialized as agents do it
(https://modelcontextprotocol.io/specification/2025-06-18/basic/lifecycle); one that supports only the newer protocol
answers so, and is then addressed by that. Never: a tool call, sampling, roots, elicitation.
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

from gateway.drivers.mcp_client.byte_budget import MAX_MESSAGE_BYTES, ByteBudget
from gateway.drivers.mcp_client.http import budgeted_client
from gateway.drivers.mcp_client.server_config import ServerConfig
from gateway.drivers.mcp_client.stdio import open_stdio
from gateway.drivers.mcp_client.tool_list import ToolCollector, ToolList

MAX_PAGES = 64
"""Of one list: a server whose pages never end is not followed for ever."""
CLIENT_INFO = Implementation(name="agui-gateway", version="1")

for library in ("mcp", "client"):  # they log URLs and messages, which may hold secrets
    logging.getLogger(library).setLevel(logging.CRITICAL)


class ChangeNotice:
    """Set when the server has announced that its tools changed."""

    def __init__(self) -> None:
        self._changed = anyio.Event()

    def reset(self) -> None:
        self._changed = anyio.Event()

    def set(self) -> None:
        self._changed.set()

    async def wait(self) -> None:
        await self._changed.wait()

    async def read_message(self, message: Any) -> None:
        """Called by the SDK with every message that is no answer."""
        if isinstance(message, ToolListChangedNotification):
            self.set()


class McpConnection:
    def __init__(self, session: ClientSession, notice: ChangeNotice) -> None:
        self._session = session
        self._notice = notice

    async def list_tools(self) -> ToolList:
        """All tools of the server now. A change during the listing is noticed."""
        self._notice.reset()
        capabilities = self._session.server_capabilities
        has_tools = capabilities is not None and capabilities.tools is not None
        collector, cursor = ToolCollector(), None
        for _ in range(MAX_PAGES if has_tools else 0):
            page = await self._session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            collector.add(tool.model_dump(by_alias=True, exclude_none=True) for tool in page.tools)
            cursor = page.next_cursor
            if cursor is None or collector.is_full:
                break
        return collector.to_list(has_more=cursor is not None)

    async def wait_for_change(self) -> None:
        """Until the server announces that its tools have changed since the last list."""
        await self._notice.wait()

    async def subscribe(self) -> None:
        """In the newer protocol a server announces changes only to subscribers."""
        try:
            async with listen(self._session, tools_list_changed=True) as changes:
                async for _ in changes:
                    self._notice.set()
        except (MCPError, SubscriptionLost, TimeoutError):
            return  # the tools are listed again from time to time anyway


@asynccontextmanager
async def open_connection(server: ServerConfig, *, private: bool) -> AsyncIterator[McpConnection]:
    """Initialized. Raises whatever goes wrong, then and later; `watcher` makes a reason of it."""
    notice = ChangeNotice()
    async with (
        _open_transport(server, ByteBudget(), private=private) as (read, write),
        ClientSession(read, write, message_handler=notice.read_message, client_info=CLIENT_INFO) as session,
        anyio.create_task_group() as tasks,
    ):
        connection = McpConnection(session, notice)
        if await _initialize(session):
            tasks.start_soon(connection.subscribe)
        yield connection
        tasks.cancel_scope.cancel()


async def _initialize(session: ClientSession) -> bool:
    """True: the server uses the newer protocol."""
    try:
        await session.initialize()
    except MCPError as exc:
        if exc.code != UNSUPPORTED_PROTOCOL_VERSION:
            raise
        await session.discover()
        return True
    return False


def _open_transport(
    server: ServerConfig, budget: ByteBudget, *, private: bool
) -> AbstractAsyncContextManager[tuple[Any, Any]]:
    match server.kind:
        case "stdio":
            return open_stdio(server, budget)
        case "sse":

            def make_client(*_: Any, **__: Any) -> httpx2.AsyncClient:
                return budgeted_client(server, budget, private=private)

            return sse_client(server.url, httpx_client_factory=make_client)
        case "http":
            return _open_streamable(server, budget, private=private)


@asynccontextmanager
async def _open_streamable(
    server: ServerConfig, budget: ByteBudget, *, private: bool
) -> AsyncIterator[tuple[Any, Any]]:
    async with (
        budgeted_client(server, budget, private=private) as client,
        streamable_http_client(server.url, http_client=client, max_sse_event_size=MAX_MESSAGE_BYTES) as streams,
    ):
        yield streams
