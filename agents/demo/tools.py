"""Scenes with the agent's own tools: one call, and two at once."""

from __future__ import annotations

from collections.abc import AsyncIterator
from itertools import zip_longest

from anyio.lowlevel import checkpoint

from gateway import Event, ToolCallArgs, ToolCallEnd, ToolCallResult, ToolCallStart, Turn

from .streams import call, cut_arguments, say

WEATHER = {"Oslo": "snow, -3 °C", "Lisbon": "sun, 24 °C", "Reykjavík": "wind, 5 °C"}


def weather(city: str) -> str:
    """The result of the tool `get_weather`."""
    return f"{city}: {WEATHER[city]}"


async def tool(turn: Turn) -> AsyncIterator[Event]:
    id_ = f"{turn.run_id}-weather"
    async for event in say("Let me look out of the window in Oslo."):
        yield event
    async for event in call(id_, "get_weather", {"city": "Oslo"}):
        yield event
    yield ToolCallResult(id_, weather("Oslo"))
    async for event in say(f"In Oslo it is {WEATHER['Oslo']}. At least in my imagination: take a coat anyway."):
        yield event


async def tools(turn: Turn) -> AsyncIterator[Event]:
    cities = {f"{turn.run_id}-{city.lower()}": city for city in ("Oslo", "Lisbon")}
    async for event in say("Two cities, two calls, both at once."):
        yield event
    async for event in _call_in_parallel(cities):
        yield event
    for id_, city in cities.items():
        yield ToolCallResult(id_, weather(city))
        await checkpoint()
    async for event in say(f"Oslo has {WEATHER['Oslo']}, Lisbon has {WEATHER['Lisbon']}. I know where I would go."):
        yield event


async def _call_in_parallel(cities: dict[str, str]) -> AsyncIterator[Event]:
    """Pieces of the two calls' arguments alternate; a client must assign them by id."""
    for id_ in cities:
        yield ToolCallStart(id_, "get_weather")
    for row in zip_longest(*(cut_arguments({"city": city}) for city in cities.values())):
        for id_, piece in zip(cities, row, strict=True):
            if piece is not None:
                yield ToolCallArgs(id_, piece)
        await checkpoint()
    for id_ in cities:
        yield ToolCallEnd(id_)
