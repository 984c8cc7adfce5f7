"""An MCP server as a process of the gateway: its pipes as the SDK's streams.

In: how it is started. Out: a pair of streams for a session. It is started as an agent starts it: in the session's
directory, with a trimmed environment and its own variables over it. It ends with the connection, together with all that
it started, and does not outlive the gateway (`drivers.process`). Output that is no message is ignored.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import TypeAlias

import anyio
import orjson
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.shared.message import SessionMessage
from mcp_types import JSONRPCMessage, jsonrpc_message_adapter

from gateway.drivers.environment import agent_environment
from gateway.drivers.mcp_client.byte_budget import MAX_MESSAGE_BYTES, ByteBudget
from gateway.drivers.mcp_client.server_config import ServerConfig, ServerUnusable
from gateway.drivers.mcp_client.tool_list import truncate_page
from gateway.drivers.process import Process
from gateway.drivers.sandbox.launch import Program, start_program
from gateway.errors import AgentFault
from gateway.wire.lines import Lines, TooLong

MAX_STDERR_LINE_CHARS = 200
"""Of stderr's last line in a reason."""

NOTIFICATIONS = frozenset(
    f"notifications/{name}" for name in ("tools/list_changed", "subscriptions/acknowledged", "cancelled")
)
"""The notifications of a server that a session here uses; the others (progress, logs) are dropped."""

Received: TypeAlias = SessionMessage | Exception
Streams: TypeAlias = tuple[MemoryObjectReceiveStream[Received], MemoryObjectSendStream[SessionMessage]]


@asynccontextmanager
async def open_stdio(server: ServerConfig, budget: ByteBudget) -> AsyncIterator[Streams]:
    """Raises `ServerUnusable` when the server cannot be started, dies or floods."""
    env = agent_environment((), dict(server.env), os.environ)
    to_session, from_server = anyio.create_memory_object_stream[Received](0)
    to_server, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks, to_session, from_server, to_server, from_session:
        try:
            program = Program(server.command, env, server.cwd, None, "an MCP server")
            process = await start_program(program, server.sandbox, tasks)
        except AgentFault as exc:
            raise ServerUnusable(exc.detail) from exc
        tasks.start_soon(_read_server, process, to_session, budget)
        tasks.start_soon(_write_server, process, from_session)
        try:
            yield from_server, to_server
        finally:
            tasks.cancel_scope.cancel()  # the process is stopped in order before the group ends


async def _read_server(process: Process, session: MemoryObjectSendStream[Received], budget: ByteBudget) -> None:
    """The streams stay open after the server's death, so that its exit, and not a closed stream, is the reason."""
    lines = Lines(MAX_MESSAGE_BYTES)
    while data := await process.read():
        budget.spend(data)
        for line in lines.feed(data):
            if isinstance(line, TooLong):
                raise ServerUnusable(f"it sent a message of more than {MAX_MESSAGE_BYTES // 2**20} MiB")
            if (message := _parse_line(line)) is not None:
                await session.send(SessionMessage(message))
    raise ServerUnusable(_describe_end(process))


def _parse_line(line: bytes) -> JSONRPCMessage | None:
    """None: the line is no message (some servers print a greeting), or a notification that is not used here."""
    try:
        message = orjson.loads(line)
        if not isinstance(message, dict) or ("id" not in message and message.get("method") not in NOTIFICATIONS):
            return None
        return jsonrpc_message_adapter.validate_python(truncate_page(message), by_name=False)
    except (TypeError, ValueError):  # TypeError: a `method` that cannot be hashed
        return None


async def _write_server(process: Process, session: MemoryObjectReceiveStream[SessionMessage]) -> None:
    async for message in session:
        line = message.message.model_dump_json(by_alias=True, exclude_unset=True)
        try:
            await process.write(line.encode() + b"\n")
        except AgentFault:
            return  # it reads no more; `_read_server` reports its end


def _describe_end(process: Process) -> str:
    code, tail = process.exit_code, process.stderr_tail()
    end = "closed its stdout" if code is None else f"exited with code {code}"
    if code is not None and code < 0:
        end = f"was ended by signal {-code}"
    return f"it {end}" + (f": {tail.splitlines()[-1][:MAX_STDERR_LINE_CHARS]}" if tail else "")
