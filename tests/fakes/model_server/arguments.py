"""The smallest value that a JSON schema allows, and a tool's arguments with one word put in the right place.

In: schemas as agents send them. Out: plain JSON values. Not a validator: what it does not know becomes a string.
"""

from __future__ import annotations

from typing import Any

from tests.fakes.model_server.conversation import Json, Tool

# In lower case and without `_`: one agent's file_path is another's filePath.
COMMAND = ("command", "cmd", "commands", "script", "shellcommand", "code", "input")
PATH = ("filepath", "path", "filename", "file", "absolutepath", "targetfile")
CONTENT = ("content", "contents", "filetext", "text", "newstring", "data", "body")


def instance(schema: Json) -> Any:
    """The smallest that fits: required properties only, the first of every choice."""
    if "const" in schema:
        return schema["const"]
    if schema.get("enum"):
        return schema["enum"][0]
    for key in ("anyOf", "oneOf", "allOf"):
        if schema.get(key):
            return instance(schema[key][0])
    match _kind(schema):
        case "object":
            properties = schema.get("properties", {})
            return {name: instance(properties.get(name, {})) for name in schema.get("required", ())}
        case "array":
            return [instance(schema.get("items", {}))] * int(schema.get("minItems") or 0)
        case "integer" | "number":
            return schema.get("minimum", 1)
        case "boolean":
            return False
        case "null":
            return None
        case _:
            return "short"


def fill(tool: Tool, *values: tuple[tuple[str, ...], str]) -> Json | None:
    """The tool's arguments with each value under the first of its names that the tool has; None if it has none."""
    filled: Json = instance({**tool.schema, "type": "object"})
    properties: Json = tool.schema.get("properties", {})
    own = {name.lower().replace("_", ""): name for name in properties}
    for names, value in values:
        name = next((own[name] for name in names if name in own), None)
        if name is None:
            return None
        filled[name] = _put(properties[name], value, name)
    return filled | _meant(properties)


def _meant(properties: Json) -> Json:
    """Switches that have to be set for what the script is there for."""
    if "require_escalated" in properties.get("sandbox_permissions", {}).get("enum", ()):
        # Codex asks its user only for what wants to leave the sandbox.
        return {"sandbox_permissions": "require_escalated", "justification": "The script says so."}
    if "create" in properties.get("command", {}).get("enum", ()):
        # OpenHands has one tool for looking at files and for writing them.
        return {"command": "create"}
    return {}


def _put(schema: Json, value: str, name: str) -> Any:
    """A text where the schema wants a text, a list of commands, the words of one, or a list of tables."""
    if "string" in _kinds(schema):
        return value
    items = next((choice.get("items", {}) for choice in _choices(schema) if _kind(choice) == "array"), None)
    if items is None:
        return value
    if _kind(items) == "object":
        inner = fill(Tool("", items), (COMMAND, value))
        return [inner if inner is not None else instance(items)]
    return [value] if name.endswith("s") else ["bash", "-lc", value]


def _kind(schema: Json) -> str:
    found = schema.get("type", "object" if "properties" in schema else "string")
    # Gemini writes OBJECT; JSON schema may list several.
    return str(found[0] if isinstance(found, list) else found).lower()


def _choices(schema: Json) -> list[Json]:
    return [schema, *schema.get("anyOf", ()), *schema.get("oneOf", ())]


def _kinds(schema: Json) -> set[str]:
    return {_kind(choice) for choice in _choices(schema) if "type" in choice or "properties" in choice}
