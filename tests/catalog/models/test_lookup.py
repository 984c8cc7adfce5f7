"""Which model a name means, in agent-mux's words."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.catalog.models.registry import ModelRegistry
from tests.agui.streams import steady
from tests.catalog.example_agent import otter


def registry(**more: Any) -> ModelRegistry:
    return ModelRegistry(otter(**more))


def ids(models: list[dict[str, Any]]) -> ModelRegistry:
    return registry(models=tuple(models))


def test_an_id_is_ok() -> None:
    result = registry().validate_json("otter-2-large")
    assert result.pop("model")["modelId"] == "otter-2-large"
    message = "Model 'otter-2-large' is valid"
    assert result == {"valid": True, "status": "ok", "message": message, "allowed": True, "source": "bundled"}


def test_an_unknown_name_is_allowed_where_the_agent_takes_any() -> None:
    """agent-mux §6, unknown models at run time."""
    result = registry(open_models=True).validate_json("otter-2-lage")
    assert (result["valid"], result["status"], result["allowed"]) == (False, "unknown", True)
    assert result["suggestions"][0] == "otter-2-large"
    assert result["message"].endswith("A run may name it all the same: the agent takes names that are not listed.")
    assert registry().validate_json("otter-2-lage")["allowed"] is False


def test_where_the_user_configures_the_models_a_verdict_says_that_it_is_the_file_s() -> None:
    models = registry(models=({"id": "ann/otter"},))
    assert "`models:refresh` asks the agent itself" in models.validate_json("otter")["message"]


@pytest.mark.parametrize("name", ["large", "big", "LARGE", "Otter-2-Large"])
def test_another_name_is_an_alias_of_the_id(name: str) -> None:
    result = registry().validate_json(name)
    assert (result["valid"], result["status"], result["resolvedModelId"]) == (True, "alias", "otter-2-large")
    assert result["model"]["modelId"] == "otter-2-large"


def test_a_deprecated_model_is_valid_and_has_a_successor() -> None:
    result = registry().validate_json("otter-1")
    assert (result["valid"], result["status"], result["successorModelId"]) == (True, "deprecated", "otter-2-small")
    assert result["model"]["deprecatedSince"] == "2025-12-01"


def test_an_alias_of_a_deprecated_model_reports_both() -> None:
    result = ids([{"id": "x-1", "aliases": ("x",), "deprecated": True, "successor": "y"}]).validate_json("x")
    assert (result["status"], result["resolvedModelId"], result["successorModelId"]) == ("deprecated", "x-1", "y")


def test_an_unknown_name_gets_suggestions() -> None:
    result = registry().validate_json("oter-2-lage")
    assert (result["valid"], result["status"]) == (False, "unknown")
    assert result["suggestions"][0] == "otter-2-large"
    assert "Did you mean otter-2-large" in result["message"]
    assert "model" not in result


def test_no_more_than_five_are_suggested() -> None:
    many = ids([{"id": f"otter-{number}-beta"} for number in range(20)])
    assert len(many.validate_json("otter-x-beta")["suggestions"]) == 5


def test_what_is_like_nothing_gets_none() -> None:
    assert registry().validate_json("zzzzzz")["suggestions"] == []


def test_the_beginning_of_several_names_is_ambiguous_with_all_of_them() -> None:
    result = registry().validate_json("otter-2")
    assert (result["valid"], result["status"]) == (False, "ambiguous")
    assert result["suggestions"] == ["otter-2-large", "otter-2-small"]


def test_the_beginning_of_one_name_is_not_that_model() -> None:
    result = registry().validate_json("otter-2-l")
    assert (result["status"], result["suggestions"][0]) == ("unknown", "otter-2-large")


def test_an_alias_of_two_models_is_ambiguous() -> None:
    two = ids([{"id": "x-1", "aliases": ("x",)}, {"id": "x-2", "aliases": ("x",)}])
    assert two.validate_json("x")["suggestions"] == ["x-1", "x-2"]
    assert two.find("x") is None


def test_a_provider_may_be_left_out_where_that_is_clear() -> None:
    some = ids([{"id": "ann/otter"}, {"id": "bob/seal"}, {"id": "ann/seal"}])
    assert some.validate_json("otter")["resolvedModelId"] == "ann/otter"
    assert some.validate_json("seal")["suggestions"] == ["bob/seal", "ann/seal"]
    assert some.validate_json("ter")["status"] == "unknown"


def test_an_agent_without_models_knows_none() -> None:
    empty = registry(models=())
    assert empty.validate_json("x") == {
        "valid": False,
        "status": "unknown",
        "message": "Model 'x' not found for agent 'otter'. A run may name it all the same: the agent takes names that "
        "are not listed.",
        "suggestions": [],
        "allowed": True,
        "source": "bundled",
    }
    assert (empty.models(), empty.to_json(), empty.is_open) == ([], [], True)


NAMES = st.text("otter-12/:LARGEé ", max_size=12)


@steady
@given(NAMES)
def test_a_verdict_is_one_of_five_and_keeps_its_promises(name: str) -> None:
    otters = registry()
    result = otters.validate_json(name)
    known = {one.id for one in otters.models()}
    assert result["valid"] is (result["status"] in ("ok", "deprecated", "alias")) is ("model" in result)
    assert set(result.get("suggestions", ())) <= known
    if result["status"] == "unknown":
        assert len(result["suggestions"]) <= 5
    if result["status"] == "ambiguous":
        assert len(result["suggestions"]) > 1
    if result["status"] == "alias":
        assert result["resolvedModelId"] == result["model"]["modelId"] != name
    if otters.find(name) is not None:
        assert result["valid"]
