"""The model list of a live agent, merged into its file."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.catalog.models.definition import Model
from gateway.catalog.models.discovery import merge_listed_model
from gateway.catalog.models.registry import ModelRegistry
from tests.agui.streams import steady
from tests.catalog.example_agent import otter

NOW = datetime(2026, 3, 4, 5, 6, 7, tzinfo=UTC)


def registry(**more: Any) -> ModelRegistry:
    return ModelRegistry(otter(**more))


def model(registry: ModelRegistry, name: str) -> Model:
    found = registry.find(name)
    assert found is not None
    return found


def test_the_agents_list_is_merged_into_its_file() -> None:
    models = registry()
    models.refresh(
        [
            {"id": "otter-2-large", "context": 300_000, "name": "Otter Two"},
            {"id": "otter-3", "name": "Otter 3", "thinking": True, "default": True},
        ],
        NOW,
    )
    listed = {one["modelId"]: one for one in models.to_json()}
    assert list(listed) == ["otter-2-large", "otter-3"]  # what only the file has is not offered any more
    large = listed["otter-2-large"]
    assert (large["contextWindow"], large["displayName"], large["source"]) == (300_000, "Otter Two", "remote")
    assert (large["inputPricePerMillion"], large["modelAlias"]) == (3.0, "large")  # the agent is silent about these
    assert listed["otter-3"]["source"] == "remote"
    assert [one["isDefault"] for one in listed.values()] == [False, True]
    assert models.last_updated == large["lastUpdated"] == "2026-03-04T05:06:07Z"
    assert models.source == "remote"


def test_before_the_first_refresh_everything_is_from_the_file() -> None:
    assert registry().source == "bundled"


def test_a_second_list_replaces_the_first() -> None:
    models = registry()
    models.refresh([{"id": "otter-3"}, {"id": "otter-2-large", "context": 1}], NOW)
    models.refresh([{"id": "otter-4"}], NOW)
    assert [one.id for one in models.models()] == ["otter-4"]
    models.refresh([{"id": "otter-2-large"}], NOW)
    assert model(models, "large").context == 200_000


def test_the_agent_may_list_a_model_by_the_name_that_the_file_has_as_an_alias() -> None:
    models = registry()
    models.refresh([{"id": "large", "output": 7}, {"id": "otter-s", "output": 8}], NOW)
    assert [one.id for one in models.models()] == ["otter-2-large", "otter-2-small"]
    assert (model(models, "large").output, model(models, "small").output) == (7, 8)


def test_where_the_agent_names_no_default_the_file_s_stays() -> None:
    models = registry()
    models.refresh([{"id": "otter-3"}, {"id": "otter-2-large"}], NOW)
    found = models.default()
    assert found is not None and found.id == "otter-2-large"


def test_an_empty_list_changes_nothing() -> None:
    models = registry()
    models.refresh([{"no": "id"}, 3], NOW)
    assert (models.source, len(models.models())) == ("bundled", 3)


# -- agent-mux §4 refresh, §6 unknown: models that only the file has, after the agent has listed its own


def test_a_model_that_only_the_file_has_is_not_valid_any_more() -> None:
    models = registry()
    models.refresh([{"id": "otter-3"}], NOW)
    verdict = models.validate_json("otter-2-large")
    assert (verdict["valid"], verdict["status"], verdict["allowed"]) == (False, "unknown", False)
    assert models.find("otter-2-large") is None


def test_an_agent_that_takes_any_name_still_takes_it_with_its_facts() -> None:
    models = registry(open_models=True)
    models.refresh([{"id": "otter-3"}], NOW)
    assert [one["modelId"] for one in models.to_json()] == ["otter-3"]
    verdict = models.validate_json("large")
    assert (verdict["valid"], verdict["status"], verdict["source"]) == (True, "alias", "bundled")
    assert model(models, "otter-2-large").context == 200_000


def test_efforts_leave_of_the_agent_s_levels_those_that_the_model_has() -> None:
    models = registry()
    some = {"id": "a", "efforts": ["brief", "deep", "other"]}
    models.refresh([some, {"id": "b", "efforts": []}, {"id": "c"}], NOW)
    assert model(models, "a").effort == {"low": "brief", "high": "deep"}
    assert model(models, "b").effort == {}
    assert model(models, "c").effort is None


def test_of_an_agent_without_a_table_efforts_are_the_levels_themselves() -> None:
    models = registry(effort={}, driver="acp", cli=None)
    models.refresh([{"id": "a", "efforts": ["low", "max", "xhigh"]}], NOW)
    assert model(models, "a").effort == {"low": "low", "max": "max"}


def test_prices_are_merged_one_by_one_and_stay_exact() -> None:
    models = registry()
    models.refresh([{"id": "otter-2-large", "price": {"output": 0.1}}], NOW)
    price = model(models, "large").price
    assert (price.input, price.cached_input, price.output) == (Decimal(3), Decimal("0.3"), Decimal("0.1"))


def test_what_an_agent_cannot_know_it_cannot_change() -> None:
    models = registry()
    models.refresh([{"id": "large", "effort": {"low": "--evil"}, "budget": False, "source": "x", "frob": 1}], NOW)
    large = model(models, "large")
    assert (large.effort, large.budget, large.source) == (None, (1024, 4096), None)


NONSENSE: Any = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=3) | st.just(object()),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text(max_size=3), inner, max_size=2),
    max_leaves=4,
)
KEYS = st.sampled_from([*Model.model_fields, "efforts", "frob"])


@steady
@given(st.lists(st.dictionaries(KEYS, NONSENSE, max_size=6) | NONSENSE, max_size=4))
def test_whatever_an_agent_lists_the_registry_stands(listed: list[Any]) -> None:
    models = registry()
    models.refresh(listed, NOW)
    entry = models.to_json()
    assert {"otter-2-large", "otter-2-small", "otter-1"} <= {one["modelId"] for one in entry}
    assert sum(one["isDefault"] for one in entry) <= 1
    assert all(one["modelId"].strip() for one in entry)
    large = model(models, "otter-2-large")
    assert large.context is not None and large.context > 0


@pytest.mark.parametrize("context", [0, -1, "many", 1.5, True, None, float("nan")])
def test_a_number_that_is_none_changes_nothing(context: Any) -> None:
    models = registry()
    models.refresh([{"id": "large", "context": context, "output": 9}], NOW)
    assert (model(models, "large").context, model(models, "large").output) == (200_000, 9)


def test_a_models_own_value_for_a_level_is_kept_when_the_agent_lists_it() -> None:
    known = Model(id="a", effort={"max": "xhigh"})
    entry = merge_listed_model({"id": "a", "efforts": ["low", "xhigh"]}, known, {"max": "max", "low": "low"})
    assert entry is not None and entry.effort == {"low": "low", "max": "xhigh"}
