"""`[capabilities]`, written in snake_case → AG-UI's object, checked against the official models."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import BaseModel, ValidationError

from gateway.errors import AgentFault
from gateway.jsontext import dumps, loads

SNAKE_FREE = ("custom", "metadata")
"""Below these keys names are the author's own and stay as written."""


def camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


def snake(name: str) -> str:
    """As the file writes it."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: f"_{found[1].lower()}", name)


def camel_tree(value: Any) -> Any:
    """TOML is written in snake_case, AG-UI in camelCase."""
    if not isinstance(value, Mapping):
        return value
    for key in value:
        if not isinstance(key, str):
            raise ValueError(f"{key!r}: the name of a capability is a string")
    return {camel(key): item if key in SNAKE_FREE else camel_tree(item) for key, item in value.items()}


def capability_tree(value: Any) -> dict[str, Any]:
    """A `[capabilities]` table as AG-UI's object; a key that AG-UI does not have is refused."""
    if not isinstance(value, Mapping):
        raise ValueError("must be a table")
    # Imported here: it takes longer than the rest of a catalog, and who only looks what is installed can do without.
    from ag_ui.core import AgentCapabilities

    tree = camel_tree(value)
    try:
        model = AgentCapabilities.model_validate(tree, strict=True)
    except ValidationError as exc:
        error = exc.errors(include_url=False)[0]
        raise ValueError(f"{'.'.join(str(part) for part in error['loc'])}: {error['msg']}") from exc
    for path in _extras(model, ()):
        raise ValueError(f"{'.'.join(path)}: AG-UI has no such capability; put it under `custom`")
    try:
        dumped: dict[str, Any] = loads(dumps(model.model_dump(by_alias=True, mode="json", exclude_unset=True)))
    except AgentFault as exc:
        raise ValueError(exc.detail) from exc
    return dumped


def _extras(model: BaseModel, path: tuple[str, ...]) -> Iterator[tuple[str, ...]]:
    for name in model.model_extra or {}:
        yield (*path, name)
    for name in type(model).model_fields:
        value = getattr(model, name)
        for item in value if isinstance(value, list) else [value]:
            if isinstance(item, BaseModel):
                yield from _extras(item, (*path, camel(name)))
