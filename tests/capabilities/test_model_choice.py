"""Which model a run gets: by whatever name it was asked for, or not at all."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

import pytest

from gateway.capabilities.model_choice import choose_model
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.models.registry import ModelRegistry
from gateway.errors import NotCapable
from gateway.turn import Options, Turn
from tests.catalog.example_agent import otter

OTTER = otter(options=("model",))
NOW = datetime(2026, 3, 4, tzinfo=UTC)
OPEN = otter(options=("model",), models=({"id": "ann/otter"}, {"id": "bob/seal"}))
"""Its models begin with a provider: its user may have others."""


def turn_for(name: str | None, *, strict: bool = False) -> Turn:
    return Turn("t", "r", options=Options(model=name, strict=strict))


def refused(definition: AgentDefinition, turn: Turn, registry: ModelRegistry | None = None) -> dict[str, Any]:
    with pytest.raises(NotCapable) as caught:
        choose_model(turn, definition, registry or ModelRegistry(definition))
    return caught.value.problem()


def test_a_run_that_asks_for_none_gets_none() -> None:
    turn = turn_for(None)
    assert choose_model(turn, OTTER, ModelRegistry(OTTER)) == (turn, None)


def test_an_id_is_taken_as_it_is() -> None:
    turn = turn_for("otter-2-large")
    chosen, model = choose_model(turn, OTTER, ModelRegistry(OTTER))
    assert chosen is turn
    assert model is OTTER.models[0]


@pytest.mark.parametrize("name", ["large", "BIG"])
def test_an_alias_goes_to_the_agent_as_the_id_it_stands_for(name: str) -> None:
    chosen, model = choose_model(turn_for(name), OTTER, ModelRegistry(OTTER))
    assert (chosen.options.model, model) == ("otter-2-large", OTTER.models[0])
    assert chosen.warnings == ()


@pytest.mark.parametrize(("driver", "given"), [("cli", "otter-2-small"), ("acp", "otter-s")])
def test_what_the_agent_calls_it_is_the_command_line_s_concern_there_alone(driver: str, given: str) -> None:
    agent = otter(options=("model",), driver=driver)
    assert choose_model(turn_for("small"), agent, ModelRegistry(agent))[0].options.model == given


def test_a_deprecated_model_is_had_with_a_warning() -> None:
    chosen, model = choose_model(turn_for("otter-1"), OTTER, ModelRegistry(OTTER))
    assert model is OTTER.models[2]
    [notice] = chosen.warnings
    assert (notice.code, notice.pointer) == ("MODEL_DEPRECATED", "/forwardedProps/gateway/model")
    assert "use 'otter-2-small' instead" in notice.message


def test_strict_makes_a_refusal_of_it() -> None:
    problem = refused(OTTER, turn_for("otter-1", strict=True))
    assert (problem["modelStatus"], problem["successorModelId"]) == ("deprecated", "otter-2-small")


def test_an_unknown_model_is_refused_with_what_was_perhaps_meant() -> None:
    problem = refused(OTTER, turn_for("otter-2-lage"))
    assert (problem["status"], problem["code"]) == (422, "CAPABILITY_ERROR")
    assert (problem["capability"], problem["source"]) == ("custom.gateway.options.model", "profile (otter.toml)")
    assert (problem["modelStatus"], problem["suggestions"][0]) == ("unknown", "otter-2-large")
    assert problem["pointer"] == "/forwardedProps/gateway/model"
    assert "/agents/otter/models" in problem["detail"]


def test_a_name_that_could_be_several_is_refused_with_all_of_them() -> None:
    problem = refused(OTTER, turn_for("otter-2"))
    assert (problem["modelStatus"], problem["suggestions"]) == ("ambiguous", ["otter-2-large", "otter-2-small"])


def test_where_models_come_from_elsewhere_a_name_is_handed_on_with_a_warning() -> None:
    chosen, model = choose_model(turn_for("eve/whale"), OPEN, ModelRegistry(OPEN))
    assert model is not None
    assert (chosen.options.model, model.id, model.model_fields_set) == ("eve/whale", "eve/whale", {"id"})
    [notice] = chosen.warnings
    assert notice.detail == {"modelStatus": "unknown", "suggestions": []}
    assert notice.code == "MODEL_UNKNOWN" and "unchanged" in notice.message
    assert refused(OPEN, turn_for("eve/whale", strict=True))["modelStatus"] == "unknown"


@pytest.mark.parametrize("name", ["otter-2-large-20260101", "us.otter.otter-2-large-v1:0", "large[1m]"])
def test_names_of_versions_clouds_and_variants_are_taken_where_the_agent_takes_any(name: str) -> None:
    """agent-mux §6, unknown models at run time."""
    agent = otter(options=("model",), open_models=True)
    chosen, model = choose_model(turn_for(name), agent, ModelRegistry(agent))
    assert model is not None and (chosen.options.model, model.id) == (name, name)
    [notice] = chosen.warnings
    assert "otter-2-large" in notice.detail["suggestions"]
    assert refused(agent, turn_for(name, strict=True))["modelStatus"] == "unknown"


def test_the_provider_s_own_name_of_a_model_has_its_facts_and_stays_as_it_is() -> None:
    models = ({"id": "otter-2", "provider_model": "otter-2-20260101", "budget": False},)
    agent = otter(options=("model",), open_models=True, models=models)
    chosen, model = choose_model(turn_for("otter-2-20260101"), agent, ModelRegistry(agent))
    assert (chosen.options.model, model) == ("otter-2-20260101", agent.models[0])


def test_once_the_agent_has_listed_them_there_are_no_others() -> None:
    registry = ModelRegistry(OPEN)
    registry.refresh([{"id": "eve/orca"}], NOW)
    problem = refused(OPEN, turn_for("eve/whale"), registry)
    assert problem["source"] == "what the agent lists"
    assert choose_model(turn_for("orca"), OPEN, registry)[0].options.model == "eve/orca"


def test_of_an_agent_without_models_nothing_is_known() -> None:
    agent = otter(options=("model",), models=())
    turn = turn_for("anything")
    assert choose_model(turn, agent, ModelRegistry(agent)) == (turn, None)


def test_an_agent_that_takes_no_model_is_left_to_the_check_of_options() -> None:
    turn = turn_for("nonsense")
    assert choose_model(turn, otter(), ModelRegistry(otter())) == (turn, None)
