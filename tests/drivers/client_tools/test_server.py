"""The client tools of a session at their socket, reached as agents do: the official MCP client starts the shim."""

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


class Client:
    """Answers the calls."""

    def __init__(self) -> None:
        self.calls: list[ToolCall] = []
        self.cancelled = anyio.Event()
        self.content: Any = "shown"
        self.never_answers = False

    async def handle_call(self, call: ToolCall) -> Answer:
        self.calls.append(call)
        try:
            if self.never_answers:
                await anyio.sleep_forever()
        except BaseException:
            self.cancelled.set()
            raise
        return Answer("c", "resolved", {"content": self.content})


@asynccontextmanager
async def open_server(page: Client) -> AsyncIterator[ClientToolServer]:
    with TemporaryDirectory() as parent, anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            tool_server = await ClientToolServer.open(SocketDirectory(Path(parent)), page.handle_call, tasks)
            await tool_server.offer([CARD], 0)
            yield tool_server
            await tool_server.aclose()
            assert os.listdir(parent) == [], "no file remains"
            tasks.cancel_scope.cancel()


class Notices:
    def __init__(self) -> None:
        self.changed = anyio.Event()


@asynccontextmanager
async def client(tool_server: ClientToolServer, notices: Notices | None = None) -> AsyncIterator[ClientSession]:
    """The connection of an agent."""
    entry = tool_server.entry(SERVER, typed=False)
    env = {each["name"]: each["value"] for each in entry["env"]}
    server = StdioServerParameters(command=entry["command"], args=entry["args"], env=env)

    async def read_message(message: Any) -> None:
        if notices is not None and isinstance(message, mcp.ToolListChangedNotification):
            notices.changed.set()

    async with (
        stdio_client(server) as (read, write),
        ClientSession(read, write, message_handler=read_message) as session,
    ):
        await session.initialize()
        yield session


async def test_the_official_client_lists_and_calls_them() -> None:
    page = Client()
    page.content = [{"type": "text", "text": "see"}, {"type": "image", "source": IMAGE}]
    async with open_server(page) as tool_server, client(tool_server) as session:
        assert session.protocol_version == "2025-11-25"
        [tool] = (await session.list_tools()).tools
        assert (tool.name, tool.description) == ("show_card_", "Shows a card.")
        result = await session.call_tool("show_card_", {"title": "Tea"})
        assert isinstance(result, mcp.CallToolResult)
        assert [type(block) for block in result.content] == [mcp.TextContent, mcp.ImageContent]
        assert page.calls[0].arguments == {"title": "Tea"}
        await session.send_ping()


IMAGE = {"type": "data", "value": "aGk=", "mimeType": "image/png"}


async def test_the_agent_is_notified_of_changed_tools() -> None:
    notices = Notices()
    async with open_server(Client()) as tool_server, client(tool_server, notices) as session:
        await session.list_tools()
        assert await tool_server.offer([OTHER], 0.01) is False, "it was notified, and has not listed them"
        await notices.changed.wait()
        assert [tool.name for tool in (await session.list_tools()).tools] == ["other"]
        result = await session.call_tool("show_card_", {})
        assert isinstance(result, mcp.CallToolResult)
        assert result.is_error, "the tool is no longer offered"
        assert await tool_server.offer([], 0.01) is True, "fewer are not waited for"


async def test_a_call_that_takes_long_sends_progress(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "PROGRESS_INTERVAL_SECONDS", 0.02)
    page, progressed = Client(), anyio.Event()
    page.never_answers = True

    async def progress(*args: Any) -> None:
        progressed.set()

    async with open_server(page) as tool_server, client(tool_server) as session, anyio.create_task_group() as tasks:
        tasks.start_soon(partial(session.call_tool, "show_card_", {}, progress_callback=progress))
        await progressed.wait()
        tasks.cancel_scope.cancel()  # the client cancels it
    await page.cancelled.wait()


async def test_a_process_without_the_secret_gets_nothing() -> None:
    page = Client()
    async with open_server(page) as tool_server:
        *command, path = tool_server.entry(SERVER, typed=False)["args"]
        assert stat.S_IMODE(os.stat(path).st_mode) == 0o600
        run = [sys.executable, *command, path]
        env = {"AGUI_TOOLS_SECRET": "x" * 43}
        result = await anyio.run_process(run, input=b'{"jsonrpc":"2.0","id":1,"method":"tools/list"}\n', env=env)
        assert result.stdout == b""


async def test_the_shim_reports_that_the_gateway_is_gone(tmp_path: Path) -> None:
    run = [sys.executable, "-I", "-S", str(server.SHIM), str(tmp_path / "gone")]
    result = await anyio.run_process(run, check=False, stderr=subprocess.PIPE)
    assert result.returncode == 1
    assert b"no longer served" in result.stderr


async def test_the_shim_imports_no_slow_module() -> None:
    code = f"import sys; sys.path.insert(0, {str(server.SHIM.parent)!r}); import shim; print(*sys.modules)"
    modules = await anyio.run_process([sys.executable, "-I", "-S", "-c", code])
    assert not {b"gateway", b"asyncio", b"socket", b"json", b"typing"} & set(modules.stdout.split())


async def test_the_gateways_own_server_can_be_recognized() -> None:
    async with open_server(Client()) as tool_server:
        assert is_gateway_server(tool_server.entry(SERVER, typed=True))
        assert not is_gateway_server({"name": SERVER, "command": "x", "args": [], "env": []})


def test_a_directory_in_use_stays_and_a_stale_one_is_removed(tmp_path: Path) -> None:
    own, other = SocketDirectory(tmp_path), SocketDirectory(tmp_path)
    path = own.new_path()
    (tmp_path / f"{PREFIX}left").mkdir()
    (tmp_path / "foreign").mkdir()
    other.remove_stale()
    assert sorted(os.listdir(tmp_path)) == sorted([path.parent.name, "foreign"])
    own.release(path)
    assert os.listdir(tmp_path) == ["foreign"]
