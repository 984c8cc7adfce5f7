"""Scenes about the end of a run: with token usage, with an error that the agent reports, with an exception."""

from __future__ import annotations

from collections.abc import AsyncIterator

from gateway import Event, TextMessageContent, TokenUsage, Turn, TurnFailed

from .streams import say


async def usage(turn: Turn) -> AsyncIterator[Event]:
    """By AG-UI's accounting the totals include their parts: cached tokens are input, reasoning is output."""
    async for event in say(
        "Here is the bill: the run's last event has the token counts of two models. I made them up."
    ):
        yield event
    yield TokenUsage("demo", "demo-large", 1200, 340, 1540, reasoning_tokens=120, cached_input_tokens=800)
    yield TokenUsage("demo", "demo-small", 300, 45, 345)


async def error(turn: Turn) -> AsyncIterator[Event]:
    yield TextMessageContent("So far, so good. But now …")
    yield TurnFailed("This is the error you asked for. Nothing is wrong.", "DEMO_ERROR")


async def crash(turn: Turn) -> AsyncIterator[Event]:
    """The message stays open here: the gateway closes what is open when an agent fails."""
    yield TextMessageContent("Watch out, I am about to …")
    raise RuntimeError("this is the crash you asked for")
