"""A scene with a tool of the client: the agent calls it, the run ends, the client runs it and sends the result.

The arguments are the smallest that the tool's JSON Schema accepts.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any

from gateway import Event, Turn

from .streams import call, say

PREFERRED_TOOL = "change_background"
COLOR = "teal"
MAX_RESULT_CHARS = 1_000
"""Characters of a tool's result that are repeated; it may be very long."""


async def frontend(turn: Turn) -> AsyncIterator[Event]:
    tool = choose_tool(turn.tools)
    if tool is None:
        async for event in say("Your page offers no tools. Put a tool into the run's `tools`, and I will call it."):
            yield event
        return
    async for event in say(f"Your page can do `{tool['name']}`. Over to you!"):
        yield event
    # No result follows: the call stays pending, and the client sends the result with its next run.
    async for event in call(f"{turn.run_id}-page", tool["name"], arguments_for(tool)):
        yield event


async def report_results(turn: Turn) -> AsyncIterator[Event]:
    """The run after: the results of the client's tools."""
    names = call_names(turn)
    for id_, result in turn.tool_results.items():
        async for event in say(f"`{names.get(id_, id_)}` answered: {result[:MAX_RESULT_CHARS] or 'nothing'}"):
            yield event


def call_names(turn: Turn) -> dict[str, str]:
    """Tool call id → the tool's name, from the conversation."""
    calls = [call for message in turn.messages for call in message.get("toolCalls", ())]
    return {call["id"]: call["function"]["name"] for call in calls}


def choose_tool(tools: list[dict[str, Any]]) -> dict[str, Any] | None:
    preferred = [tool for tool in tools if tool["name"] == PREFERRED_TOOL]
    return next(iter(preferred or tools), None)


def arguments_for(tool: dict[str, Any]) -> dict[str, Any]:
    value = smallest_value(tool.get("parameters"), "")
    arguments = value if isinstance(value, dict) else {}
    return arguments or ({"color": COLOR} if tool["name"] == PREFERRED_TOOL else {})


def smallest_value(schema: Any, name: str) -> Any:
    """The smallest value that a plain schema accepts; `name` is the property's."""
    match schema:
        case {"const": value} | {"enum": [value, *_]} | {"default": value}:
            return value
        case {"anyOf": [first, *_]} | {"oneOf": [first, *_]} | {"allOf": [first, *_]}:
            return smallest_value(first, name)
        case {"type": [kind, *_]}:
            return smallest_value({**schema, "type": kind}, name)
        case {"type": "integer" | "number"}:
            return schema.get("minimum", 0)
        case {"type": "boolean"}:
            return True
        case {"type": "null"}:
            return None
        case {"type": "array"}:
            return [smallest_value(schema.get("items"), name)] if schema.get("minItems") else []
        case {"type": "object"} | {"properties": _}:
            return smallest_object(schema)
        case _:
            return COLOR if "color" in name.lower() or "background" in name.lower() else "demo"


def smallest_object(schema: dict[str, Any]) -> dict[str, Any]:
    properties, required = schema.get("properties"), schema.get("required")
    schemas = properties if isinstance(properties, dict) else {}
    names = [name for name in required if isinstance(name, str)] if isinstance(required, list) else []
    return {name: smallest_value(schemas.get(name), name) for name in names}
