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
    told = registry().validation("otter-2-large")
    assert told.pop("model")["modelId"] == "otter-2-large"
    assert told == {"valid": True, "status": "ok", "message": "Model 'otter-2-large' is valid"}


@pytest.mark.parametrize("name", ["large", "big", "LARGE", "Otter-2-Large"])
def test_another_name_is_an_alias_of_the_id(name: str) -> None:
    told = registry().validation(name)
    assert (told["valid"], told["status"], told["resolvedModelId"]) == (True, "alias", "otter-2-large")
    assert told["model"]["modelId"] == "otter-2-large"


def test_a_deprecated_model_is_valid_and_has_a_successor() -> None:
    told = registry().validation("otter-1")
    assert (told["valid"], told["status"], told["successorModelId"]) == (True, "deprecated", "otter-2-small")
    assert told["model"]["deprecatedSince"] == "2025-12-01"


def test_an_alias_of_a_deprecated_model_tells_both() -> None:
    told = ids([{"id": "x-1", "aliases": ("x",), "deprecated": True, "successor": "y"}]).validation("x")
    assert (told["status"], told["resolvedModelId"], told["successorModelId"]) == ("deprecated", "x-1", "y")


def test_an_unknown_name_gets_suggestions() -> None:
    told = registry().validation("oter-2-lage")
    assert (told["valid"], told["status"]) == (False, "unknown")
    assert told["suggestions"][0] == "otter-2-large"
    assert "Did you mean otter-2-large" in told["message"]
    assert "model" not in told


def test_no_more_than_five_are_suggested() -> None:
    many = ids([{"id": f"otter-{number}-beta"} for number in range(20)])
    assert len(many.validation("otter-x-beta")["suggestions"]) == 5


def test_what_is_like_nothing_gets_none() -> None:
    assert registry().validation("zzzzzz")["suggestions"] == []


def test_the_beginning_of_several_names_is_ambiguous_with_all_of_them() -> None:
    told = registry().validation("otter-2")
    assert (told["valid"], told["status"]) == (False, "ambiguous")
    assert told["suggestions"] == ["otter-2-large", "otter-2-small"]


def test_the_beginning_of_one_name_is_not_that_model() -> None:
    told = registry().validation("otter-2-l")
    assert (told["status"], told["suggestions"][0]) == ("unknown", "otter-2-large")


def test_an_alias_of_two_models_is_ambiguous() -> None:
    two = ids([{"id": "x-1", "aliases": ("x",)}, {"id": "x-2", "aliases": ("x",)}])
    assert two.validation("x")["suggestions"] == ["x-1", "x-2"]
    assert two.find("x") is None


def test_a_provider_may_be_left_out_where_that_is_clear() -> None:
    some = ids([{"id": "ann/otter"}, {"id": "bob/seal"}, {"id": "ann/seal"}])
    assert some.validation("otter")["resolvedModelId"] == "ann/otter"
    assert some.validation("seal")["suggestions"] == ["bob/seal", "ann/seal"]
    assert some.validation("ter")["status"] == "unknown"


def test_an_agent_without_models_knows_none() -> None:
    empty = registry(models=())
    assert empty.validation("x") == {
        "valid": False,
        "status": "unknown",
        "message": "Model 'x' not found for agent 'otter'.",
        "suggestions": [],
    }
    assert (empty.models(), empty.catalog(), empty.complete) == ([], [], False)


NAMES = st.text("otter-12/:LARGEé ", max_size=12)


@steady
@given(NAMES)
def test_a_verdict_is_one_of_five_and_keeps_its_promises(name: str) -> None:
    otters = registry()
    told = otters.validation(name)
    known = {one.id for one in otters.models()}
    assert told["valid"] is (told["status"] in ("ok", "deprecated", "alias")) is ("model" in told)
    assert set(told.get("suggestions", ())) <= known
    if told["status"] == "unknown":
        assert len(told["suggestions"]) <= 5
    if told["status"] == "ambiguous":
        assert len(told["suggestions"]) > 1
    if told["status"] == "alias":
        assert told["resolvedModelId"] == told["model"]["modelId"] != name
    if otters.find(name) is not None:
        assert told["valid"]
