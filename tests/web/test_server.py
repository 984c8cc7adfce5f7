"""The server lives as long as what it serves: without its ground it ends, and says so."""

from __future__ import annotations

import socket
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from types import SimpleNamespace

import anyio
import pytest
from starlette.applications import Starlette

from gateway.errors import GatewayError
from gateway.settings import Settings
from gateway.web.server import GatewayServer


async def nothing() -> None:
    return None


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_a_server_whose_ground_is_gone_stops_instead_of_answering_on() -> None:
    ready = anyio.Event()

    @asynccontextmanager
    async def lifespan(app: Starlette) -> AsyncIterator[None]:
        app.state.gateway = SimpleNamespace(drain=nothing)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(falls, ready)
            yield

    with socket.create_server(("127.0.0.1", 0)) as sock:
        serving = GatewayServer(Starlette(lifespan=lifespan), Settings(store="memory:"), ready.set)
        with pytest.raises(GatewayError, match="the gateway itself failed"):
            serving.run(sock)


async def falls(ready: anyio.Event) -> None:
    await ready.wait()
    raise RuntimeError("what nobody thought of")
