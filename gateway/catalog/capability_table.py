"""`[capabilities]`, written in snake_case → AG-UI's object, checked against the official models."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import chain, islice
from typing import Annotated, Any, get_args

from pydantic import BaseModel, BeforeValidator, ValidationError

from gateway.catalog.problems import Place, Problem, meant, place_of
from gateway.errors import AgentFault
from gateway.jsonio import dumps, loads

SNAKE_FREE = ("custom", "metadata")
"""Below these keys names are the author's own and stay as written."""

MOST_TOLD = 100
"""Mistakes of one table: looking for what was meant is slow, and nobody reads more."""

WORDS = {
    "invalid_key": "the name of a capability is a string",
    "missing": "is missing",
    "model_type": "must be a table",
}
"""Pydantic's kind of error → ours, where its own words are about Python."""


class InvalidCapabilities(ValueError):
    """In words it is the first mistake; `wrongs` has them all."""

    def __init__(self, wrongs: Sequence[Problem]) -> None:
        super().__init__(wrongs[0].text)
        self.wrongs = tuple(wrongs)


def camel(name: str) -> str:
    head, *rest = name.split("_")
    return head + "".join(part.title() for part in rest)


def snake(name: str) -> str:
    """As the file writes it."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", lambda found: f"_{found[1].lower()}", name)


def camel_tree(value: Any) -> Any:
    """TOML is written in snake_case, AG-UI in camelCase. A name that is no string stays, to be refused later."""
    if not isinstance(value, Mapping):
        return value
    return {
        camel(key) if isinstance(key, str) else key: item if key in SNAKE_FREE else camel_tree(item)
        for key, item in value.items()
    }


def capability_tree(value: Any) -> dict[str, Any]:
    """A `[capabilities]` table as AG-UI's object; a key that AG-UI does not have is refused."""
    if not isinstance(value, Mapping):
        raise ValueError("must be a table")
    # Imported here: it takes longer than the rest of a catalog, and who only looks what is installed can do without.
    from ag_ui.core import AgentCapabilities

    tree = camel_tree(value)
    mistakes: list[Problem] = []
    try:
        model = AgentCapabilities.model_validate(tree, strict=True)
    except ValidationError as exc:
        mistakes = [_misfit(error) for error in exc.errors(include_url=False)]
    unknown = (
        Problem(place, _no_such(_as_written(value, place), of)) for place, of in _unknown(tree, AgentCapabilities)
    )
    if found := list(islice(chain(mistakes, unknown), MOST_TOLD)):
        raise InvalidCapabilities([Problem(_as_written(value, wrong.place), wrong.message) for wrong in found])
    return _as_json(model)


def _as_json(model: BaseModel) -> dict[str, Any]:
    try:
        dumped: dict[str, Any] = loads(dumps(model.model_dump(by_alias=True, mode="json", exclude_unset=True)))
    except AgentFault as exc:
        raise ValueError(exc.detail) from exc
    return dumped


def _misfit(error: Any) -> Problem:
    return Problem(place_of(error["loc"]), WORDS.get(error["type"], error["msg"]))


def _unknown(table: Any, model: type[BaseModel], place: Place = ()) -> Iterator[tuple[Place, type[BaseModel]]]:
    """Keys that AG-UI does not have, each with the model that lacks it. A table may be one of AG-UI's own objects."""
    fields = {name: field for key, field in model.model_fields.items() for name in (key, field.alias)}
    for key, value in dict(table).items():
        if key not in fields:
            yield from [((*place, key), model)] if isinstance(key, str) else []
        elif (inner := model_in(fields[key].annotation)) is not None:
            for at, item in enumerate(value) if isinstance(value, list) else [(None, value)]:
                if isinstance(item, Mapping | BaseModel):
                    yield from _unknown(item, inner, (*place, key) if at is None else (*place, key, at))


def model_in(annotation: Any) -> type[BaseModel] | None:
    """The model inside `Model | None` or `tuple[Model, ...]`."""
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return annotation
    return next((found for inner in get_args(annotation) if (found := model_in(inner))), None)


def _no_such(place: Place, model: type[BaseModel]) -> str:
    """With the nearest that there is, spelt as the author spells."""
    key = str(place[-1])
    in_camel = key != key.lower()
    known = [field.alias if in_camel and field.alias else name for name, field in model.model_fields.items()]
    if (near := meant(key, known)) is None:
        return "AG-UI has no such capability; put it under `custom`"
    return f"AG-UI has no such capability: did you mean {near}? If it is your own, put it under `custom`"


def _as_written(value: Any, place: Place) -> Place:
    """A place in AG-UI's spelling as the one in the author's own."""
    if not place:
        return ()
    key, *rest = place
    if isinstance(value, Mapping) and key not in value:
        key = next((each for each in value if isinstance(each, str) and camel(each) == key), key)
    return (key, *_as_written(_inside(value, key), tuple(rest)))


def _inside(value: Any, key: int | str) -> Any:
    match value:
        case Mapping():
            return value.get(key)
        case list() if isinstance(key, int):
            return value[key]
        case _:
            return None


def _each_at_its_key(value: Any) -> dict[str, Any]:
    """Pydantic takes an error of its own as several, each at its place below this one."""
    try:
        return capability_tree(value)
    except InvalidCapabilities as exc:
        told = [(wrong.place, ValueError(wrong.message)) for wrong in exc.wrongs]
        raise ValidationError.from_exception_data(
            "capabilities",
            [{"type": "value_error", "loc": at, "input": value, "ctx": {"error": why}} for at, why in told],
        ) from exc


CapabilityTable = Annotated[dict[str, Any], BeforeValidator(_each_at_its_key)]
"""`[capabilities]` of a definition, or of a part of it."""
