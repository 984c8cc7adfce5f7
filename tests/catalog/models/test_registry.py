"""The models of an agent: found and described. `test_naming` judges names, `test_listed` asks the agent anew."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from gateway.catalog.definition import AgentDefinition
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
    "price": {"input": "1.5", "cached_input": "0.5", "output": "2", "thinking": "3"},
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
    otters = registry()
    for name in ("otter-2-small", "small", "otter-s"):
        assert model(otters, name).id == "otter-2-small"
    assert otters.find("Small") is otters.find("otter") is otters.find("") is None


def test_the_default_is_the_one_that_is_marked() -> None:
    found = registry().default()
    assert found is not None and found.id == "otter-2-large"
    assert registry(models=({"id": "a"},)).default() is None


def test_the_catalog_marks_the_default() -> None:
    listed = registry().catalog()
    assert [one["modelId"] for one in listed] == ["otter-2-large", "otter-2-small", "otter-1"]
    assert [one["isDefault"] for one in listed] == [True, False, False]


# -- complete


@pytest.mark.parametrize(
    ("models", "complete"),
    [
        ([], False),
        ([{"id": "a"}, {"id": "b"}], True),
        ([{"id": "a"}, {"id": "ann/b"}], False),
        ([{"id": "a", "local": True}], False),
        ([{"id": "a", "local": False, "deployment": "hosted"}], True),
        ([{"id": "a", "deployment": "gateway"}], False),
    ],
)
def test_a_list_is_complete_unless_it_shows_that_models_come_from_elsewhere(
    models: list[dict[str, Any]], complete: bool
) -> None:
    some = ids(models)
    assert some.complete is complete
    some.refreshed([{"id": "ann/c"}], NOW)
    assert some.complete


# -- described


def test_a_full_entry_has_every_field_of_the_interface() -> None:
    told = registry(models=(FULL,)).catalog()[0]
    assert set(told) == REQUIRED | OPTIONAL | {"isDefault"}
    assert told == {
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
    }


def test_where_the_model_is_silent_the_agent_speaks() -> None:
    agent = {
        "reasoning": {"supported": True, "streaming": True},
        "tools": {"supported": True, "parallel_calls": False},
        "output": {"structured_output": True},
        "multimodal": {"input": {"image": True, "file": False}, "output": {"image": False}},
    }
    manifest = {"supports_json_mode": True, "supports_text_streaming": True, "supports_tool_call_streaming": False}
    otters = registry(capabilities=agent, manifest=manifest, models=({"id": "m", "image_input": False},))
    told = otters.describe(model(otters, "m"))
    assert (told["supportsImageInput"], told["supportsImageOutput"], told["supportsFileInput"]) == (False, False, False)
    assert told["supportsThinking"] and told["supportsThinkingStreaming"] and told["supportsToolCalling"]
    assert told["supportsParallelToolCalls"] is told["supportsToolCallStreaming"] is False
    assert told["supportsJsonMode"] and told["supportsTextStreaming"] and told["supportsStructuredOutput"]


def test_what_nobody_knows_is_absent_and_said_to_be_unknown() -> None:
    told = ModelRegistry(otter(models=({"id": "m"},), effort={}, verified=None)).catalog()[0]
    known = {"agent", "modelId", "displayName", "deprecated", "cliArgKey", "cliArgValue", "source"}
    assert set(told) == known | {"thinkingEffortLevels", "isDefault", "unknown"}
    assert set(told["unknown"]) == REQUIRED - known
    assert told["thinkingEffortLevels"] == []  # of an agent on the command line its file says it all


def test_a_model_that_does_not_think_streams_no_thoughts() -> None:
    otters = registry(capabilities={"reasoning": {"streaming": True}})
    told = otters.describe(model(otters, "small"))
    assert (told["supportsThinking"], told["supportsThinkingStreaming"]) == (False, False)
    assert told["thinkingEffortLevels"] == []


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
def test_how_the_agent_is_told_of_its_model(flag: Any, key: str, value: str) -> None:
    otters = registry(cli={"dialect": "otter-json", "flags": {"model": flag}})
    told = otters.describe(model(otters, "small"))
    assert (told["cliArgKey"], told["cliArgValue"]) == (key, value)


def test_an_agent_that_speaks_acp_is_told_by_its_protocol() -> None:
    otters = registry(driver="acp", cli=None)
    assert otters.describe(model(otters, "large"))["cliArgKey"] == "session/set_model"


def test_a_model_was_held_against_the_world_when_it_or_its_file_was() -> None:
    otters = registry()
    assert otters.describe(model(otters, "large"))["lastUpdated"] == "2026-02-03T00:00:00Z"
    assert otters.describe(model(otters, "small"))["lastUpdated"] == "2026-01-15T00:00:00Z"
    assert otters.last_updated == "2026-02-03T00:00:00Z"
    assert registry(verified=None, models=()).last_updated is None


@pytest.mark.parametrize("definition", load_catalog([bundled()]).values(), ids=lambda definition: str(definition.id))
def test_the_models_of_a_bundled_agent_are_described_without_contradictions(definition: AgentDefinition) -> None:
    otters = ModelRegistry(definition)
    names = [one.id for one in definition.models]
    assert len(set(names)) == len(names)
    for one in definition.models:
        told = otters.describe(one)
        assert set(told) <= REQUIRED | OPTIONAL | {"unknown"}
        assert otters.validate(one.id).model is one
        assert all(otters.validate(alias).status in ("alias", "deprecated", "ok") for alias in one.aliases)
        assert one.successor is None or one.successor in names
    assert sum(one.default for one in definition.models) <= 1
