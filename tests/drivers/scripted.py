"""A turn of an agent that is a function, without a gateway around it."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import anyio

from gateway.drivers.python.driver import PythonTurn
from gateway.events import Event, Interrupt, InterruptRequested
from gateway.turn import Turn

LIMIT = 10.0
TURN = Turn("t", "r")
INTERRUPT = InterruptRequested((Interrupt("q", "why"),))


@asynccontextmanager
async def live(agent: Any) -> AsyncIterator[PythonTurn]:
    with anyio.fail_after(LIMIT):
        turn = PythonTurn(agent, TURN).start()
        try:
            yield turn
        finally:
            await turn.aclose()


async def rest(turn: PythonTurn) -> list[Event]:
    found: list[Event] = []
    while batch := await turn.next():
        found += batch
    return found


async def played(agent: Any) -> list[Event]:
    async with live(agent) as turn:
        return await rest(turn)
