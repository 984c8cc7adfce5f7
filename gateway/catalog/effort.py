"""Thinking options of a run → the agent's own parameters, or a refusal.

In: an agent's `[effort]`, one of its models, what its session offers, a run's options. Out: what may be asked for, and
the parameters under the agent's names. The model's table takes precedence over the agent's; an ACP session offers its
levels itself. `thinkingOverride` takes precedence over all, but only for parameters that the file lists: another could
be about permissions. A refusal has agent-mux's message, the source of the statement and what to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from gateway.capability_paths import CONFIG, CWD, MODEL, MODELS, OPTIONS
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.models.definition import Model, UnlistedModel
from gateway.catalog.sections import Level
from gateway.errors import NotCapable
from gateway.events import Layer
from gateway.turn import Options

Table = Mapping[Level, str | int]

LEVELS: tuple[Level, ...] = get_args(Level)
"""In ascending order."""

EFFORT_CATEGORY = "thought_level"
"""The category of the config option by which an ACP session sets the effort
(https://agentclientprotocol.com/protocol/session-config-options)."""
MODEL_PARAMETER = "model"
"""The `[effort]` parameter of an agent whose models have the effort in their names."""
SYNONYMS: Mapping[Level, str] = {"max": "xhigh"}
"""Level → another name that some agents have for it."""

EFFORT_POINTER = "/forwardedProps/gateway/effort"
BUDGET_POINTER = "/forwardedProps/gateway/thinkingBudgetTokens"
OVERRIDE_POINTER = "/forwardedProps/gateway/thinkingOverride"

# The capabilities that a refusal names.
THINKING_CAPABILITY = "reasoning.supported"
LEVELS_CAPABILITY = "custom.mux.thinkingEffortLevels"
BUDGET_CAPABILITY = "custom.mux.supportsThinkingBudgetTokens"
RANGE_CAPABILITY = "custom.model.thinkingBudgetRange"
OVERRIDE_CAPABILITY = f"{OPTIONS}.thinkingOverride"


def thinking_parameters(
    definition: AgentDefinition,
    model: Model | None,
    options: Options,
    session_layer: Layer | None = None,
    *,
    thinks: bool | None = None,
    source: str | None = None,
) -> dict[str, Any]:
    """The agent's thinking parameters for this run; empty where the run sets no option. `model`: the one that the
    session will use; the others as for `check_thinking`. Raises `NotCapable`."""
    check_thinking(definition, model, options, session_layer, thinks=thinks, source=source)
    params: dict[str, Any] = {}
    level: Any = options.effort
    parameter = effort_parameter(definition, session_layer)
    if level is not None and parameter is not None:
        params[parameter] = (offered_effort(definition, model, session_layer) or {})[level]
    if options.thinking_budget_tokens is not None and definition.effort.budget_parameter is not None:
        params[definition.effort.budget_parameter] = options.thinking_budget_tokens
    return params | dict(options.thinking_override or {})


# -- what the agent offers


def offered_effort(
    definition: AgentDefinition, model: Model | None = None, session_layer: Layer | None = None
) -> dict[Level, str | int] | None:
    """Effort level → the agent's own value for it, in ascending order. Empty: there are no levels; None: unknown.

    `session_layer`: of an open session; an ACP session lists its own levels there."""
    if model is not None and model.thinking is False:
        return {}
    stated = None if model is None else model.effort
    if definition.driver == "acp" and _is_open(session_layer):
        if effort_parameter(definition, session_layer) == MODEL_PARAMETER:
            return _listed_variants(definition, session_layer or {})
        return _session_effort(_effort_option(session_layer), {**definition.effort.values, **(stated or {})})
    if stated is None:
        stated = definition.effort.values or ({} if _is_complete(definition) else None)
    return None if stated is None else {level: stated[level] for level in LEVELS if level in stated}


def _session_effort(option: Mapping[str, Any] | None, stated: Table) -> dict[Level, str | int]:
    """The levels for which the session's option has a value: the one that the file states, the level's own name, or
    another name of it."""
    values = [] if option is None else [choice["value"] for choice in option["options"]]
    names = {level: (stated.get(level), level, SYNONYMS.get(level)) for level in LEVELS}
    found = {level: next((name for name in names[level] if name in values), None) for level in LEVELS}
    return {level: name for level, name in found.items() if name is not None}


def _listed_variants(definition: AgentDefinition, session_layer: Layer) -> dict[Level, str | int]:
    """The levels for which the session lists a variant of its model."""
    ids = {entry["id"] for entry in session_layer.get(MODELS) or ()}
    current, values = session_layer.get(MODEL), definition.effort.values
    if not isinstance(current, str):
        return {}
    return {level: values[level] for level in LEVELS if model_variant(definition, current, values.get(level)) in ids}


def model_variant(definition: AgentDefinition, model: str, value: Any) -> str | None:
    """The model's name with an effort in it. `value`: of `[effort]`, with `{model}`. A name that has an effort already
    gets this one instead."""
    if not isinstance(value, str):
        return None
    endings = [str(each).replace("{model}", "", 1) for each in definition.effort.values.values()]
    found = [ending for ending in endings if ending and model.endswith(ending)]
    return value.replace("{model}", model.removesuffix(max(found, key=len, default="")))


def effort_parameter(definition: AgentDefinition, session_layer: Layer | None = None) -> str | None:
    """The agent's parameter that takes an effort level: of an ACP session the id of its config option. None: unknown,
    or there is none."""
    if definition.driver == "acp" and _is_open(session_layer):
        option = _effort_option(session_layer)
        if option is not None:
            return str(option["id"])
        return MODEL_PARAMETER if definition.effort.parameter == MODEL_PARAMETER else None
    return definition.effort.parameter


def _is_open(session_layer: Layer | None) -> bool:
    """Every open session states its folder; before that the layer has only what the gateway knows."""
    return session_layer is not None and CWD in session_layer


def _effort_option(session_layer: Layer | None) -> Mapping[str, Any] | None:
    config = (session_layer or {}).get(CONFIG) or ()
    return next((option for option in config if option.get("category") == EFFORT_CATEGORY), None)


def all_levels(definition: AgentDefinition) -> list[Level] | None:
    """The levels that the agent offers with at least one of its models. None: unknown."""
    tables = [offered_effort(definition), *(offered_effort(definition, model) for model in definition.models)]
    if all(table is None for table in tables):
        return None
    return [level for level in LEVELS if any(level in (table or {}) for table in tables)]


def offered_budget(definition: AgentDefinition, model: Model | None = None) -> tuple[int, int] | bool | None:
    """The range of a thinking budget. True: any number; False: not supported; None: unknown."""
    effort = definition.effort
    if model is not None and (model.thinking is False or model.budget is False):
        return False
    if effort.budget_parameter is None and _is_complete(definition):
        return False
    if model is not None and model.budget is not None:
        return model.budget
    return effort.budget_range or (True if effort.budget_parameter is not None else None)


def override_names(definition: AgentDefinition, session_layer: Layer | None = None) -> list[str]:
    """The parameters that `thinkingOverride` may set."""
    effort = definition.effort
    names = (effort_parameter(definition, session_layer), effort.budget_parameter, *effort.override_parameters)
    return list(dict.fromkeys(name for name in names if name is not None))


def _is_complete(definition: AgentDefinition) -> bool:
    """Whether the file lists everything: for what it does not list, the gateway has no parameter. An empty table of
    `values` states that there are no levels."""
    effort = definition.effort
    is_stated = "values" in effort.model_fields_set
    return definition.driver == "cli" or is_stated or bool(effort.parameter or effort.budget_parameter)


# -- refusals


def require_variant(definition: AgentDefinition, name: str | None, value: Any) -> str:
    """The name of the model with an effort in it. `name`: the model of the run or of its session. Raises `NotCapable`
    if there is none."""
    if name is not None and (variant := model_variant(definition, name, value)) is not None:
        return variant
    source = source_of(definition, None, "effort")
    message = f"Agent '{definition.id}' takes an effort only together with a model"
    reason = f"the effort is a part of the model's name, stated by {source}"
    raise _refusal(definition, message, reason, "Name the model too", LEVELS_CAPABILITY, source, EFFORT_POINTER)


def check_thinking(
    definition: AgentDefinition,
    model: Model | None,
    options: Options,
    session_layer: Layer | None = None,
    *,
    thinks: bool | None = None,
    source: str | None = None,
) -> None:
    """Raises `NotCapable` for a thinking option that is not supported.

    `session_layer`: of the open session. `thinks`: the value of `reasoning.supported` in the merged capabilities;
    `source`: the layer that states it."""
    if options.effort is not None:
        _check_supported(definition, model, thinks, source, EFFORT_POINTER)
        _check_level(definition, model, options.effort, session_layer)
    if options.thinking_budget_tokens is not None:
        _check_supported(definition, model, thinks, source, BUDGET_POINTER)
        _check_budget(definition, model, options.thinking_budget_tokens)
    if options.thinking_override and definition.driver != "remote":  # the remote gateway checks the names
        _check_override(definition, options.thinking_override, session_layer)


def _check_supported(
    definition: AgentDefinition, model: Model | None, thinks: bool | None, source: str | None, pointer: str
) -> None:
    option = pointer.rpartition("/")[2]
    # A later layer can correct the model's entry; where no layer states anything, the entry counts.
    if model is not None and model.thinking is False and thinks is not True:
        message = f"Model '{model.id}' on agent '{definition.id}' does not support thinking"
        source = source if thinks is False and source else model_entry(definition, model)
    elif thinks is False:
        message = f"Agent '{definition.id}' does not support thinking/reasoning mode"
    else:
        return
    reason = f"{THINKING_CAPABILITY} is false, stated by {source}"
    advice = f"Omit {option}, or choose a model that supports thinking"
    raise _refusal(definition, message, reason, advice, THINKING_CAPABILITY, source, pointer)


def _check_level(definition: AgentDefinition, model: Model | None, level: str, session_layer: Layer | None) -> None:
    offered = offered_effort(definition, model, session_layer)
    if offered is None or level in offered:
        return
    source = source_of(definition, model, "effort")
    subject = f"Model '{model.id}'" if model is not None else f"Agent '{definition.id}'"
    if definition.driver == "acp" and _is_open(session_layer):
        source = "session (what it lists as config options)"
        subject = f"The session of agent '{definition.id}'"
    message = f"{subject} does not support thinking effort level '{level}'"
    reason = f"the levels are {', '.join(offered) or 'none'}, stated by {source}"
    advice = "Choose one of them, or omit effort" if offered else "Omit effort"
    raise _refusal(definition, message, reason, advice, LEVELS_CAPABILITY, source, EFFORT_POINTER)


def _check_budget(definition: AgentDefinition, model: Model | None, tokens: int) -> None:
    supported = offered_budget(definition, model)
    source = source_of(definition, model, "budget")
    reason = f"stated by {source}"
    if supported is False:
        message = f"Agent '{definition.id}' does not support numeric thinking budget"
        advice = "Use effort instead, or omit thinkingBudgetTokens"
        raise _refusal(definition, message, reason, advice, BUDGET_CAPABILITY, source, BUDGET_POINTER)
    if isinstance(supported, tuple) and not supported[0] <= tokens <= supported[1]:
        subject = f"model '{model.id}'" if model is not None else f"agent '{definition.id}'"
        message = f"Thinking budget {tokens} is outside valid range [{supported[0]}, {supported[1]}] for {subject}"
        raise _refusal(
            definition, message, reason, "Choose a number in this range", RANGE_CAPABILITY, source, BUDGET_POINTER
        )


def _check_override(definition: AgentDefinition, override: Mapping[str, Any], session_layer: Layer | None) -> None:
    allowed = override_names(definition, session_layer)
    if definition.driver in ("python", "remote") and not allowed:
        return  # these receive the options as they are
    for name in override:
        if name not in allowed:
            source = source_of(definition, None, "")
            known = ", ".join(sorted(allowed)) or "none"
            message = f"Agent '{definition.id}' has no thinking parameter '{name}'"
            reason = f"[effort] lists {known}, stated by {source}"
            pointer = f"{OVERRIDE_POINTER}/{name.replace('~', '~0').replace('/', '~1')}"
            raise _refusal(definition, message, reason, "Omit it", OVERRIDE_CAPABILITY, source, pointer)


def _refusal(
    definition: AgentDefinition,
    message: str,
    reason: str,
    advice: str,
    capability: str,
    source: str | None,
    pointer: str,
) -> NotCapable:
    detail = f"{message}: {reason}. {advice}."
    return NotCapable(detail, agent=definition.id, capability=capability, source=source, pointer=pointer)


def model_entry(definition: AgentDefinition, model: Model) -> str:
    """`model (otter.toml: models.otter-2)`: the source of a statement in a model's entry."""
    return f"model ({model_source(definition, model)})"


def model_source(definition: AgentDefinition, model: Model) -> str:
    """Where a model's entry comes from: the file, or the list of the live agent."""
    if any(known.id == model.id for known in definition.models):
        return f"{definition.source.name}: models.{model.id}"
    if isinstance(model, UnlistedModel):
        return "the name that the run gives"
    return f"what the agent lists: {model.id}"


def source_of(definition: AgentDefinition, model: Model | None, key: Literal["effort", "budget", ""]) -> str:
    """The source of a statement: the model's entry if it has the key, otherwise the agent's file."""
    if model is not None and key and (model.thinking is False or getattr(model, key) is not None):
        return model_entry(definition, model)
    return f"profile ({definition.source.name})"
