"""Delegating base class for wrappers of a `LiveTurn`: a subclass overrides what it adds to."""

from __future__ import annotations

from collections.abc import Mapping

from gateway.drivers import LiveTurn
from gateway.events import Event
from gateway.turn import Answer


class TurnWrapper:
    def __init__(self, live: LiveTurn) -> None:
        self._live = live

    async def next(self) -> list[Event]:
        return await self._live.next()

    async def answer(self, answers: Mapping[str, Answer]) -> None:
        await self._live.answer(answers)

    async def steer(self, message_id: str, text: str) -> bool:
        return await self._live.steer(message_id, text)

    async def cancel(self) -> None:
        await self._live.cancel()

    async def aclose(self) -> None:
        await self._live.aclose()
