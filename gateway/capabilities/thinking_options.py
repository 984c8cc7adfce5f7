"""The thinking options of a turn, translated for the model that its session has.

In: a turn, and what is known of the agent and of the thread's session. Out: the turn with the agent's own parameters.
The model is the one that the run names, else the one that the session is set to, else the agent's default. What that
model, or the session, does not offer is refused; it is never left out. The same function is used before a run begins
and again when its session is open and states its model.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from gateway.capabilities.agent_facts import SnapshotBasis
from gateway.capabilities.layers import current_model
from gateway.capabilities.merge import Snapshot
from gateway.capabilities.views.mux_lookup import find_fact
from gateway.capability_paths import MODELS
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.effort import thinking_parameters
from gateway.catalog.models.definition import Model
from gateway.catalog.models.discovery import merge_listed_model
from gateway.catalog.models.registry import ModelRegistry
from gateway.errors import NotCapable
from gateway.events import Layer
from gateway.turn import Options, Turn

MODEL_POINTER = "/forwardedProps/gateway/model"


def has_thinking(options: Options) -> bool:
    return any(
        value is not None for value in (options.effort, options.thinking_budget_tokens, options.thinking_override)
    )


def apply_thinking(turn: Turn, basis: SnapshotBasis, snapshot: Snapshot, *, use_default: bool = True) -> Turn:
    """The turn with `thinking`. `use_default`: a session that states no model has the agent's default. Raises
    `NotCapable`."""
    definition = basis.facts.definition
    if not has_thinking(turn.options) or not definition.is_local_process:
        return turn
    session = basis.session_layer or {}
    layer = {**basis.facts.handshake, **session}
    model = model_in_use(definition, basis.facts.models, basis.requested_model, layer, use_default=use_default)
    if turn.options.model is not None and turn.options.model != current_model(session):
        session = {}  # what it lists is for another model
    fact = find_fact(snapshot, "supportsThinking")
    params = thinking_parameters(definition, model, turn.options, session, thinks=fact.value, source=fact.source)
    return replace(turn, thinking=params) if definition.driver == "cli" else turn


def model_in_use(
    definition: AgentDefinition,
    registry: ModelRegistry,
    requested: Model | None,
    layer: Layer,
    *,
    use_default: bool = True,
) -> Model | None:
    """The model that a turn will use, with what the session's own list states of it; None: unknown. `requested`: the
    one that the run names. `layer`: what agent and session state."""
    listed = _listed_models(layer)
    name = current_model(layer) if requested is None else requested.id
    if name is None and use_default:
        name = next((entry["id"] for entry in listed if entry.get("default") is True), None)
    if name is None:
        return registry.default() if use_default else None
    known = requested or registry.find_known(name)
    names = {name} if known is None else {name, known.id, known.argument, *known.aliases}
    entry = next((entry for entry in listed if entry["id"] in names), None)
    return known if entry is None else merge_listed_model(entry, known, definition.effort.values)


def check_listed(turn: Turn, basis: SnapshotBasis) -> None:
    """Raises `NotCapable` for a model that the session's own list does not have, unless the agent takes any name."""
    facts = basis.facts
    name = turn.options.model
    listed = _listed_models(basis.session_layer or {})
    if name is None or not listed or facts.definition.open_models is True or facts.definition.driver != "cli":
        return
    known = [entry["id"] for entry in listed]
    model = basis.requested_model
    if {name} & {*known} or (model is not None and {model.id, model.argument, *model.aliases} & {*known}):
        return
    raise NotCapable(
        f"Agent '{facts.definition.id}' has no model {name!r}: {MODELS} has {', '.join(known)}, stated by the session. "
        "Choose one of these, or leave it out.",
        agent=facts.definition.id,
        capability=MODELS,
        source="session (what the session reported)",
        known=known,
        pointer=MODEL_POINTER,
    )


def _listed_models(layer: Layer) -> list[Mapping[str, Any]]:
    listed = layer.get(MODELS)
    return listed if isinstance(listed, list) else []
