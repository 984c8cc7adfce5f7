"""The table of parameters against the published schema, field by field."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from gateway.errors import BadInput
from gateway.wire.acp.methods import METHODS, check_params

SCHEMA = Path(__file__).resolve().parents[2] / "vectors" / "acp" / "schema.unstable.json"
DEFS: dict[str, Any] = json.loads(SCHEMA.read_text("utf-8"))["$defs"]
TYPES: dict[str, type] = {"string": str, "object": dict, "array": list, "null": type(None)}


def described(method: str) -> dict[str, Any]:
    [found] = [
        schema
        for name, schema in DEFS.items()
        if schema.get("x-method") == method
        and schema.get("x-side") == "agent"
        and name.endswith(("Request", "Notification"))
    ]
    return dict(found)


def types_of(schema: dict[str, Any]) -> set[type]:
    if "$ref" in schema:
        return types_of(DEFS[schema["$ref"].rpartition("/")[2]])
    if "allOf" in schema:
        return types_of(schema["allOf"][0])
    if choices := schema.get("anyOf", schema.get("oneOf")):
        return set().union(*map(types_of, choices))
    kinds = schema["type"] if isinstance(schema["type"], list) else [schema["type"]]
    return {TYPES[kind] for kind in kinds}


@pytest.mark.parametrize("method", METHODS)
def test_a_method_takes_what_the_schema_has(method: str) -> None:
    schema = described(method)
    fields = {name: types_of(field) for name, field in schema.get("properties", {}).items() if name != "_meta"}
    required, optional = METHODS[method]
    assert {name: set(types) for name, types in required.items()} == {
        name: types for name, types in fields.items() if name in schema.get("required", [])
    }
    # `type` of a config option stands in the schema's alternatives, not among its properties.
    listed = {name: set(types) for name, types in optional.items() if name != "type"}
    assert listed == {name: types for name, types in fields.items() if name not in schema.get("required", [])}


def test_a_missing_and_a_mistyped_field_are_named() -> None:
    with pytest.raises(BadInput, match="session/set_title needs `params.title`"):
        check_params("session/set_title", {"sessionId": "s"})
    with pytest.raises(BadInput, match="cannot be a int") as refused:
        check_params("session/set_title", {"sessionId": "s", "title": 5})
    assert refused.value.problem()["pointer"] == "/params/title"


def test_an_extension_is_the_agents_own_to_judge() -> None:
    check_params("_vendor/thing", {"anything": [1]})
