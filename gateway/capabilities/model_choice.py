"""The model that a run gets.

In: a turn and the agent's models. Out: the turn with the model's own id, and the model. An unknown model is refused
with a suggestion, but only if the list of models is known to be complete (`ModelRegistry.is_complete`). Otherwise the
agent may take models from elsewhere: it gets the name unchanged, and the client a warning.
"""

from __future__ import annotations

from dataclasses import replace

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.models.definition import Model
from gateway.catalog.models.lookup import Verdict
from gateway.catalog.models.registry import ModelRegistry
from gateway.errors import NotCapable
from gateway.turn import Notice, Turn

POINTER = "/forwardedProps/gateway/model"


def choose_model(turn: Turn, definition: AgentDefinition, registry: ModelRegistry) -> tuple[Turn, Model | None]:
    """The model is None if the run asks for none, or for an unknown one. Raises `NotCapable`."""
    name = turn.options.model
    if name is None or "model" not in definition.options or not registry.models():
        return turn, None
    verdict = registry.validate(name)
    if verdict.model is None:
        if registry.is_complete or turn.options.strict:
            raise _refusal(verdict, definition, registry)
        return _with_warning(turn, "MODEL_UNKNOWN", f"{verdict.message} It is passed to the agent unchanged."), None
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


def _with_warning(turn: Turn, code: str, message: str) -> Turn:
    return replace(turn, warnings=(*turn.warnings, Notice(code, message, POINTER)))


def _refusal(verdict: Verdict, definition: AgentDefinition, registry: ModelRegistry) -> NotCapable:
    source = f"profile ({definition.source.name})" if registry.source == "bundled" else "what the agent lists"
    advice = f"GET /agents/{definition.id}/models lists what there is"
    extra = {key: value for key, value in verdict.to_json().items() if key not in ("valid", "message")}
    return NotCapable(
        f"{verdict.message.rstrip('.')} (stated by {source}). {advice}.",
        capability="model",
        source=source,
        pointer=POINTER,
        **{("modelStatus" if key == "status" else key): value for key, value in extra.items()},
    )
