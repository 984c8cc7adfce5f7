"""A model as agent-mux's `ModelCapabilities`.

In: an agent's definition and one of its models. Out: the JSON object, every field of the interface. The model's word
stands before the agent's; what neither knows is absent. The interface requires some of that: `unknown` names those.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from decimal import Decimal
from typing import Any, Literal

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.effort import LEVELS, budget, levels
from gateway.catalog.models.definition import Model
from gateway.catalog.sections import FlagTable

Source = Literal["bundled", "remote"]

OWN_WORDS = {"acp": ("session/set_model", "{model}")}
"""Drivers whose protocol has a word of its own for the choice of a model; in the others it is a field called so."""
OWN_WORD = ("model", "{model}")

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
    key, value = model_argument(definition, model)
    told = {
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
    unknown = [name for name in FIELDS if told[name] is None and name not in OPTIONAL]
    shown = {name: told[name] for name in FIELDS if told[name] is not None}
    return shown | ({"unknown": unknown} if unknown else {})


def model_argument(definition: AgentDefinition, model: Model) -> tuple[str, str]:
    """How the agent is told: an option of its command and the value, or its protocol's own word."""
    name = model.argument or model.id
    ways = [definition.cli, *(fallback.cli for fallback in definition.fallback)]
    flags = [way.flags.model for way in ways if way is not None and way.flags.model is not None]
    key, value = _of_flag(flags[0]) if flags else OWN_WORDS.get(definition.driver, OWN_WORD)
    return key, value.replace("{model}", name)


def _of_flag(flag: FlagTable) -> tuple[str, str]:
    """`["--model", "{model}"]`, `["--model={model}"]`, or a variable of the environment."""
    for number, argument in enumerate(flag.args):
        if "{model}" in argument:
            option, joined, value = argument.partition("=")
            if joined and option.startswith("-"):
                return option, value
            return flag.args[number - 1] if number else OWN_WORD[0], argument
    return next(((name, value) for name, value in flag.env.items() if "{model}" in value), OWN_WORD)


def _prices(model: Model) -> dict[str, float | None]:
    price = model.price
    return {
        "inputPricePerMillion": _number(price.input),
        "outputPricePerMillion": _number(price.output),
        "thinkingPricePerMillion": _number(price.thinking),
        "cachedInputPricePerMillion": _number(price.cached_input),
    }


def _number(amount: Decimal | None) -> float | None:
    return None if amount is None else float(amount)


def _abilities(definition: AgentDefinition, model: Model) -> dict[str, Any]:
    manifest, offered, takes = definition.manifest, levels(definition, model), budget(definition, model)
    said = {
        "supportsThinking": (model.thinking, _agents(definition, "reasoning", "supported")),
        "supportsToolCalling": (model.tools, _agents(definition, "tools", "supported")),
        "supportsParallelToolCalls": (model.parallel_tools, _agents(definition, "tools", "parallelCalls")),
        "supportsToolCallStreaming": (model.tool_streaming, manifest.supports_tool_call_streaming),
        "supportsJsonMode": (model.json_mode, manifest.supports_json_mode),
        "supportsStructuredOutput": (model.structured_output, _agents(definition, "output", "structuredOutput")),
        "supportsTextStreaming": (model.text_streaming, manifest.supports_text_streaming),
        "supportsThinkingStreaming": (
            False if model.thinking is False else model.thinking_streaming,
            _agents(definition, "reasoning", "streaming"),
            manifest.supports_thinking_streaming,
        ),
        "supportsImageInput": (model.image_input, _agents(definition, "multimodal", "input", "image")),
        "supportsImageOutput": (model.image_output, _agents(definition, "multimodal", "output", "image")),
        "supportsFileInput": (
            model.file_input,
            _agents(definition, "multimodal", "input", "file"),
            manifest.supports_file_attachments,
        ),
    }
    return {
        **{name: next((word for word in words if word is not None), None) for name, words in said.items()},
        "thinkingEffortLevels": None if offered is None else [level for level in LEVELS if level in offered],
        "thinkingBudgetRange": list(takes) if isinstance(takes, tuple) else None,
    }


def _agents(definition: AgentDefinition, *path: str) -> bool | None:
    """The agent's own word, as its file has it."""
    found: Any = definition.capabilities
    for name in path:
        found = found.get(name) if isinstance(found, Mapping) else None
    return found if isinstance(found, bool) else None
