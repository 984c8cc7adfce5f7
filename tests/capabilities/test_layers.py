"""What a file and a model say, as layers."""

from __future__ import annotations

from typing import Any

import pytest
from ag_ui.core import AgentCapabilities

from gateway.capabilities.layers import current_model, model_layer, profile_layer
from gateway.capabilities.merge import merge
from gateway.capabilities.model_choice import unlisted_model
from gateway.catalog.models.definition import Model
from tests.capabilities.layer_builders import snapshot
from tests.catalog.example_agent import otter

OTTER = otter()
LARGE, SMALL, OLD = OTTER.models


# -- the file


def test_the_manifest_has_agent_mux_s_names() -> None:
    manifest: dict[str, Any] = {
        "supports_mcp": True,
        "supports_agents_md": False,
        "approval_modes": ("yolo", "prompt"),
        "plugin_registries": ({"name": "npm", "url": "https://otter.example"},),
        "auth_files": (),
    }
    tree = merge([profile_layer(otter(manifest=manifest, effort={}, models=(), driver="acp"))]).tree()
    assert tree["custom"]["mux"] == {
        "supportsMCP": True,
        "supportsAgentsMd": False,
        "approvalModes": ["yolo", "prompt"],
        "pluginRegistries": [{"name": "npm", "url": "https://otter.example", "searchable": False}],
        "authFiles": [],
    }


def test_what_the_manifest_leaves_out_is_absent() -> None:
    silent = otter(driver="acp", cli=None, effort={}, models=())
    assert [path for path in profile_layer(silent).values if path.startswith("custom.")] == []


def test_effort_is_included() -> None:
    values = profile_layer(OTTER).values
    assert values["custom.mux.thinkingEffortLevels"] == ["low", "medium", "high", "max"]
    assert values["custom.mux.supportsThinkingBudgetTokens"] is True


# -- the model


def test_a_model_s_statement_beats_the_agent_s() -> None:
    agent = otter(capabilities={"reasoning": {"supported": True, "streaming": True}})
    found = snapshot(agent, model_layer(agent, agent.models[1]))
    assert (found.get("reasoning.supported"), found.get("reasoning.streaming")) == (False, False)
    assert found.get("custom.mux.thinkingEffortLevels") == []
    assert found.get("custom.mux.supportsThinkingBudgetTokens") is False
    assert found.source_of("reasoning.supported") == "model (otter.toml: models.otter-2-small)"
    assert found.explain()["reasoning.supported"]["overridden"][0]["layer"] == "profile"


def test_every_ability_of_a_model_has_its_key() -> None:
    full = Model(
        id="m",
        thinking=True,
        thinking_streaming=True,
        tools=True,
        parallel_tools=False,
        tool_streaming=False,
        image_input=True,
        image_output=False,
        file_input=True,
        structured_output=True,
        json_mode=False,
        text_streaming=True,
    )
    values = model_layer(OTTER, full).values
    assert {path: value for path, value in values.items() if not path.startswith("custom.model")} == {
        "reasoning.supported": True,
        "reasoning.streaming": True,
        "tools.supported": True,
        "tools.parallelCalls": False,
        "multimodal.input.image": True,
        "multimodal.input.file": True,
        "multimodal.output.image": False,
        "output.structuredOutput": True,
        "custom.mux.supportsJsonMode": False,
        "custom.mux.supportsTextStreaming": True,
        "custom.mux.supportsToolCallStreaming": False,
        "custom.mux.thinkingEffortLevels": ["low", "medium", "high", "max"],
        "custom.mux.supportsThinkingBudgetTokens": True,
    }


def test_a_model_s_numbers_are_included() -> None:
    tree = merge([model_layer(OTTER, LARGE)]).tree()
    assert tree["custom"]["model"] == {
        "id": "otter-2-large",
        "name": "Otter 2 Large",
        "contextWindow": 200_000,
        "maxOutputTokens": 32_000,
        "thinkingBudgetRange": [1024, 4096],
    }
    assert merge([model_layer(OTTER, OLD)]).tree()["custom"]["model"] == {
        "id": "otter-1",
        "deprecated": True,
        "successorModelId": "otter-2-small",
    }
    assert AgentCapabilities.model_validate(tree, strict=True).model_extra == {}


def test_a_model_without_limits_states_only_its_identity() -> None:
    silent = otter(driver="acp", cli=None, effort={}, models=({"id": "m"},))
    assert model_layer(silent, silent.models[0]).values == {"custom.model.id": "m"}


def test_a_model_that_reads_no_pdf_takes_only_that_away() -> None:
    """A model's list says whether it reads PDF files; text files the agent inserts as text."""
    assert model_layer(OTTER, Model(id="m", pdf_input=False)).values["multimodal.input.pdf"] is False
    for value in (True, False):
        assert "multimodal.input.file" not in model_layer(OTTER, Model(id="m", pdf_input=value)).values
    assert "multimodal.input.pdf" not in model_layer(OTTER, Model(id="m", pdf_input=True)).values


def test_what_the_agent_s_file_denies_no_model_adds() -> None:
    agent = otter(capabilities={"multimodal": {"input": {"image": False}}})
    assert "multimodal.input.image" not in model_layer(agent, Model(id="m", image_input=True)).values
    announced = {"multimodal.input.image": True}
    assert model_layer(agent, Model(id="m", image_input=True), announced).values["multimodal.input.image"] is True


def test_what_the_agent_itself_cannot_no_model_can() -> None:
    statement = {"multimodal.input.image": False, "tools.supported": True}
    layer = model_layer(OTTER, Model(id="m", image_input=True, tools=False), statement)
    assert "multimodal.input.image" not in layer.values
    assert layer.values["tools.supported"] is False


def test_the_party_that_lists_a_model_is_its_source() -> None:
    assert model_layer(OTTER, LARGE).source == "otter.toml: models.otter-2-large"
    assert model_layer(OTTER, Model(id="new")).source == "what the agent lists: new"
    assert model_layer(OTTER, unlisted_model("mine")).source == "the name that the run gives"


@pytest.mark.parametrize(
    ("session_layer", "name"),
    [
        ({}, None),
        ({"custom.session.models.current": "x"}, "x"),
        ({"custom.session.models.available": [{"id": "y"}]}, None),
        ({"custom.session.models.current": 3}, None),
        ({"custom.otter.model": "z"}, None),
    ],
)
def test_the_model_of_a_session_stands_in_one_place(session_layer: dict[str, Any], name: str | None) -> None:
    assert current_model(session_layer) == name
