"""Scenes of how a run ends: with a bill, with an error that the agent tells, with one that it does not."""

from __future__ import annotations

from collections.abc import AsyncIterator

from gateway.events import Broke, Event, TextDelta, Used
from gateway.turn import Turn

from .voice import say


async def usage(turn: Turn) -> AsyncIterator[Event]:
    """By AG-UI's accounting the totals include their parts: cached tokens are input, reasoning is output."""
    async for event in say("Here is the bill: the run's last event has the tokens of two models. I made them up."):
        yield event
    yield Used("demo", "demo-large", 1200, 340, 1540, reasoning_tokens=120, cached_input_tokens=800)
    yield Used("demo", "demo-small", 300, 45, 345)


async def error(turn: Turn) -> AsyncIterator[Event]:
    yield TextDelta("So far, so good. But now …")
    yield Broke("This is the error you asked for. Nothing is wrong.", "DEMO_ERROR")


async def crash(turn: Turn) -> AsyncIterator[Event]:
    """Nobody closes the message: whatever is open when an agent falls is the gateway's to close."""
    yield TextDelta("Watch out, I am about to …")
    raise RuntimeError("this is the crash you asked for")
