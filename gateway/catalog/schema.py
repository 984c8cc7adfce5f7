"""The format of an agent's file as a JSON Schema (2020-12): read off the models, described by their docstrings."""

from __future__ import annotations

from functools import cache
from typing import Any

from ag_ui.core import AgentCapabilities

from gateway.catalog.definition import NEEDED, AgentDefinition
from gateway.catalog.load import LOADERS

DIALECT = "https://json-schema.org/draft/2020-12/schema"


@cache
def agent_schema() -> dict[str, Any]:
    schema = AgentDefinition.model_json_schema()
    for name in LOADERS:
        del schema["properties"][name]
    tables = schema["$defs"]
    for place in (schema, tables["Door"], tables["Mode"]):
        place["properties"]["capabilities"] |= {"$ref": "#/$defs/AgentCapabilities"}
    tables |= _capabilities()
    needs = [{"if": _is(driver), "then": {"required": [*keys]}} for driver, keys in NEEDED.items()]
    told: dict[str, Any] = _without_null(schema)
    return {"$schema": DIALECT, **told, "title": "An agent of agui-gateway", "allOf": needs}


def _is(driver: str) -> dict[str, Any]:
    return {"properties": {"driver": {"const": driver}}, "required": ["driver"]}


def _without_null(schema: Any) -> Any:
    """TOML has none: what may be null in the models is left out of a file. Editors then say what a value must be."""
    match schema:
        case {"anyOf": [*choices], **rest} if {"type": "null"} in choices:
            kept = [_without_null(choice) for choice in choices if choice != {"type": "null"}]
            rest.pop("default", None)
            return {**rest, **kept[0]} if len(kept) == 1 else {**rest, "anyOf": kept}
        case dict():
            return {key: _without_null(value) for key, value in schema.items()}
        case list():
            return [_without_null(value) for value in schema]
        case _:
            return schema


def _capabilities() -> dict[str, Any]:
    """AG-UI's own tables, in the snake_case of the file. They are open to what is newer; the file is not: there a key
    that AG-UI does not have is a mistake, and belongs under `custom`."""
    whole = AgentCapabilities.model_json_schema(by_alias=False)
    tables: dict[str, Any] = {**whole.pop("$defs"), "AgentCapabilities": whole}
    return {name: {**table, "additionalProperties": False} for name, table in tables.items()}
