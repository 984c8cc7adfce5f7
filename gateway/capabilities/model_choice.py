"""Which model a run gets.

In: a turn and the agent's models. Out: the turn with the model's own id in it, and the model. What cannot be had is
refused with what was perhaps meant: but only where the list of models is known to be complete
(`ModelRegistry.is_complete`). An agent that takes models from wherever its user has them is given the name as it is,
with a warning.
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


def choose(turn: Turn, definition: AgentDefinition, registry: ModelRegistry) -> tuple[Turn, Model | None]:
    """None: the run asks for none, or for one that nobody knows."""
    name = turn.options.model
    if name is None or "model" not in definition.options or not registry.models():
        return turn, None
    verdict = registry.validate(name)
    if verdict.model is None:
        if registry.is_complete or turn.options.strict:
            raise _refusal(verdict, definition, registry)
        return _warned(turn, "MODEL_UNKNOWN", f"{verdict.message} It is given to the agent as it is."), None
    if verdict.status == "deprecated":
        if turn.options.strict:
            raise _refusal(verdict, definition, registry)
        turn = _warned(turn, "MODEL_DEPRECATED", verdict.message)
    given = _given(definition, verdict.model)
    if given != name:
        turn = replace(turn, options=replace(turn.options, model=given))
    return turn, verdict.model


def _given(definition: AgentDefinition, model: Model) -> str:
    """The command line has the model's own argument from its definition; any other way in is given it here."""
    return model.id if definition.driver == "cli" else model.argument or model.id


def _warned(turn: Turn, code: str, message: str) -> Turn:
    return replace(turn, warnings=(*turn.warnings, Notice(code, message, POINTER)))


def _refusal(verdict: Verdict, definition: AgentDefinition, registry: ModelRegistry) -> NotCapable:
    who = f"profile ({definition.source.name})" if registry.source == "bundled" else "what the agent lists"
    advice = f"GET /agents/{definition.id}/models lists what there is"
    extra = {key: value for key, value in verdict.to_json().items() if key not in ("valid", "message")}
    return NotCapable(
        f"{verdict.message.rstrip('.')} (said by {who}). {advice}.",
        capability="model",
        source=who,
        pointer=POINTER,
        **{("modelStatus" if key == "status" else key): value for key, value in extra.items()},
    )
