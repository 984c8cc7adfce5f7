"""The model that a run gets.

In: a turn and the agent's models. Out: the turn with the model's own id, and the model. An unknown model is refused
with a suggestion, unless the agent takes names that are not listed (`ModelRegistry.is_open`): then it gets the name
unchanged, and the client a warning with the suggestion.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

from gateway.capability_paths import OPTIONS
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.models.definition import Model, UnlistedModel
from gateway.catalog.models.lookup import Verdict
from gateway.catalog.models.registry import ModelRegistry
from gateway.catalog.options import declared_options
from gateway.errors import NotCapable
from gateway.turn import Notice, Turn

POINTER = "/forwardedProps/gateway/model"


def choose_model(turn: Turn, definition: AgentDefinition, registry: ModelRegistry) -> tuple[Turn, Model | None]:
    """The model is None if the run asks for none, or if the agent has no list. Raises `NotCapable`."""
    name = turn.options.model
    if name is None or "model" not in declared_options(definition) or not registry.models():
        return turn, None
    verdict = registry.validate(name)
    if verdict.model is None:
        if not registry.is_open or turn.options.strict:
            raise _refusal(verdict, definition, registry)
        message = f"{verdict.message.rstrip('.')}. It is passed to the agent unchanged."
        detail = {"modelStatus": verdict.status, "suggestions": [*verdict.suggestions]}
        return _with_warning(turn, "MODEL_UNKNOWN", message, detail), registry.find_known(name) or unlisted_model(name)
    if verdict.status == "deprecated":
        if turn.options.strict:
            raise _refusal(verdict, definition, registry)
        turn = _with_warning(turn, "MODEL_DEPRECATED", verdict.message)
    argument = _model_argument(definition, verdict.model)
    if argument != name:
        turn = replace(turn, options=replace(turn.options, model=argument))
    return turn, verdict.model


def _model_argument(definition: AgentDefinition, model: Model) -> str:
    """The CLI driver replaces the id by the model's own argument itself; the other drivers get that argument."""
    return model.id if definition.driver == "cli" else model.argument or model.id


@lru_cache(maxsize=256)
def unlisted_model(name: str) -> Model:
    """A model of which nothing is known but its name: no limit of another model holds for it. The same name gives the
    same object, so that a snapshot with it is found again."""
    return UnlistedModel(id=name)


def _with_warning(turn: Turn, code: str, message: str, detail: Mapping[str, Any] | None = None) -> Turn:
    return replace(turn, warnings=(*turn.warnings, Notice(code, message, POINTER, detail or {})))


def _refusal(verdict: Verdict, definition: AgentDefinition, registry: ModelRegistry) -> NotCapable:
    source = f"profile ({definition.source.name})" if registry.source == "bundled" else "what the agent lists"
    advice = f"GET /agents/{definition.id}/models lists what there is"
    extra = {key: value for key, value in verdict.to_json().items() if key not in ("valid", "message")}
    return NotCapable(
        f"{verdict.message.rstrip('.')} (stated by {source}). {advice}.",
        agent=definition.id,
        capability=f"{OPTIONS}.model",
        source=source,
        pointer=POINTER,
        **{("modelStatus" if key == "status" else key): value for key, value in extra.items()},
    )
