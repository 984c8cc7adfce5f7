"""A model as agent-mux's `ModelCapabilities`.

In: an agent's definition and one of its models. Out: the JSON object with every field of the interface. The model's
statement comes before the agent's; a value that neither states is absent. `unknown` lists those of them that the
interface requires.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any, Literal

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.effort import offered_budget, offered_effort, override_names
from gateway.catalog.models.definition import Model, PriceTier
from gateway.catalog.options import may_take
from gateway.catalog.sections import FlagTable

Source = Literal["bundled", "remote"]

PROTOCOL_ARGUMENTS = {"acp": ("session/set_model", "{model}")}
"""Drivers whose protocol has a method for choosing a model; in the others it is a field called `model`."""
DEFAULT_ARGUMENT = ("model", "{model}")

PRICE_NAMES = {
    "input": "inputPricePerMillion",
    "cached_input": "cachedInputPricePerMillion",
    "cache_write": "cacheWritePricePerMillion",
    "cache_write_1h": "cacheWrite1hPricePerMillion",
    "output": "outputPricePerMillion",
    "thinking": "thinkingPricePerMillion",
}
"""Key of a price in `[[models]]` → its name in the JSON."""

# fmt: off
FIELDS = (
    "agent", "modelId", "modelAlias", "displayName", "deprecated", "deprecatedSince", "successorModelId",
    "contextWindow", "maxOutputTokens", "maxThinkingTokens", "inputPricePerMillion", "outputPricePerMillion",
    "thinkingPricePerMillion", "cachedInputPricePerMillion", "supportsThinking", "thinkingEffortLevels",
    "thinkingBudgetRange", "supportsToolCalling", "supportsParallelToolCalls", "supportsToolCallStreaming",
    "supportsJsonMode", "supportsStructuredOutput", "supportsTextStreaming", "supportsThinkingStreaming",
    "supportsImageInput", "supportsImageOutput", "supportsFileInput", "provider", "providerModelId", "protocol",
    "deployment", "supportsLocalModels", "cliArgKey", "cliArgValue", "lastUpdated", "source",
)
OPTIONAL = frozenset((
    "modelAlias", "deprecatedSince", "successorModelId", "maxThinkingTokens", "inputPricePerMillion",
    "outputPricePerMillion", "thinkingPricePerMillion", "cachedInputPricePerMillion", "thinkingEffortLevels",
    "thinkingBudgetRange", "provider", "providerModelId", "protocol", "deployment", "supportsLocalModels",
))
# fmt: on


def describe(definition: AgentDefinition, model: Model, source: Source, updated: str | None) -> dict[str, Any]:
    """The `ModelCapabilities` of a model. `updated`: when its facts were last verified."""
    key, value = model_argument(definition, model)
    values = {
        "agent": definition.id,
        "modelId": model.id,
        "modelAlias": next(iter(model.aliases), None),
        "displayName": model.name or model.id,
        "deprecated": bool(model.deprecated),
        "deprecatedSince": model.deprecated.isoformat() if isinstance(model.deprecated, date) else None,
        "successorModelId": model.successor,
        "contextWindow": model.context,
        "maxOutputTokens": model.output,
        "maxThinkingTokens": model.max_thinking,
        **_prices(model),
        **_abilities(definition, model),
        "provider": model.provider,
        "providerModelId": model.provider_model,
        "protocol": model.protocol,
        "deployment": model.deployment,
        "supportsLocalModels": model.local,
        "cliArgKey": key,
        "cliArgValue": value,
        "lastUpdated": updated,
        "source": source,
    }
    unknown = [name for name in FIELDS if values[name] is None and name not in OPTIONAL]
    known = {name: values[name] for name in FIELDS if values[name] is not None}
    return known | _extras(definition, model) | ({"unknown": unknown} if unknown else {})


def model_argument(definition: AgentDefinition, model: Model) -> tuple[str, str]:
    """How the agent receives the model: a flag of its command and the value, or its protocol's method or field."""
    name = model.argument or model.id
    sections = [definition.cli, *(fallback.cli for fallback in definition.fallback)]
    flags = [cli.flags.model for cli in sections if cli is not None and cli.flags.model is not None]
    key, value = _split_flag(flags[0]) if flags else PROTOCOL_ARGUMENTS.get(definition.driver, DEFAULT_ARGUMENT)
    return key, value.replace("{model}", name)


def _split_flag(flag: FlagTable) -> tuple[str, str]:
    """Name and value of `["--model", "{model}"]`, of `["--model={model}"]`, or of an environment variable."""
    for number, argument in enumerate(flag.args):
        if "{model}" in argument:
            option, joined, value = argument.partition("=")
            if joined and option.startswith("-"):
                return option, value
            return flag.args[number - 1] if number else DEFAULT_ARGUMENT[0], argument
    return next(((name, value) for name, value in flag.env.items() if "{model}" in value), DEFAULT_ARGUMENT)


def _prices(model: Model) -> dict[str, float | None]:
    price = model.price
    thinking = price.output if price.thinking is None and model.thinking else price.thinking
    return {
        "inputPricePerMillion": _number(price.input),
        "outputPricePerMillion": _number(price.output),
        "thinkingPricePerMillion": _number(thinking),
        "cachedInputPricePerMillion": _number(price.cached_input),
    }


def _extras(definition: AgentDefinition, model: Model) -> dict[str, Any]:
    """What agent-mux has no fields for: what a level becomes, which parameters may be set, further prices."""
    price = model.price
    tiers = [
        {"above": tier.above, **{PRICE_NAMES[key]: float(amount) for key, amount in _amounts(tier).items()}}
        for tier in price.tiers
    ]
    extras = {
        "thinkingEffortValues": offered_effort(definition, model) or None,
        "thinkingOverrideParameters": override_names(definition) or None,
        "cacheWritePricePerMillion": _number(price.cache_write),
        "cacheWrite1hPricePerMillion": _number(price.cache_write_1h),
        "priceTiers": tiers or None,
        "supportsPdfInput": model.pdf_input,
    }
    return {name: value for name, value in extras.items() if value is not None}


def _amounts(tier: PriceTier) -> dict[str, Decimal]:
    return tier.model_dump(exclude={"above"}, exclude_none=True)


def _number(amount: Decimal | None) -> float | None:
    return None if amount is None else float(amount)


def _abilities(definition: AgentDefinition, model: Model) -> dict[str, Any]:
    manifest = definition.manifest
    offered = offered_effort(definition, model)
    budget_range = offered_budget(definition, model)
    statements = {
        "supportsThinking": (model.thinking, _agent_capability(definition, "reasoning", "supported")),
        "supportsToolCalling": (model.tools, _agent_capability(definition, "tools", "supported")),
        "supportsParallelToolCalls": (model.parallel_tools, _agent_capability(definition, "tools", "parallelCalls")),
        "supportsToolCallStreaming": (model.tool_streaming, manifest.supports_tool_call_streaming),
        "supportsJsonMode": (model.json_mode, manifest.supports_json_mode),
        "supportsStructuredOutput": (
            model.structured_output,
            _agent_capability(definition, "output", "structuredOutput"),
        ),
        "supportsTextStreaming": (model.text_streaming, manifest.supports_text_streaming),
        "supportsThinkingStreaming": (
            False if model.thinking is False else model.thinking_streaming,
            _agent_capability(definition, "reasoning", "streaming"),
            manifest.supports_thinking_streaming,
        ),
        "supportsImageInput": (model.image_input, _agent_capability(definition, "multimodal", "input", "image")),
        "supportsImageOutput": (model.image_output, _agent_capability(definition, "multimodal", "output", "image")),
        "supportsFileInput": (
            model.file_input,
            model.pdf_input or None,  # without it text files may still be read
            _agent_capability(definition, "multimodal", "input", "file"),
            manifest.supports_file_attachments,
        ),
    }
    abilities = {
        name: next((value for value in values if value is not None), None) for name, values in statements.items()
    }
    if definition.is_local_process:  # whatever the model can do, the field is false where the run is refused
        offered = offered if may_take(definition, "effort") else {}
        abilities["supportsThinking"] = abilities["supportsThinking"] and _takes_thinking_options(definition, model)
    return {
        **abilities,
        "thinkingEffortLevels": None if offered is None else list(offered),
        "thinkingBudgetRange": list(budget_range) if isinstance(budget_range, tuple) else None,
    }


def _takes_thinking_options(definition: AgentDefinition, model: Model) -> bool:
    """Whether a run with this model may set at least one of the options about thinking."""
    offers = {
        "effort": offered_effort(definition, model) != {},
        "thinkingBudgetTokens": offered_budget(definition, model) is not False,
        "thinkingOverride": bool(override_names(definition)),
    }
    return any(may_take(definition, option) for option, is_offered in offers.items() if is_offered)


def _agent_capability(definition: AgentDefinition, *path: str) -> bool | None:
    """A capability of the agent's file."""
    value: Any = definition.capabilities
    for name in path:
        value = value.get(name) if isinstance(value, Mapping) else None
    return value if isinstance(value, bool) else None
