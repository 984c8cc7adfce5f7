"""The interfaces that the views answer, as data, and what the gateway's answers are held against.

A `*.json` here is one interface: its fields in TypeScript's way (`name?` may be left out, `['a' | 'b']` is a list of
these words), the types that they name, and `extras`: the fields that our answer has beyond it, all of them optional.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from jsonschema import Draft202012Validator, ValidationError

HERE = Path(__file__).parent
NAMES = ("agui", "acp", "mux", "models", "relay", "session")

PLAIN: dict[str, dict[str, Any]] = {
    "boolean": {"type": "boolean"},
    "string": {"type": "string"},
    "number": {"type": "number"},
    "object": {"type": "object"},
    "unknown": {},
    "true": {"const": True},
    "null": {"type": "null"},
}


@dataclass(frozen=True, slots=True)
class Field:
    path: str
    """Dotted."""
    type: str
    optional: bool
    """Itself, or something that it stands in."""
    extra: bool = False


@dataclass(frozen=True)
class Interface:
    name: str
    title: str
    of: str
    shape: dict[str, Any]
    types: dict[str, Any]
    extras: dict[str, Any]
    about: dict[str, str]
    """What a field means, where the interface is our own."""

    @cached_property
    def fields(self) -> list[Field]:
        extra_fields = [Field(path.rstrip("?"), _written(shape), True, True) for path, shape in self.extras.items()]
        return [*_fields(self.shape), *extra_fields]

    @cached_property
    def schema(self) -> dict[str, Any]:
        """What every answer must fit: all that is required, and nothing that is neither here nor an extra."""
        whole = json.loads(json.dumps(self.shape))
        for path, shape in self.extras.items():
            *parents, last = path.split(".")
            node = whole
            for parent in parents:
                node = node[parent]
            node[last] = shape
        return _schema(whole, self.types)


def interface(name: str) -> Interface:
    file = json.loads((HERE / f"{name}.json").read_text("utf-8"))
    return Interface(
        name, file["interface"], file["of"], file["shape"], file["types"], file["extras"], file.get("about", {})
    )


def mistakes_in(answer: Any, against: Interface) -> list[str]:
    """But for what the answer itself says nobody knows: that may be missing."""
    errors = Draft202012Validator(against.schema).iter_errors(answer)
    unknown = answer.get("unknown", []) if isinstance(answer, dict) else []
    return [f"{error.json_path}: {error.message}" for error in errors if not _open(error, unknown)]


def _open(error: ValidationError, unknown: list[str]) -> bool:
    if error.validator != "required":
        return False
    wanted: list[str] = list(error.validator_value)  # type: ignore[arg-type]
    missing = [name for name in wanted if name not in error.instance]  # type: ignore[operator]
    paths = [".".join([*map(str, error.absolute_path), name]) for name in missing]
    return all(any(f"{name}.".startswith(f"{path}.") for name in unknown) for path in paths)


def _fields(shape: dict[str, Any], prefix: str = "", optional: bool = False) -> list[Field]:
    fields: list[Field] = []
    for key, inner in shape.items():
        name, loose = prefix + key.rstrip("?"), optional or key.endswith("?")
        fields += (
            _fields(inner, f"{name}.", loose) if isinstance(inner, dict) else [Field(name, _written(inner), loose)]
        )
    return fields


def _written(shape: Any) -> str:
    """As TypeScript writes it."""
    match shape:
        case [one]:
            return f"({one})[]" if " | " in one else f"{one}[]"
        case [*several]:
            return f"[{', '.join(several)}]"
        case _:
            return str(shape)


def _schema(shape: Any, types: dict[str, Any]) -> dict[str, Any]:
    match shape:
        case dict():
            return {
                "type": "object",
                "properties": {key.rstrip("?"): _schema(inner, types) for key, inner in shape.items()},
                "required": [key for key in shape if not key.endswith("?")],
                "additionalProperties": False,
            }
        case [one]:
            return {"type": "array", "items": _schema(one, types)}
        case [*several]:
            each = [_schema(one, types) for one in several]
            return {"type": "array", "prefixItems": each, "minItems": len(each), "maxItems": len(each)}
        case str() if " | " in shape:
            return {"anyOf": [_schema(one, types) for one in shape.split(" | ")]}
        case str() if shape.startswith("'"):
            return {"const": shape.strip("'")}
        case str() if shape in types:
            return _schema(types[shape], types)
        case _:
            return PLAIN[shape]
