"""A session's tools at their socket, reached as agents do: the official MCP client starts the shim itself."""

from __future__ import annotations

import os
import stat
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import anyio
import pytest
from mcp import ClientSession, StdioServerParameters, stdio_client
from mcp import types as mcp

from gateway.drivers.client_tools import ClientToolServer, SocketDirectory, is_gateway_server, server
from gateway.drivers.client_tools.socket_dir import PREFIX
from gateway.turn import Answer
from gateway.wire.mcp_server import SERVER, ToolCall

pytestmark = pytest.mark.anyio

CARD = {"name": "show card!", "description": "Shows a card.", "parameters": {"type": "object"}}
OTHER = {"name": "other", "parameters": {}}
LIMIT = 20.0


class Page:
    """Whoever answers the calls."""

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []
        self.given_up = anyio.Event()
        self.content: Any = "shown"
        self.holds = False

    async def called(self, call: ToolCall) -> Answer:
        self.calls.append(call)
        try:
            if self.holds:
                await anyio.sleep_forever()
        except BaseException:
            self.given_up.set()
            raise
        return Answer("c", "resolved", {"content": self.content})


@asynccontextmanager
async def opened(page: Page) -> AsyncIterator[ClientToolServer]:
    with TemporaryDirectory() as parent, anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            one = await ClientToolServer.open(SocketDirectory(Path(parent)), page.called, tasks)
            await one.offer([CARD], 0)
            yield one
            await one.aclose()
            assert os.listdir(parent) == [], "nothing is left"
            tasks.cancel_scope.cancel()


class Heard:
    def __init__(self) -> None:
        self.changed = anyio.Event()


@asynccontextmanager
async def client(one: ClientToolServer, heard: Heard | None = None) -> AsyncIterator[ClientSession]:
    """As an agent reaches it."""
    entry = one.entry(SERVER, typed=False)
    env = {each["name"]: each["value"] for each in entry["env"]}
    server = StdioServerParameters(command=entry["command"], args=entry["args"], env=env)

    async def hear(message: Any) -> None:
        if heard is not None and isinstance(message, mcp.ToolListChangedNotification):
            heard.changed.set()

    async with stdio_client(server) as (read, write), ClientSession(read, write, message_handler=hear) as session:
        await session.initialize()
        yield session


async def test_the_official_client_lists_and_calls_them() -> None:
    page = Page()
    page.content = [{"type": "text", "text": "see"}, {"type": "image", "source": IMAGE}]
    async with opened(page) as one, client(one) as session:
        assert session.protocol_version == "2025-11-25"
        [tool] = (await session.list_tools()).tools
        assert (tool.name, tool.description) == ("show_card_", "Shows a card.")
        result = await session.call_tool("show_card_", {"title": "Tea"})
        assert isinstance(result, mcp.CallToolResult)
        assert [type(block) for block in result.content] == [mcp.TextContent, mcp.ImageContent]
        assert page.calls[0].arguments == {"title": "Tea"}
        await session.send_ping()


IMAGE = {"type": "data", "value": "aGk=", "mimeType": "image/png"}


async def test_it_is_told_when_they_are_others() -> None:
    heard = Heard()
    async with opened(Page()) as one, client(one, heard) as session:
        await session.list_tools()
        assert await one.offer([OTHER], 0.01) is False, "it was told, and has not asked"
        await heard.changed.wait()
        assert [tool.name for tool in (await session.list_tools()).tools] == ["other"]
        result = await session.call_tool("show_card_", {})
        assert isinstance(result, mcp.CallToolResult)
        assert result.is_error, "it is offered no more"
        assert await one.offer([], 0.01) is True, "fewer are not waited for"


async def test_a_call_that_takes_its_time_is_told_to_be_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "PROGRESS_INTERVAL_SECONDS", 0.02)
    page, told = Page(), anyio.Event()
    page.holds = True

    async def progress(*args: Any) -> None:
        told.set()

    async with opened(page) as one, client(one) as session, anyio.create_task_group() as tasks:
        tasks.start_soon(partial(session.call_tool, "show_card_", {}, progress_callback=progress))
        await told.wait()
        tasks.cancel_scope.cancel()  # the client calls it off
    await page.given_up.wait()


async def test_who_does_not_know_the_secret_is_told_nothing() -> None:
    page = Page()
    async with opened(page) as one:
        *command, path = one.entry(SERVER, typed=False)["args"]
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        run = [sys.executable, *command, path]
        env = {"AGUI_TOOLS_SECRET": "x" * 43}
        guess = await anyio.run_process(run, input=b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n', env=env)
        assert guess.stdout == b""


async def test_the_shim_says_when_there_is_nobody(tmp_path: Path) -> None:
    run = [sys.executable, "-I", "-S", str(server.SHIM), str(tmp_path / "gone")]
    gone = await anyio.run_process(run, check=False, stderr=subprocess.PIPE)
    assert gone.returncode == 1
    assert b"no longer served" in gone.stderr


async def test_the_shim_imports_nothing_that_is_slow() -> None:
    code = f"import sys; sys.path.insert(0, {str(server.SHIM.parent)!r}); import shim; print(*sys.modules)"
    listed = await anyio.run_process([sys.executable, "-I", "-S", "-c", code])
    assert not {b"gateway", b"asyncio", b"socket", b"json", b"typing"} & set(listed.stdout.split())


async def test_the_gateways_own_server_can_be_told_from_others() -> None:
    async with opened(Page()) as one:
        assert is_gateway_server(one.entry(SERVER, typed=True))
        assert not is_gateway_server({"name": SERVER, "command": "x", "args": [], "env": []})


def test_a_folder_that_is_in_use_is_not_swept_and_one_that_was_left_is(tmp_path: Path) -> None:
    mine, other = SocketDirectory(tmp_path), SocketDirectory(tmp_path)
    path = mine.new_path()
    (tmp_path / f"{PREFIX}left").mkdir()
    (tmp_path / "foreign").mkdir()
    other.remove_stale()
    assert sorted(os.listdir(tmp_path)) == sorted([path.parent.name, "foreign"])
    mine.release(path)
    assert os.listdir(tmp_path) == ["foreign"]
