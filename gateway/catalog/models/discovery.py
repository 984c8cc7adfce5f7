"""Merges a model that the live agent lists into what is known of it.

In: one entry of the agent's list, read by its driver into the keys of `[[models]]`, and the known model. Out: the model
with the agent's statements. Where the agent states nothing, or something unreadable, the known value stays.
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

FILE_KEYS = frozenset(("id", "effort", "budget", "verified", "source"))
"""Keys of `[[models]]` that an agent cannot set: the id identifies the model, the others are about the file."""
AGENT_KEYS = frozenset(Model.model_fields) - FILE_KEYS
TOKEN_COUNTS = frozenset(("context", "output", "max_thinking"))
"""Many agents send 0 where they do not know the number."""


def merge_listed_model(
    entry: Mapping[str, Any], known: Model | None, agent_levels: Mapping[Level, str | int]
) -> Model | None:
    """None: the entry names no model.

    `efforts` of the entry are the agent's own values for the levels that the model offers; `agent_levels` maps a level
    to such a value."""
    name = entry.get("id")
    if not isinstance(name, str) or not name.strip():
        return None
    model = known or Model(id=name)
    changes = {
        key: value
        for key in AGENT_KEYS & entry.keys()
        if (value := _read_field(name, key, entry[key], model)) is not None
    }
    if isinstance(efforts := entry.get("efforts"), list | tuple):
        # The model's own value for a level comes before the agent's: `max` may be `xhigh` for one model only.
        offered = {**(agent_levels or {level: level for level in LEVELS}), **(model.effort or {})}
        changes["effort"] = {level: value for level, value in offered.items() if value in efforts}
    return model.model_copy(update=changes)


def _read_field(name: str, key: str, value: Any, model: Model) -> Any:
    """The value as the field's type; None: unreadable or unknown."""
    try:
        checked = getattr(Model.model_validate_json(dumps({"id": name, key: value}), strict=True), key)
    except (AgentFault, ValidationError):
        return None
    if key == "price":
        return model.price.model_copy(update=checked.model_dump(exclude_none=True))
    return None if key in TOKEN_COUNTS and checked is not None and checked <= 0 else checked
