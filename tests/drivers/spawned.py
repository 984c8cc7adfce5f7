"""Fake agents, started as a driver starts them."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio

from gateway.drivers.process.process import Process, spawn
from tests.drivers.process_watch import FAKES, LIMIT, child

LOOPS: list[tuple[str, dict[str, Any]]] = [("asyncio", {"use_uvloop": False}), ("asyncio", {"use_uvloop": True})]
LOOP_NAMES = ["asyncio", "uvloop"]


@asynccontextmanager
async def start(mode: str, *arguments: str | int, **env: str) -> AsyncIterator[Process]:
    """One for the length of a block, everything in it bounded."""
    async with anyio.create_task_group() as tasks:
        with anyio.fail_after(LIMIT):
            process = await spawn(child(mode, *arguments), cwd=FAKES, env=dict(os.environ) | env, tasks=tasks)
            async with process:
                yield process


async def read_line(process: Process) -> bytes:
    """A line that comes alone."""
    data = b""
    while not data.endswith(b"\n"):
        more = await process.read()
        assert more, process.died()
        data += more
    return data


async def read_all(process: Process) -> bytes:
    data = bytearray()
    while more := await process.read():
        data += more
    return bytes(data)
