"""The format of an agent's file as a JSON Schema (2020-12), made from the models and their docstrings."""

from __future__ import annotations

from functools import cache
from typing import Any

from ag_ui.core import AgentCapabilities

from gateway.catalog.definition import REQUIRED_KEYS, AgentDefinition
from gateway.catalog.load import LOADER_FIELDS

DIALECT = "https://json-schema.org/draft/2020-12/schema"


@cache
def agent_schema() -> dict[str, Any]:
    schema = AgentDefinition.model_json_schema()
    for name in LOADER_FIELDS:
        del schema["properties"][name]
    tables = schema["$defs"]
    for table in (schema, tables["Fallback"], tables["Mode"]):
        table["properties"]["capabilities"] |= {"$ref": "#/$defs/AgentCapabilities"}
    tables |= _capability_tables()
    required = [{"if": _driver_is(driver), "then": {"required": [*keys]}} for driver, keys in REQUIRED_KEYS.items()]
    without_null: dict[str, Any] = _without_null(schema)
    return {"$schema": DIALECT, **without_null, "title": "An agent of agui-gateway", "allOf": required}


def _driver_is(driver: str) -> dict[str, Any]:
    return {"properties": {"driver": {"const": driver}}, "required": ["driver"]}


def _without_null(schema: Any) -> Any:
    """TOML has no null: a field that may be None is simply absent from a file. Editors then name the real type."""
    match schema:
        case {"anyOf": [*choices], **rest} if {"type": "null"} in choices:
            types = [_without_null(choice) for choice in choices if choice != {"type": "null"}]
            rest.pop("default", None)
            return {**rest, **types[0]} if len(types) == 1 else {**rest, "anyOf": types}
        case dict():
            return {key: _without_null(value) for key, value in schema.items()}
        case list():
            return [_without_null(value) for value in schema]
        case _:
            return schema


def _capability_tables() -> dict[str, Any]:
    """AG-UI's tables with keys in snake_case. AG-UI's own schema allows unknown keys; in a file such a key is a mistake
    and belongs under `custom`."""
    schema = AgentCapabilities.model_json_schema(by_alias=False)
    tables: dict[str, Any] = {**schema.pop("$defs"), "AgentCapabilities": schema}
    return {name: {**table, "additionalProperties": False} for name, table in tables.items()}
