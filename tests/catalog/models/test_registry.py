"""The models of an agent: found and described. `test_lookup` is about names, `test_discovery` about live agents."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.field_types import OPTIONS
from gateway.catalog.load import bundled, load_catalog
from gateway.catalog.models.definition import Model
from gateway.catalog.models.registry import ModelRegistry
from tests.catalog.example_agent import otter

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)

OPTIONAL = {
    "modelAlias",
    "deprecatedSince",
    "successorModelId",
    "maxThinkingTokens",
    "inputPricePerMillion",
    "outputPricePerMillion",
    "thinkingPricePerMillion",
    "cachedInputPricePerMillion",
    "thinkingEffortLevels",
    "thinkingBudgetRange",
    "provider",
    "providerModelId",
    "protocol",
    "deployment",
    "supportsLocalModels",
}
REQUIRED = {
    "agent",
    "modelId",
    "displayName",
    "deprecated",
    "contextWindow",
    "maxOutputTokens",
    "supportsThinking",
    "supportsToolCalling",
    "supportsParallelToolCalls",
    "supportsToolCallStreaming",
    "supportsJsonMode",
    "supportsStructuredOutput",
    "supportsTextStreaming",
    "supportsThinkingStreaming",
    "supportsImageInput",
    "supportsImageOutput",
    "supportsFileInput",
    "cliArgKey",
    "cliArgValue",
    "lastUpdated",
    "source",
}
"""agent-mux's `ModelCapabilities`."""
EXTRAS = {
    "thinkingEffortValues",
    "thinkingOverrideParameters",
    "cacheWritePricePerMillion",
    "cacheWrite1hPricePerMillion",
    "priceTiers",
    "supportsPdfInput",
}
"""What it has no fields for."""

FULL: dict[str, Any] = {
    "id": "m",
    "aliases": ("a",),
    "name": "M",
    "deprecated": "2026-01-01",
    "successor": "n",
    "context": 10,
    "output": 5,
    "thinking": True,
    "max_thinking": 4,
    "effort": {"high": "h"},
    "budget": (1, 2),
    "price": {
        "input": "1.5",
        "cached_input": "0.5",
        "output": "2",
        "thinking": "3",
        "cache_write": "4",
        "tiers": ({"above": 9, "input": "6"},),
    },
    "pdf_input": False,
    "tools": True,
    "parallel_tools": False,
    "tool_streaming": True,
    "json_mode": False,
    "structured_output": True,
    "text_streaming": True,
    "thinking_streaming": False,
    "image_input": True,
    "image_output": False,
    "file_input": True,
    "provider": "p",
    "provider_model": "pm",
    "protocol": "messages",
    "deployment": "hosted",
    "local": False,
}


def registry(**more: Any) -> ModelRegistry:
    return ModelRegistry(otter(**more))


def ids(models: list[dict[str, Any]]) -> ModelRegistry:
    return registry(models=tuple(models))


def model(registry: ModelRegistry, name: str) -> Model:
    found = registry.find(name)
    assert found is not None
    return found


# -- found


def test_a_model_is_found_by_its_id_an_alias_or_its_argument() -> None:
    models = registry()
    for name in ("otter-2-small", "small", "otter-s"):
        assert model(models, name).id == "otter-2-small"
    assert models.find("Small") is models.find("otter") is models.find("") is None


def test_the_default_is_the_one_that_is_marked() -> None:
    found = registry().default()
    assert found is not None and found.id == "otter-2-large"
    assert registry(models=({"id": "a"},)).default() is None


def test_the_catalog_marks_the_default() -> None:
    listed = registry().to_json()
    assert [one["modelId"] for one in listed] == ["otter-2-large", "otter-2-small", "otter-1"]
    assert [one["isDefault"] for one in listed] == [True, False, False]


# -- complete


@pytest.mark.parametrize(
    ("models", "is_open"),
    [
        ([], True),
        ([{"id": "a"}, {"id": "b"}], False),
        ([{"id": "a"}, {"id": "ann/b"}], True),
        ([{"id": "a", "local": True}], True),
        ([{"id": "a", "local": False, "deployment": "hosted"}], False),
        ([{"id": "a", "deployment": "gateway"}], True),
    ],
)
def test_a_list_is_complete_unless_it_shows_that_models_come_from_elsewhere(
    models: list[dict[str, Any]], is_open: bool
) -> None:
    some = ids(models)
    assert some.is_open is is_open
    some.refresh([{"id": "ann/c"}], NOW)
    assert not some.is_open


@pytest.mark.parametrize("is_open", [True, False])
def test_what_the_file_states_of_other_names_counts(is_open: bool) -> None:
    some = registry(open_models=is_open, models=({"id": "a"}, {"id": "ann/b"}))
    assert some.is_open is is_open
    some.refresh([{"id": "a"}], NOW)
    assert some.is_open is is_open


# -- described


def test_a_full_entry_has_every_field_of_the_interface() -> None:
    described = registry(models=(FULL,), options=OPTIONS).to_json()[0]
    assert set(described) == REQUIRED | OPTIONAL | EXTRAS - {"cacheWrite1hPricePerMillion"} | {"isDefault"}
    assert described == {
        "agent": "otter",
        "modelId": "m",
        "modelAlias": "a",
        "displayName": "M",
        "deprecated": True,
        "deprecatedSince": "2026-01-01",
        "successorModelId": "n",
        "contextWindow": 10,
        "maxOutputTokens": 5,
        "maxThinkingTokens": 4,
        "inputPricePerMillion": 1.5,
        "outputPricePerMillion": 2.0,
        "thinkingPricePerMillion": 3.0,
        "cachedInputPricePerMillion": 0.5,
        "supportsThinking": True,
        "thinkingEffortLevels": ["high"],
        "thinkingBudgetRange": [1, 2],
        "supportsToolCalling": True,
        "supportsParallelToolCalls": False,
        "supportsToolCallStreaming": True,
        "supportsJsonMode": False,
        "supportsStructuredOutput": True,
        "supportsTextStreaming": True,
        "supportsThinkingStreaming": False,
        "supportsImageInput": True,
        "supportsImageOutput": False,
        "supportsFileInput": True,
        "provider": "p",
        "providerModelId": "pm",
        "protocol": "messages",
        "deployment": "hosted",
        "supportsLocalModels": False,
        "cliArgKey": "--model",
        "cliArgValue": "m",
        "lastUpdated": "2026-01-15T00:00:00Z",
        "source": "bundled",
        "isDefault": False,
        "thinkingEffortValues": {"high": "h"},
        "thinkingOverrideParameters": ["think", "budget_tokens", "style"],
        "cacheWritePricePerMillion": 4.0,
        "priceTiers": [{"above": 9, "inputPricePerMillion": 6.0}],
        "supportsPdfInput": False,
    }


def test_the_translation_of_effort_is_visible_to_a_user() -> None:
    """agent-mux §8: which value each level becomes, and which names thinkingOverride takes."""
    codex = ModelRegistry(load_catalog([bundled()])["codex"])
    described = codex.describe(model(codex, "gpt-5.5"))
    assert described["thinkingEffortValues"]["max"] == "xhigh"
    assert described["thinkingOverrideParameters"] == ["effort", "summary"]


def test_where_the_model_states_nothing_the_agent_counts() -> None:
    agent = {
        "reasoning": {"supported": True, "streaming": True},
        "tools": {"supported": True, "parallel_calls": False},
        "output": {"structured_output": True},
        "multimodal": {"input": {"image": True, "file": False}, "output": {"image": False}},
    }
    manifest = {"supports_json_mode": True, "supports_text_streaming": True, "supports_tool_call_streaming": False}
    only = ({"id": "m", "image_input": False},)
    models = registry(capabilities=agent, manifest=manifest, models=only, options=OPTIONS)
    described = models.describe(model(models, "m"))
    assert (described["supportsImageInput"], described["supportsImageOutput"], described["supportsFileInput"]) == (
        False,
        False,
        False,
    )
    assert described["supportsThinking"] and described["supportsThinkingStreaming"] and described["supportsToolCalling"]
    assert described["supportsParallelToolCalls"] is described["supportsToolCallStreaming"] is False
    assert (
        described["supportsJsonMode"] and described["supportsTextStreaming"] and described["supportsStructuredOutput"]
    )


def test_unknown_values_are_absent_and_listed_as_unknown() -> None:
    described = ModelRegistry(otter(models=({"id": "m"},), effort={}, verified=None)).to_json()[0]
    known = {"agent", "modelId", "displayName", "deprecated", "cliArgKey", "cliArgValue", "source"}
    assert set(described) == known | {"thinkingEffortLevels", "isDefault", "unknown"}
    assert set(described["unknown"]) == REQUIRED - known
    assert described["thinkingEffortLevels"] == []  # of an agent on the command line its file says it all


def test_a_model_thinks_only_where_a_run_may_ask_for_it() -> None:
    """agent-mux §5: as in the agent's own manifest, a field is not true where the run is refused."""
    for options, expected in (("model",), (False, [])), (("effort",), (True, ["low", "medium", "high", "max"])):
        models = registry(options=options)
        described = models.describe(model(models, "large"))
        assert (described["supportsThinking"], described["thinkingEffortLevels"]) == expected


def test_a_model_that_does_not_think_streams_no_thoughts() -> None:
    models = registry(capabilities={"reasoning": {"streaming": True}})
    described = models.describe(model(models, "small"))
    assert (described["supportsThinking"], described["supportsThinkingStreaming"]) == (False, False)
    assert described["thinkingEffortLevels"] == []


@pytest.mark.parametrize(
    ("flag", "key", "value"),
    [
        (["--model", "{model}"], "--model", "otter-s"),
        (["-c", "model={model}"], "-c", "model=otter-s"),
        (["--model={model}"], "--model", "otter-s"),
        (["{model}"], "model", "otter-s"),
        ({"env": {"OTTER_MODEL": "{model}"}}, "OTTER_MODEL", "otter-s"),
        ({"args": ["--x"], "env": {"A": "b", "OTTER_MODEL": "x/{model}"}}, "OTTER_MODEL", "x/otter-s"),
        (None, "model", "otter-s"),
    ],
)
def test_how_the_agent_is_reported_of_its_model(flag: Any, key: str, value: str) -> None:
    models = registry(cli={"dialect": "otter-json", "flags": {"model": flag}})
    described = models.describe(model(models, "small"))
    assert (described["cliArgKey"], described["cliArgValue"]) == (key, value)


def test_an_acp_agent_receives_its_model_by_protocol() -> None:
    models = registry(driver="acp", cli=None)
    assert models.describe(model(models, "large"))["cliArgKey"] == "session/set_model"


def test_a_model_is_verified_when_it_or_its_file_is() -> None:
    models = registry()
    assert models.describe(model(models, "large"))["lastUpdated"] == "2026-02-03T00:00:00Z"
    assert models.describe(model(models, "small"))["lastUpdated"] == "2026-01-15T00:00:00Z"
    assert models.last_updated == "2026-02-03T00:00:00Z"
    assert registry(verified=None, models=()).last_updated is None


@pytest.mark.parametrize("definition", load_catalog([bundled()]).values(), ids=lambda definition: str(definition.id))
def test_the_models_of_a_bundled_agent_are_described_without_contradictions(definition: AgentDefinition) -> None:
    models = ModelRegistry(definition)
    names = [one.id for one in definition.models]
    assert len(set(names)) == len(names)
    for one in definition.models:
        described = models.describe(one)
        assert set(described) <= REQUIRED | OPTIONAL | EXTRAS | {"unknown"}
        assert models.validate(one.id).model is one
        assert all(models.validate(alias).status in ("alias", "deprecated", "ok") for alias in one.aliases)
        assert one.successor is None or one.successor in names
    assert sum(one.default for one in definition.models) <= 1
