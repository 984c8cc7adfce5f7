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
        further = [Field(path.rstrip("?"), _written(told), True, True) for path, told in self.extras.items()]
        return [*_fields(self.shape), *further]

    @cached_property
    def schema(self) -> dict[str, Any]:
        """What every answer must fit: all that is required, and nothing that is neither here nor an extra."""
        whole = json.loads(json.dumps(self.shape))
        for path, told in self.extras.items():
            *parents, leaf = path.split(".")
            node = whole
            for parent in parents:
                node = node[parent]
            node[leaf] = told
        return _schema(whole, self.types)


def interface(name: str) -> Interface:
    told = json.loads((HERE / f"{name}.json").read_text("utf-8"))
    shape, types, extras = told["shape"], told["types"], told["extras"]
    return Interface(name, told["interface"], told["of"], shape, types, extras, told.get("about", {}))


def mistakes_in(told: Any, against: Interface) -> list[str]:
    """But for what the answer itself says nobody knows: that may be missing."""
    found = Draft202012Validator(against.schema).iter_errors(told)
    unknown = told.get("unknown", []) if isinstance(told, dict) else []
    return [f"{error.json_path}: {error.message}" for error in found if not _open(error, unknown)]


def _open(error: ValidationError, unknown: list[str]) -> bool:
    if error.validator != "required":
        return False
    wanted: list[str] = list(error.validator_value)  # type: ignore[arg-type]
    missing = [name for name in wanted if name not in error.instance]  # type: ignore[operator]
    paths = [".".join([*map(str, error.absolute_path), name]) for name in missing]
    return all(any(f"{name}.".startswith(f"{path}.") for name in unknown) for path in paths)


def _fields(shape: dict[str, Any], prefix: str = "", optional: bool = False) -> list[Field]:
    found: list[Field] = []
    for key, told in shape.items():
        name, loose = prefix + key.rstrip("?"), optional or key.endswith("?")
        found += _fields(told, f"{name}.", loose) if isinstance(told, dict) else [Field(name, _written(told), loose)]
    return found


def _written(told: Any) -> str:
    """As TypeScript writes it."""
    match told:
        case [one]:
            return f"({one})[]" if " | " in one else f"{one}[]"
        case [*several]:
            return f"[{', '.join(several)}]"
        case _:
            return str(told)


def _schema(told: Any, types: dict[str, Any]) -> dict[str, Any]:
    match told:
        case dict():
            return {
                "type": "object",
                "properties": {key.rstrip("?"): _schema(inner, types) for key, inner in told.items()},
                "required": [key for key in told if not key.endswith("?")],
                "additionalProperties": False,
            }
        case [one]:
            return {"type": "array", "items": _schema(one, types)}
        case [*several]:
            each = [_schema(one, types) for one in several]
            return {"type": "array", "prefixItems": each, "minItems": len(each), "maxItems": len(each)}
        case str() if " | " in told:
            return {"anyOf": [_schema(one, types) for one in told.split(" | ")]}
        case str() if told.startswith("'"):
            return {"const": told.strip("'")}
        case str() if told in types:
            return _schema(types[told], types)
        case _:
            return PLAIN[told]
