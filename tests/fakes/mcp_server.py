"""An MCP server by the official SDK, run as a real process, and several ways to misbehave.

--http, --sse     listens on a free loopback port and prints its URL; else stdio
--modern          stdio: supports only the newer protocol
--tools=N         has N tools; --page=N: lists N at a time
--more=FILE       has the tools named in the file, too, and announces changes to its clients
--note=FILE       writes its process id there, every listing and every announcement
--secret=NAME     requires this header; answers 401 without it
--hang            reads, and never answers; --crash: exits with an error; --die=FILE: exits when the file exists
--flood           writes without end; --noise: prints a greeting on stdout, and works all the same
--child           starts a process, which ignores SIGTERM
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


def serve_agent() -> None:
    """Without the SDK, for an agent that needs only an answer."""
    initialization_options = {
        "protocolVersion": "2025-06-18",
        "capabilities": {"tools": {}},
        "serverInfo": {"name": "", "version": ""},
    }
    answers: dict[str, Any] = {"initialize": initialization_options, "tools/list": {"tools": []}}
    for line in sys.stdin:
        message = json.loads(line)
        if "id" in message:
            result = answers.get(message["method"], {"content": []})
            print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


def misbehave() -> None:
    """Before the SDK is imported, which takes a second."""
    if "child" in FLAGS:
        subprocess.Popen([sys.executable, "-S", "-c", STUBBORN, FLAGS.get("note", "")])
    if "crash" in FLAGS:
        sys.exit(f"the cellar is flooded, reports {os.environ.get('WHO', 'an unknown user')}")
    while "hang" in FLAGS:
        if not sys.stdin.readline():
            sys.exit()
    while "flood" in FLAGS:
        sys.stdout.write('{"jsonrpc": "2.0", "method": "notifications/message", "params": {}}\n' * 1000)
    if "noise" in FLAGS:
        print("Welcome! This line should have gone to stderr.", flush=True)


def die_if_file_exists() -> None:
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
        page, all_names = names()[start : start + size], names()
        tools = [types.Tool(name=name, description=f"{name}, as a test", input_schema=SCHEMA) for name in page]
        next_cursor = str(start + size) if start + size < len(all_names) else None
        return types.ListToolsResult(tools=tools, next_cursor=next_cursor)

    async def watch_for_ever(self, bus: Any) -> None:
        import anyio

        known = names()
        while True:
            await anyio.sleep(TICK)
            die_if_file_exists()
            if names() != known:
                known = names()
                note(f"announced {time.time()}")
                await self.announce(bus)

    async def announce(self, bus: Any) -> None:
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
        tasks.start_soon(fake.watch_for_ever, bus)
        await (over_http(server) if FLAGS.keys() & {"http", "sse"} else over_stdio(server))
        tasks.cancel_scope.cancel()


def initialization_options(server: Any) -> Any:
    from mcp.server.lowlevel.server import NotificationOptions

    return server.create_initialization_options(NotificationOptions(tools_changed=True))


async def over_stdio(server: Any) -> None:
    import anyio
    from mcp.server.stdio import stdio_server

    async with stdio_server() as (read, write), anyio.create_task_group() as tasks:
        streams_in = read
        if "modern" in FLAGS:
            passed, streams_in = anyio.create_memory_object_stream[Any](0)
            tasks.start_soon(refuse_to_initialize, read, write, passed)
        await server.run(streams_in, write, initialization_options(server))
        tasks.cancel_scope.cancel()


async def refuse_to_initialize(read: Any, write: Any, passed: Any) -> None:
    from mcp.shared.message import SessionMessage
    from mcp_types import ErrorData, JSONRPCError

    async with passed:
        async for message in read:
            if getattr(message.message, "method", None) != "initialize":
                await passed.send(message)
                continue
            error = JSONRPCError(jsonrpc="2.0", id=message.message.id, error=ErrorData.model_validate(TOO_OLD))
            await write.send(SessionMessage(error))


async def over_http(server: Any) -> None:
    import uvicorn

    app = over_sse(server) if "sse" in FLAGS else server.streamable_http_app()
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        listener.listen()  # before the URL is printed: a client may connect at once
        print(f"http://127.0.0.1:{listener.getsockname()[1]}/{'sse' if 'sse' in FLAGS else 'mcp'}", flush=True)
        config = uvicorn.Config(require_secret(app), log_level="critical", timeout_graceful_shutdown=1)
        await uvicorn.Server(config).serve([listener])


def over_sse(server: Any) -> Any:
    from mcp.server.sse import SseServerTransport
    from starlette.applications import Starlette
    from starlette.responses import Response
    from starlette.routing import Mount, Route

    transport = SseServerTransport("/messages/")

    async def stream(request: Any) -> Response:
        async with transport.connect_sse(request.scope, request.receive, request._send) as (read, write):
            await server.run(read, write, initialization_options(server))
        return Response()

    return Starlette(routes=[Route("/sse", stream), Mount("/messages/", transport.handle_post_message)])


def require_secret(app: Any) -> Any:
    async def guard(scope: Any, receive: Any, send: Any) -> None:
        secret = FLAGS.get("secret")
        if scope["type"] == "http" and secret and secret.encode() not in dict(scope["headers"]):
            await send({"type": "http.response.start", "status": 401, "headers": []})
            await send({"type": "http.response.body", "body": b"no"})
        else:
            await app(scope, receive, send)

    return guard


if __name__ == "__main__":
    if "FOR_THE_AGENT" in os.environ:
        serve_agent()
    else:
        note(f"pid {os.getpid()}")
        misbehave()
        asyncio.run(main())
