"""agent-mux §5.1 and §8: thinking options follow the model that the session really has."""

from __future__ import annotations

from typing import Any

import pytest

from gateway.capabilities.agent_facts import AgentFacts, SnapshotBasis
from gateway.capabilities.thinking_options import apply_thinking, check_listed, model_in_use
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.models.registry import ModelRegistry
from gateway.errors import NotCapable
from gateway.turn import Options, Turn
from tests.catalog.example_agent import otter

MODELS: tuple[dict[str, Any], ...] = (
    {"id": "new", "default": True, "budget": False},
    {"id": "old", "aliases": ["o"], "effort": {"high": "h", "max": "xhigh"}, "budget": (10, 20)},
)
CURRENT = "custom.session.models.current"
AVAILABLE = "custom.session.models.available"


def basis(
    layer: dict[str, Any], definition: AgentDefinition | None = None, handshake: dict[str, Any] | None = None
) -> SnapshotBasis:
    definition = definition or otter(models=MODELS)
    return SnapshotBasis(AgentFacts(definition, ModelRegistry(definition), handshake or {}, ()), layer)


def translated(layer: dict[str, Any], more: dict[str, Any] | None = None, **options: Any) -> Any:
    found = basis(layer, **(more or {}))
    return apply_thinking(Turn("t", "r", options=Options(**options)), found, found.compute().snapshot).thinking


def test_a_level_is_translated_for_the_model_that_the_session_is_set_to() -> None:
    assert translated({CURRENT: "old"}, effort="max") == {"think": "xhigh"}
    assert translated({CURRENT: "o"}, effort="max") == {"think": "xhigh"}
    assert translated({CURRENT: "new"}, effort="max") == {"think": "abyss"}


def test_where_neither_run_nor_session_names_a_model_the_default_counts() -> None:
    with pytest.raises(NotCapable, match="does not support numeric thinking budget"):
        translated({}, thinking_budget_tokens=15)
    assert translated({CURRENT: "old"}, thinking_budget_tokens=15) == {"budget_tokens": 15}


def test_a_level_that_the_session_s_model_does_not_have_is_refused() -> None:
    with pytest.raises(NotCapable, match="Model 'old' does not support thinking effort level 'low'"):
        translated({CURRENT: "old"}, effort="low")


def test_what_the_session_s_own_list_states_of_its_model_counts() -> None:
    listed = [{"id": "mine", "efforts": ["deep"]}, {"id": "new"}]
    assert translated({CURRENT: "mine", AVAILABLE: listed}, effort="high") == {"think": "deep"}
    with pytest.raises(NotCapable, match="Model 'mine' does not support thinking effort level 'max'"):
        translated({CURRENT: "mine", AVAILABLE: listed}, effort="max")


def test_the_default_that_the_agent_lists_comes_before_the_file_s() -> None:
    listed = {AVAILABLE: [{"id": "old", "default": True}]}
    assert translated({}, {"handshake": listed}, effort="max") == {"think": "xhigh"}
    found = basis({})
    assert model_in_use(found.facts.definition, found.facts.models, None, {}, use_default=False) is None


def test_an_agent_over_acp_is_checked_by_what_its_session_lists_and_translates_it_itself() -> None:
    agent = otter(driver="acp", cli=None, effort={}, models=())
    config = [{"id": "r", "category": "thought_level", "options": [{"value": "on"}, {"value": "off"}]}]
    layer = {"custom.session.cwd": "/", "custom.session.config": config}
    with pytest.raises(NotCapable, match="does not support thinking effort level 'high'"):
        translated(layer, {"definition": agent}, effort="high")
    assert translated({}, {"definition": agent}, effort="high") is None


def test_a_run_without_thinking_options_is_left_as_it_is() -> None:
    assert translated({CURRENT: "old"}) is None


@pytest.mark.parametrize(("is_open", "is_refused"), [(None, True), (True, False)])
def test_a_model_that_the_session_does_not_list_is_refused_unless_any_name_is_taken(
    is_open: bool | None, is_refused: bool
) -> None:
    found = basis({AVAILABLE: [{"id": "a/b"}]}, otter(models=MODELS, open_models=is_open))
    turn = Turn("t", "r", options=Options(model="a/c"))
    if not is_refused:
        return check_listed(turn, found)
    with pytest.raises(NotCapable) as caught:
        check_listed(turn, found)
    assert caught.value.problem()["known"] == ["a/b"]
    return check_listed(Turn("t", "r", options=Options(model="a/b")), found)
