"""An MCP server by the official SDK, run as a real process; and ways to be a bad one.

--http, --sse     on a free port of loopback, whose URL it prints; else stdio
--modern          stdio: knows only the newer protocol
--tools=N         has so many tools; --page=N: lists so many at a time
--more=FILE       has the tools that the file names, too, and tells its clients when they are others
--note=FILE       notes its process id there, every listing and every word to its clients
--secret=NAME     wants this variable, or header; dies, or refuses, with the words of what it has instead
--hang            reads, and never answers; --crash: dies with a word; --die=FILE: when the file is there
--flood           writes without end; --noise: greets on stdout, and works all the same
--child           has a process of its own, which ignores SIGTERM
"""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

FLAGS = dict(flag.lstrip("-").partition("=")[::2] for flag in sys.argv[1:])
TICK = 0.01
SCHEMA = {"type": "object", "properties": {"a": {"type": "integer"}, "b": {"type": "integer"}}, "required": ["a", "b"]}
STUBBORN = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(600)"
TOO_OLD = {"code": -32022, "message": "Unsupported", "data": {"supported": ["2026-07-28"], "requested": "2025-11-25"}}


def note(line: str) -> None:
    if "note" in FLAGS:
        with Path(FLAGS["note"]).open("a") as file:
            file.write(f"{line}\n")


def serve_the_agent() -> None:
    """By hand, for whoever needs no more than an answer."""
    about = {"protocolVersion": "2025-06-18", "capabilities": {"tools": {}}, "serverInfo": {"name": "", "version": ""}}
    answers: dict[str, Any] = {"initialize": about, "tools/list": {"tools": []}}
    for line in sys.stdin:
        asked = json.loads(line)
        if "id" in asked:
            result = answers.get(asked["method"], {"content": []})
            print(json.dumps({"jsonrpc": "2.0", "id": asked["id"], "result": result}), flush=True)


def misbehave() -> None:
    """Before the SDK is imported, which takes a second."""
    if "child" in FLAGS:
        subprocess.Popen([sys.executable, "-S", "-c", STUBBORN, FLAGS.get("note", "")])
    if "crash" in FLAGS:
        sys.exit(f"the cellar is flooded, says {os.environ.get('WHO', 'nobody')}")
    while "hang" in FLAGS:
        if not sys.stdin.readline():
            sys.exit()
    while "flood" in FLAGS:
        sys.stdout.write('{"jsonrpc": "2.0", "method": "notifications/message", "params": {}}\n' * 1000)
    if "noise" in FLAGS:
        print("Welcome! This line should have gone to stderr.", flush=True)


def die_if_told() -> None:
    if "die" in FLAGS and Path(FLAGS["die"]).exists():
        os.write(2, b"that was it\n")
        os._exit(3)


def names() -> list[str]:
    more = Path(FLAGS["more"]) if "more" in FLAGS else None
    extra = more.read_text().split() if more is not None and more.exists() else []
    return ["add", *(f"tool{number}" for number in range(1, int(FLAGS.get("tools", 1)))), *extra]


class Fake:
    def __init__(self) -> None:
        self.sessions: list[Any] = []

    async def list_tools(self, context: Any, params: Any) -> Any:
        import mcp_types as types

        if not any(session is context.session for session in self.sessions):
            self.sessions.append(context.session)
        note("listed")
        start, size = int((params and params.cursor) or 0), int(FLAGS.get("page", 1_000_000))
        found, all_names = names()[start : start + size], names()
        described = [types.Tool(name=name, description=f"{name}, as a test", input_schema=SCHEMA) for name in found]
        rest = str(start + size) if start + size < len(all_names) else None
        return types.ListToolsResult(tools=described, next_cursor=rest)

    async def tell_for_ever(self, bus: Any) -> None:
        import anyio

        known = names()
        while True:
            await anyio.sleep(TICK)
            die_if_told()
            if names() != known:
                known = names()
                note(f"told {time.time()}")
                await self.tell(bus)

    async def tell(self, bus: Any) -> None:
        from mcp.shared.subscriptions import ToolsListChanged

        await bus.publish(ToolsListChanged())
        for session in list(self.sessions):
            await session.send_tool_list_changed()


async def main() -> None:
    import anyio
    from mcp.server.lowlevel.server import Server
    from mcp.server.subscriptions import InMemorySubscriptionBus, ListenHandler

    fake, bus = Fake(), InMemorySubscriptionBus()
    server: Any = Server("fake", on_list_tools=fake.list_tools, on_subscriptions_listen=ListenHandler(bus))
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(fake.tell_for_ever, bus)
        await (over_http(server) if FLAGS.keys() & {"http", "sse"} else over_stdio(server))
        tasks.cancel_scope.cancel()


def about(server: Any) -> Any:
    from mcp.server.lowlevel.server import NotificationOptions

    return server.create_initialization_options(NotificationOptions(tools_changed=True))


async def over_stdio(server: Any) -> None:
    import anyio
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write), anyio.create_task_group() as tasks:
        given = read
        if "modern" in FLAGS:
            passed, given = anyio.create_memory_object_stream[Any](0)
            tasks.start_soon(refuse_to_initialize, read, write, passed)
        await server.run(given, write, about(server))
        tasks.cancel_scope.cancel()


async def refuse_to_initialize(read: Any, write: Any, passed: Any) -> None:
    from mcp.shared.message import SessionMessage
    from mcp_types import ErrorData, JSONRPCError

    async with passed:
        async for told in read:
            if getattr(told.message, "method", None) != "initialize":
                await passed.send(told)
                continue
            error = JSONRPCError(jsonrpc="2.0", id=told.message.id, error=ErrorData.model_validate(TOO_OLD))
            await write.send(SessionMessage(error))


async def over_http(server: Any) -> None:
    import uvicorn

    app = over_sse(server) if "sse" in FLAGS else server.streamable_http_app()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()  # before the URL is printed: a client may connect at once
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/{'sse' if 'sse' in FLAGS else 'mcp'}", flush=True)
        config = uvicorn.Config(guarded(app), log_level="critical", timeout_graceful_shutdown=1)
        await uvicorn.Server(config).serve([listener])


def over_sse(server: Any) -> Any:
    from mcp.server.sse import SseServerTransport
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Mount, Route

    transport = SseServerTransport("/messages/")

    async def stream(request: Any) -> Response:
        async with transport.connect_sse(request.scope, request.receive, request._send) as (read, write):
            await server.run(read, write, about(server))
        return Response()

    return Starlette(routes=[Route("/sse", stream), Mount("/messages/", transport.handle_post_message)])


def guarded(app: Any) -> Any:
    async def guard(scope: Any, receive: Any, send: Any) -> None:
        wanted = FLAGS.get("secret")
        if scope["type"] == "http" and wanted and wanted.encode() not in dict(scope["headers"]):
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"no"})
        else:
            await app(scope, receive, send)

    return guard


if __name__ == "__main__":
    if "FOR_THE_AGENT" in os.environ:
        serve_the_agent()
    else:
        note(f"pid {os.getpid()}")
        misbehave()
        asyncio.run(main())
