"""`[capabilities]`, with keys in snake_case → AG-UI's object, checked against the official models.

https://docs.ag-ui.com/concepts/capabilities
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Annotated, Any, get_args

from pydantic import BaseModel, BeforeValidator, ValidationError

from gateway.catalog.problems import Place, Problem, read_place, suggest_name
from gateway.errors import AgentFault
from gateway.jsonio import dumps, loads

VERBATIM_KEYS = ("custom", "metadata")
"""Below these keys the author chooses the names, and they stay as written."""

MAX_PROBLEMS = 100
"""Mistakes of one table that are reported: finding suggestions is slow, and users do not read more."""

MESSAGES = {
    "invalid_key": "the name of a capability is a string",
    "missing": "is missing",
    "model_type": "must be a table",
}
"""Pydantic's error type → our message, where its own is about Python."""


class InvalidCapabilities(ValueError):
    """Its text is the first mistake; `problems` has them all."""

    def __init__(self, problems: Sequence[Problem]) -> None:
        super().__init__(problems[0].text)
        self.problems = tuple(problems)


def camel(name: str) -> str:
    """`client_provided` → `clientProvided`."""
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


def snake(name: str) -> str:
    """`clientProvided` → `client_provided`, as in the file."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda match: f"_{match[1].lower()}", name)


def camel_tree(value: Any) -> Any:
    """Keys in camelCase. A key that is not a string stays, to be refused later."""
    if not isinstance(value, Mapping):
        return value
    return {
        camel(key) if isinstance(key, str) else key: item if key in VERBATIM_KEYS else camel_tree(item)
        for key, item in value.items()
    }


def capability_tree(value: Any) -> dict[str, Any]:
    """A `[capabilities]` table as AG-UI's object. Raises `InvalidCapabilities`, also for a key that AG-UI lacks."""
    if not isinstance(value, Mapping):
        raise ValueError("must be a table")
    # Imported here: it takes longer than the rest of a catalog, and `agui-gateway agents` does not need it.
    from ag_ui.core import AgentCapabilities

    tree = camel_tree(value)
    problems: list[Problem] = []
    try:
        model = AgentCapabilities.model_validate(tree, strict=True)
    except ValidationError as exc:
        problems = [_read_error(error) for error in exc.errors(include_url=False)]
    unknown = (
        Problem(place, _explain_unknown(_as_written(value, place), table))
        for place, table in _unknown_keys(tree, AgentCapabilities)
    )
    if reported := list(islice(chain(problems, unknown), MAX_PROBLEMS)):
        raise InvalidCapabilities([Problem(_as_written(value, problem.place), problem.message) for problem in reported])
    return _as_json(model)


def _as_json(model: BaseModel) -> dict[str, Any]:
    try:
        dumped: dict[str, Any] = loads(dumps(model.model_dump(by_alias=True, mode="json", exclude_unset=True)))
    except AgentFault as exc:
        raise ValueError(exc.detail) from exc
    return dumped


def _read_error(error: Any) -> Problem:
    return Problem(read_place(error["loc"]), MESSAGES.get(error["type"], error["msg"]))


def _unknown_keys(table: Any, model: type[BaseModel], place: Place = ()) -> Iterator[tuple[Place, type[BaseModel]]]:
    """Keys that AG-UI does not have, each with the model that lacks it. A table may be one of AG-UI's objects."""
    fields = {name: field for key, field in model.model_fields.items() for name in (key, field.alias)}
    for key, value in dict(table).items():
        if key not in fields:
            yield from [((*place, key), model)] if isinstance(key, str) else []
        elif (inner := model_in(fields[key].annotation)) is not None:
            for index, item in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(item, Mapping | BaseModel):
                    yield from _unknown_keys(item, inner, (*place, key) if index is None else (*place, key, index))


def model_in(annotation: Any) -> type[BaseModel] | None:
    """The model inside `Model | None` or `tuple[Model, ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((model for inner in get_args(annotation) if (model := model_in(inner))), None)


def _explain_unknown(place: Place, model: type[BaseModel]) -> str:
    """With the most similar known key, in the author's spelling."""
    key = str(place[-1])
    in_camel = key != key.lower()
    known = [field.alias if in_camel and field.alias else name for name, field in model.model_fields.items()]
    if (similar := suggest_name(key, known)) is None:
        return "AG-UI has no such capability; put it under `custom`"
    return f"AG-UI has no such capability: did you mean {similar}? If it is your own, put it under `custom`"


def _as_written(value: Any, place: Place) -> Place:
    """A place in AG-UI's spelling → the same place in the author's spelling."""
    if not place:
        return ()
    key, *rest = place
    if isinstance(value, Mapping) and key not in value:
        key = next((each for each in value if isinstance(each, str) and camel(each) == key), key)
    return (key, *_as_written(_item_at(value, key), tuple(rest)))


def _item_at(value: Any, key: int | str) -> Any:
    match value:
        case Mapping():
            return value.get(key)
        case list() if isinstance(key, int):
            return value[key]
        case _:
            return None


def _validate(value: Any) -> dict[str, Any]:
    """Raises pydantic's own error, so that every mistake keeps its place below this field."""
    try:
        return capability_tree(value)
    except InvalidCapabilities as exc:
        errors = [(problem.place, ValueError(problem.message)) for problem in exc.problems]
        raise ValidationError.from_exception_data(
            "capabilities",
            [{"type": "value_error", "loc": place, "input": value, "ctx": {"error": error}} for place, error in errors],
        ) from exc


CapabilityTable = Annotated[dict[str, Any], BeforeValidator(_validate)]
"""The type of `[capabilities]` fields."""
