"""An MCP server as a process of the gateway's own: its pipes as the SDK's streams.

In: how it is started. Out: a pair of streams for a session. It is started as an agent starts one: in the session's
folder, with a trimmed environment and its own variables over it. It ends with the connection, all that it started too,
and does not outlive the gateway (`drivers.process.process`). What it prints beside messages is passed over.
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

from gateway.drivers.environment import trimmed
from gateway.drivers.mcp_client.byte_budget import MESSAGE, Budget
from gateway.drivers.mcp_client.server_config import Server, Unusable
from gateway.drivers.mcp_client.tool_list import cut
from gateway.drivers.process.process import Process, spawn
from gateway.errors import AgentFault
from gateway.wire.lines import Lines, TooLong

SHOWN = 200
"""Characters of stderr's last line in a reason."""

WANTED = frozenset(
    f"notifications/{about}" for about in ("tools/list_changed", "subscriptions/acknowledged", "cancelled")
)
"""What a server tells unasked, and a session here needs."""

Heard: TypeAlias = SessionMessage | Exception
Streams: TypeAlias = tuple[MemoryObjectReceiveStream[Heard], MemoryObjectSendStream[SessionMessage]]


@asynccontextmanager
async def over_stdio(server: Server, budget: Budget) -> AsyncIterator[Streams]:
    """Raises `Unusable` when it cannot be started, dies or floods."""
    env = trimmed((), dict(server.env), os.environ)
    to_session, from_server = anyio.create_memory_object_stream[Heard](0)
    to_server, from_session = anyio.create_memory_object_stream[SessionMessage](0)
    async with anyio.create_task_group() as tasks, to_session, from_server, to_server, from_session:
        try:
            process = await spawn(server.command, cwd=server.cwd, env=env, tasks=tasks)
        except AgentFault as exc:
            raise Unusable(exc.detail) from exc
        tasks.start_soon(_hear, process, to_session, budget)
        tasks.start_soon(_tell, process, from_session)
        try:
            yield from_server, to_server
        finally:
            tasks.cancel_scope.cancel()  # the process is stopped in order before the group ends


async def _hear(process: Process, session: MemoryObjectSendStream[Heard], budget: Budget) -> None:
    """The streams stay open when it has died, so that its own end, and not a closed stream, is the reason told."""
    lines = Lines(MESSAGE)
    while data := await process.read():
        budget.spend(data)
        for line in lines.feed(data):
            if isinstance(line, TooLong):
                raise Unusable(f"it sent a message of more than {MESSAGE // 2**20} MiB")
            if (message := _read(line)) is not None:
                await session.send(SessionMessage(message))
    raise Unusable(_end(process))


def _read(line: bytes) -> JSONRPCMessage | None:
    """None: it is none, for some print their greetings there, or nobody here needs it, as progress and logs."""
    try:
        told = orjson.loads(line)
        if not isinstance(told, dict) or ("id" not in told and told.get("method") not in WANTED):
            return None
        return jsonrpc_message_adapter.validate_python(cut(told), by_name=False)
    except ValueError:
        return None


async def _tell(process: Process, session: MemoryObjectReceiveStream[SessionMessage]) -> None:
    async for told in session:
        line = told.message.model_dump_json(by_alias=True, exclude_unset=True)
        try:
            await process.write(line.encode() + b"\n")
        except AgentFault:
            return  # it reads no more; its end is told by whoever listens to it


def _end(process: Process) -> str:
    code, tail = process.exit_code, process.stderr_tail()
    how = "closed its stdout" if code is None else f"exited with code {code}"
    if code is not None and code < 0:
        how = f"was ended by signal {-code}"
    return f"it {how}" + (f": {tail.splitlines()[-1][:SHOWN]}" if tail else "")
