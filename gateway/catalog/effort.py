"""Thinking options of a run → the agent's own parameters, or a refusal.

In: an agent's `[effort]`, one of its models, a run's options. Out: parameters under the agent's names. The model's
table takes precedence over the agent's. `thinkingOverride` takes precedence over both, but only for parameters that the
file lists: another could be about permissions. A refusal has agent-mux's message, the source of the statement and what
to do.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, get_args

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.models.definition import Model
from gateway.catalog.sections import Level
from gateway.errors import NotCapable
from gateway.turn import Options

Table = Mapping[Level, str | int]

LEVELS: tuple[Level, ...] = get_args(Level)
"""In ascending order."""

EFFORT_POINTER = "/forwardedProps/gateway/effort"
BUDGET_POINTER = "/forwardedProps/gateway/thinkingBudgetTokens"
OVERRIDE_POINTER = "/forwardedProps/gateway/thinkingOverride"

# The capabilities that a refusal names.
THINKING_CAPABILITY = "reasoning.supported"
LEVELS_CAPABILITY = "custom.mux.thinkingEffortLevels"
BUDGET_CAPABILITY = "custom.mux.supportsThinkingBudgetTokens"
RANGE_CAPABILITY = "custom.model.thinkingBudgetRange"
OVERRIDE_CAPABILITY = "custom.mux.thinkingOverride"


def thinking_parameters(definition: AgentDefinition, model: Model | None, options: Options) -> dict[str, Any]:
    """The agent's thinking parameters for this run; empty where the run sets no option. Raises `NotCapable`."""
    check_thinking(definition, model, options)
    effort = definition.effort
    params: dict[str, Any] = {}
    level: Any = options.effort
    if level is not None and effort.parameter is not None:
        params[effort.parameter] = (levels(definition, model) or {})[level]
    if options.thinking_budget_tokens is not None and effort.budget_parameter is not None:
        params[effort.budget_parameter] = options.thinking_budget_tokens
    return params | dict(options.thinking_override or {})


# -- what the agent offers


def levels(definition: AgentDefinition, model: Model | None = None) -> Table | None:
    """Effort level → the agent's value for it. None: unknown."""
    if model is not None and model.thinking is False:
        return {}
    if model is not None and model.effort is not None:
        return model.effort
    return definition.effort.values or ({} if _is_complete(definition) else None)


def all_levels(definition: AgentDefinition) -> list[Level] | None:
    """The levels that the agent offers with at least one of its models. None: unknown."""
    tables = [levels(definition), *(levels(definition, model) for model in definition.models)]
    if all(table is None for table in tables):
        return None
    return [level for level in LEVELS if any(level in (table or {}) for table in tables)]


def budget(definition: AgentDefinition, model: Model | None = None) -> tuple[int, int] | bool | None:
    """The range of a thinking budget. True: any number; False: not supported; None: unknown."""
    effort = definition.effort
    if model is not None and (model.thinking is False or model.budget is False):
        return False
    if effort.budget_parameter is None and _is_complete(definition):
        return False
    if model is not None and model.budget is not None:
        return model.budget
    return effort.budget_range or (True if effort.budget_parameter is not None else None)


def override_names(definition: AgentDefinition) -> set[str]:
    """The parameters that `thinkingOverride` may set."""
    effort = definition.effort
    names = (effort.parameter, effort.budget_parameter, *effort.override_parameters)
    return {name for name in names if name is not None}


def _is_complete(definition: AgentDefinition) -> bool:
    """Whether the file lists everything: for what it does not list, the gateway has no parameter."""
    effort = definition.effort
    return definition.driver == "cli" or bool(effort.parameter or effort.values or effort.budget_parameter)


# -- refusals


def check_thinking(
    definition: AgentDefinition,
    model: Model | None,
    options: Options,
    *,
    thinks: bool | None = None,
    source: str | None = None,
) -> None:
    """Raises `NotCapable` for a thinking option that is not supported.

    `thinks`: the value of `reasoning.supported` in the merged capabilities; `source`: the layer that states it."""
    if options.effort is not None:
        _check_supported(definition, model, thinks, source, EFFORT_POINTER)
        _check_level(definition, model, options.effort)
    if options.thinking_budget_tokens is not None:
        _check_supported(definition, model, thinks, source, BUDGET_POINTER)
        _check_budget(definition, model, options.thinking_budget_tokens)
    if options.thinking_override and definition.driver != "remote":  # the remote gateway checks the names
        _check_override(definition, options.thinking_override)


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
    raise _refusal(message, reason, advice, THINKING_CAPABILITY, source, pointer)


def _check_level(definition: AgentDefinition, model: Model | None, level: str) -> None:
    offered = levels(definition, model)
    if offered is None or level in offered:
        return
    source = source_of(definition, model, "effort")
    subject = f"Model '{model.id}'" if model is not None else f"Agent '{definition.id}'"
    message = f"{subject} does not support thinking effort level '{level}'"
    known = ", ".join(known for known in LEVELS if known in offered) or "none"
    reason = f"the levels are {known}, stated by {source}"
    raise _refusal(message, reason, "Choose one of them, or omit effort", LEVELS_CAPABILITY, source, EFFORT_POINTER)


def _check_budget(definition: AgentDefinition, model: Model | None, tokens: int) -> None:
    supported = budget(definition, model)
    source = source_of(definition, model, "budget")
    reason = f"stated by {source}"
    if supported is False:
        message = f"Agent '{definition.id}' does not support numeric thinking budget"
        advice = "Use effort instead, or omit thinkingBudgetTokens"
        raise _refusal(message, reason, advice, BUDGET_CAPABILITY, source, BUDGET_POINTER)
    if isinstance(supported, tuple) and not supported[0] <= tokens <= supported[1]:
        subject = f"model '{model.id}'" if model is not None else f"agent '{definition.id}'"
        message = f"Thinking budget {tokens} is outside valid range [{supported[0]}, {supported[1]}] for {subject}"
        raise _refusal(message, reason, "Choose a number in this range", RANGE_CAPABILITY, source, BUDGET_POINTER)


def _check_override(definition: AgentDefinition, override: Mapping[str, Any]) -> None:
    allowed = override_names(definition)
    if definition.driver in ("python", "remote") and not allowed:
        return  # these receive the options as they are
    for name in override:
        if name not in allowed:
            source = source_of(definition, None, "")
            known = ", ".join(sorted(allowed)) or "none"
            message = f"Agent '{definition.id}' has no thinking parameter '{name}'"
            reason = f"[effort] lists {known}, stated by {source}"
            pointer = f"{OVERRIDE_POINTER}/{name.replace('~', '~0').replace('/', '~1')}"
            raise _refusal(message, reason, "Omit it", OVERRIDE_CAPABILITY, source, pointer)


def _refusal(message: str, reason: str, advice: str, capability: str, source: str | None, pointer: str) -> NotCapable:
    return NotCapable(f"{message}: {reason}. {advice}.", capability=capability, source=source, pointer=pointer)


def model_entry(definition: AgentDefinition, model: Model) -> str:
    """`model (otter.toml: models.otter-2)`: the source of a statement in a model's entry."""
    return f"model ({model_source(definition, model)})"


def model_source(definition: AgentDefinition, model: Model) -> str:
    """Where a model's entry comes from: the file, or the list of the live agent."""
    if any(known.id == model.id for known in definition.models):
        return f"{definition.source.name}: models.{model.id}"
    return f"what the agent lists: {model.id}"


def source_of(definition: AgentDefinition, model: Model | None, key: Literal["effort", "budget", ""]) -> str:
    """The source of a statement: the model's entry if it has the key, otherwise the agent's file."""
    if model is not None and key and (model.thinking is False or getattr(model, key) is not None):
        return model_entry(definition, model)
    return f"profile ({definition.source.name})"
