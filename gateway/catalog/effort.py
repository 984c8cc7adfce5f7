"""The gateway's words for thinking → the agent's own parameters, and who may not have them.

In: an agent's `[effort]`, one of its models, a run's options. Out: parameters by the agent's own names. The model's
table stands before the agent's; `thinkingOverride` is laid over both, but only under names that the file lists: any
other could be about permissions. What cannot be is refused in agent-mux's own words, with who says so and what to do.
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
"""From little to much."""

EFFORT, BUDGET, OVERRIDE = (
    f"/forwardedProps/gateway/{name}" for name in ("effort", "thinkingBudgetTokens", "thinkingOverride")
)

# The capabilities that a refusal names.
THINKS_KEY = "reasoning.supported"
LEVELS_KEY = "custom.mux.thinkingEffortLevels"
BUDGET_KEY = "custom.mux.supportsThinkingBudgetTokens"
RANGE_KEY = "custom.model.thinkingBudgetRange"
OVERRIDE_KEY = "custom.mux.thinkingOverride"


def native(definition: AgentDefinition, model: Model | None, options: Options) -> dict[str, Any]:
    """The agent's thinking parameters for this run; empty where the run asks for nothing."""
    refuse(definition, model, options)
    effort, told = definition.effort, dict[str, Any]()
    level: Any = options.effort
    if level is not None and effort.parameter is not None:
        told[effort.parameter] = (levels(definition, model) or {})[level]
    if options.thinking_budget_tokens is not None and effort.budget is not None:
        told[effort.budget] = options.thinking_budget_tokens
    return told | dict(options.thinking_override or {})


# -- what there is


def levels(definition: AgentDefinition, model: Model | None = None) -> Table | None:
    """Level → the agent's own word for it. None: nobody says which there are."""
    if model is not None and model.thinking is False:
        return {}
    if model is not None and model.effort is not None:
        return model.effort
    return definition.effort.values or ({} if _speaks(definition) else None)


def all_levels(definition: AgentDefinition) -> list[Level] | None:
    """Those that the agent offers with at least one of its models."""
    tables = [levels(definition), *(levels(definition, model) for model in definition.models)]
    if all(table is None for table in tables):
        return None
    return [level for level in LEVELS if any(level in (table or {}) for table in tables)]


def budget(definition: AgentDefinition, model: Model | None = None) -> tuple[int, int] | bool | None:
    """The range of a numeric budget; True: any number; False: it takes none; None: nobody says."""
    effort = definition.effort
    if model is not None and (model.thinking is False or model.budget is False):
        return False
    if effort.budget is None and _speaks(definition):
        return False
    if model is not None and model.budget is not None:
        return model.budget
    return effort.budget_range or (True if effort.budget is not None else None)


def parameters(definition: AgentDefinition) -> set[str]:
    """What `thinkingOverride` may set."""
    effort = definition.effort
    return {name for name in (effort.parameter, effort.budget, *effort.parameters) if name is not None}


def _speaks(definition: AgentDefinition) -> bool:
    """Its file tells all there is to tell: whatever it does not list, the gateway has no way to ask for."""
    effort = definition.effort
    return definition.driver == "cli" or bool(effort.parameter or effort.values or effort.budget)


# -- what there is not


def refuse(
    definition: AgentDefinition,
    model: Model | None,
    options: Options,
    *,
    thinks: bool | None = None,
    said_by: str | None = None,
) -> None:
    """Raises `NotCapable` for a wish about thinking that cannot be met. `thinks`: what the merged capabilities say, by
    the word of `said_by`."""
    if options.effort is not None:
        _thinks(definition, model, thinks, said_by, EFFORT)
        _level(definition, model, options.effort)
    if options.thinking_budget_tokens is not None:
        _thinks(definition, model, thinks, said_by, BUDGET)
        _budget(definition, model, options.thinking_budget_tokens)
    if options.thinking_override and definition.driver != "remote":  # there the far side knows which
        _override(definition, options.thinking_override)


def _thinks(
    definition: AgentDefinition, model: Model | None, thinks: bool | None, said_by: str | None, pointer: str
) -> None:
    wish = pointer.rpartition("/")[2]
    # Later layers may know better than the model's entry; where they are silent, the entry counts.
    if model is not None and model.thinking is False and thinks is not True:
        message = f"Model '{model.id}' on agent '{definition.id}' does not support thinking"
        said_by = said_by if thinks is False and said_by else model_entry(definition, model)
    elif thinks is False:
        message = f"Agent '{definition.id}' does not support thinking/reasoning mode"
    else:
        return
    why, advice = f"{THINKS_KEY} is false, said by {said_by}", f"Leave {wish} out, or choose a model that thinks"
    raise _refusal(message, why, advice, THINKS_KEY, said_by, pointer)


def _level(definition: AgentDefinition, model: Model | None, level: str) -> None:
    offered = levels(definition, model)
    if offered is None or level in offered:
        return
    who = entry(definition, model, "effort")
    of = f"Model '{model.id}'" if model is not None else f"Agent '{definition.id}'"
    message = f"{of} does not support thinking effort level '{level}'"
    known = ", ".join(known for known in LEVELS if known in offered) or "none"
    why = f"the levels are {known}, said by {who}"
    raise _refusal(message, why, "Choose one of them, or leave effort out", LEVELS_KEY, who, EFFORT)


def _budget(definition: AgentDefinition, model: Model | None, number: int) -> None:
    takes = budget(definition, model)
    who = entry(definition, model, "budget")
    if takes is False:
        message = f"Agent '{definition.id}' does not support numeric thinking budget"
        why, advice = f"said by {who}", "Use effort instead, or leave thinkingBudgetTokens out"
        raise _refusal(message, why, advice, BUDGET_KEY, who, BUDGET)
    if isinstance(takes, tuple) and not takes[0] <= number <= takes[1]:
        of = f"model '{model.id}'" if model is not None else f"agent '{definition.id}'"
        message = f"Thinking budget {number} is outside valid range [{takes[0]}, {takes[1]}] for {of}"
        raise _refusal(message, f"said by {who}", "Choose a number in it", RANGE_KEY, who, BUDGET)


def _override(definition: AgentDefinition, given: Mapping[str, Any]) -> None:
    allowed = parameters(definition)
    if definition.driver in ("python", "remote") and not allowed:
        return  # these are given the options as they are
    for name in given:
        if name not in allowed:
            who = entry(definition, None, "")
            known = ", ".join(sorted(allowed)) or "none"
            message = f"Agent '{definition.id}' has no thinking parameter '{name}'"
            why = f"[effort] lists {known}, said by {who}"
            pointer = f"{OVERRIDE}/{name.replace('~', '~0').replace('/', '~1')}"
            raise _refusal(message, why, "Leave it out", OVERRIDE_KEY, who, pointer)


def _refusal(message: str, why: str, advice: str, capability: str, said_by: str | None, pointer: str) -> NotCapable:
    return NotCapable(f"{message}: {why}. {advice}.", capability=capability, source=said_by, pointer=pointer)


def model_entry(definition: AgentDefinition, model: Model) -> str:
    """`model (otter.toml: models.otter-2)`: who says what a model's entry says."""
    return f"model ({model_source(definition, model)})"


def model_source(definition: AgentDefinition, model: Model) -> str:
    if any(known.id == model.id for known in definition.models):
        return f"{definition.source.name}: models.{model.id}"
    return f"what the agent lists: {model.id}"


def entry(definition: AgentDefinition, model: Model | None, key: Literal["effort", "budget", ""]) -> str:
    """Who speaks of this: the model's entry where it does, else the agent's file."""
    if model is not None and key and (model.thinking is False or getattr(model, key) is not None):
        return model_entry(definition, model)
    return f"profile ({definition.source.name})"
