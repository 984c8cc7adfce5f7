"""What a live agent lists → `Model`.

In: one entry of its list as the driver read it, in the words of `[[models]]`, and what is known of that model. Out: the
model with what the agent tells of it; where the agent is silent, or talks nonsense, what was known stays.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from pydantic import ValidationError

from gateway.catalog.effort import LEVELS
from gateway.catalog.models.definition import Model
from gateway.catalog.sections import Level
from gateway.errors import AgentFault
from gateway.jsonio import dumps

KEPT = frozenset(("id", "effort", "budget", "verified", "source"))
"""Of `[[models]]`, what an agent cannot tell: its id is how it is found, the others are about this gateway's file."""
TOLD = frozenset(Model.model_fields) - KEPT
COUNTS = frozenset(("context", "output", "max_thinking"))
"""Many agents say 0 where they do not know."""


def heard(told: Mapping[str, Any], known: Model | None, table: Mapping[Level, str | int]) -> Model | None:
    """`efforts` are the agent's own words for the levels that the model offers, in the values of `table`. None: the
    entry names no model."""
    name = told.get("id")
    if not isinstance(name, str) or not name.strip():
        return None
    model = known or Model(id=name)
    news = {key: value for key in TOLD & told.keys() if (value := _read(name, key, told[key], model)) is not None}
    if isinstance(words := told.get("efforts"), list | tuple):
        # The model's own words for a level before the agent's: `max` may be `xhigh` for one and `max` for another.
        offered = {**(table or {level: level for level in LEVELS}), **(model.effort or {})}
        news["effort"] = {level: word for level, word in offered.items() if word in words}
    return model.model_copy(update=news)


def _read(name: str, key: str, value: Any, model: Model) -> Any:
    """The value as the field takes it; None: it says nothing."""
    try:
        read = getattr(Model.model_validate_json(dumps({"id": name, key: value}), strict=True), key)
    except (AgentFault, ValidationError):
        return None
    if key == "price":
        return model.price.model_copy(update=read.model_dump(exclude_none=True))
    return None if key in COUNTS and read is not None and read <= 0 else read
