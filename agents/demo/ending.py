"""Scenes of how a run ends: with a bill, with an error that the agent tells, with one that it does not."""

from __future__ import annotations

from collections.abc import AsyncIterator

from gateway.events import Event, TextMessageContent, TokenUsage, TurnFailed
from gateway.turn import Turn

from .voice import say


async def usage(turn: Turn) -> AsyncIterator[Event]:
    """By AG-UI's accounting the totals include their parts: cached tokens are input, reasoning is output."""
    async for event in say("Here is the bill: the run's last event has the tokens of two models. I made them up."):
        yield event
    yield TokenUsage("demo", "demo-large", 1200, 340, 1540, reasoning_tokens=120, cached_input_tokens=800)
    yield TokenUsage("demo", "demo-small", 300, 45, 345)


async def error(turn: Turn) -> AsyncIterator[Event]:
    yield TextMessageContent("So far, so good. But now …")
    yield TurnFailed("This is the error you asked for. Nothing is wrong.", "DEMO_ERROR")


async def crash(turn: Turn) -> AsyncIterator[Event]:
    """Nobody closes the message: whatever is open when an agent falls is the gateway's to close."""
    yield TextMessageContent("Watch out, I am about to …")
    raise RuntimeError("this is the crash you asked for")
