"""A scene with a subagent that has messages, steps and a tool call of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator

from gateway import Event, StepFinished, StepStarted, SubagentFinished, SubagentStarted, ToolCallResult, Turn

from .streams import call, say
from .tools import WEATHER, weather

CITY = "Reykjavík"


async def subagent(turn: Turn) -> AsyncIterator[Event]:
    id_ = f"{turn.run_id}-scout"
    yield StepStarted("delegate")
    yield SubagentStarted(id_, "scout", f"Finds out what {CITY} is like today")
    async for event in _scout(id_):
        yield event
    yield SubagentFinished(id_, {"city": CITY, "weather": WEATHER[CITY]})
    yield StepFinished("delegate")
    async for event in say(f"My scout is back from {CITY}: {WEATHER[CITY]}. All it did carries its own id."):
        yield event


async def _scout(id_: str) -> AsyncIterator[Event]:
    """The subagent's events, each tagged with its id."""
    yield StepStarted("explore", id_)
    async for event in say(f"Off to {CITY}!", id_):
        yield event
    yield StepStarted("look up", id_)
    async for event in call(f"{id_}-weather", "get_weather", {"city": CITY}, id_):
        yield event
    yield ToolCallResult(f"{id_}-weather", weather(CITY), subagent=id_)
    yield StepFinished("look up", id_)
    async for event in say("Windy, but lovely.", id_):
        yield event
    yield StepFinished("explore", id_)
