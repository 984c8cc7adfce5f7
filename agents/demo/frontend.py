"""A scene with a tool of the page's own: the agent calls it, the run ends, the page does it and answers in a new run.

Arguments are made from the tool's JSON Schema: the least that it asks for. They never grow past the schema itself.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from gateway.events import Event, Json
from gateway.turn import Turn

from .voice import call, say

FAVOURITE = "change_background"
COLOR = "teal"
REPEATED_CHARS = 1_000
"""Of what a tool answered; it may have answered with a book."""


async def frontend(turn: Turn) -> AsyncIterator[Event]:
    tool = chosen(turn.tools)
    if tool is None:
        async for event in say("Your page offers no tools. Give the run a tool in `tools`, and I will call it."):
            yield event
        return
    async for event in say(f"Your page can do `{tool['name']}`. Over to you!"):
        yield event
    # No result follows: the call stays pending, and the page's next run brings the answer.
    async for event in call(f"{turn.run_id}-page", tool["name"], arguments_for(tool)):
        yield event


async def answered(turn: Turn) -> AsyncIterator[Event]:
    """The run after: what the page's tools gave back."""
    names = call_names(turn)
    for id_, result in turn.tool_results.items():
        async for event in say(f"`{names.get(id_, id_)}` answered: {result[:REPEATED_CHARS] or 'nothing'}"):
            yield event


def call_names(turn: Turn) -> dict[str, str]:
    """Tool call id → the tool's name, from the conversation."""
    calls = [call for message in turn.messages for call in message.get("toolCalls", ())]
    return {call["id"]: call["function"]["name"] for call in calls}


def chosen(tools: list[dict[str, Any]]) -> dict[str, Any] | None:
    favourites = [tool for tool in tools if tool["name"] == FAVOURITE]
    return next(iter(favourites or tools), None)


def arguments_for(tool: dict[str, Any]) -> dict[str, Any]:
    made = least(tool.get("parameters"), "")
    arguments = made if isinstance(made, dict) else {}
    return arguments or ({"color": COLOR} if tool["name"] == FAVOURITE else {})


def least(schema: Json, name: str) -> Json:
    """The smallest value that a plain schema takes; `name` is the property's."""
    match schema:
        case {"const": value} | {"enum": [value, *_]} | {"default": value}:
            return value
        case {"anyOf": [first, *_]} | {"oneOf": [first, *_]} | {"allOf": [first, *_]}:
            return least(first, name)
        case {"type": [kind, *_]}:
            return least({**schema, "type": kind}, name)
        case {"type": "integer" | "number"}:
            return schema.get("minimum", 0)
        case {"type": "boolean"}:
            return True
        case {"type": "null"}:
            return None
        case {"type": "array"}:
            return [least(schema.get("items"), name)] if schema.get("minItems") else []
        case {"type": "object"} | {"properties": _}:
            return least_object(schema)
        case _:
            return COLOR if "color" in name.lower() or "background" in name.lower() else "demo"


def least_object(schema: dict[str, Any]) -> dict[str, Any]:
    properties, required = schema.get("properties"), schema.get("required")
    known = properties if isinstance(properties, dict) else {}
    names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    return {name: least(known.get(name), name) for name in names}
