"""What holds for any layers in AG-UI's own words: whatever is merged is AG-UI again, every leaf has a source, and the
patch between any two snapshots leads from one to the other."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

import jsonpatch
import orjson
import pytest
from ag_ui.core import AgentCapabilities
from hypothesis import given
from hypothesis import strategies as st

from gateway.capabilities.layers import LAYERS, LayerStatement, model_layer, profile_layer
from gateway.capabilities.merge import Snapshot, merge, to_json
from gateway.capabilities.views import relay
from gateway.capability_paths import flatten
from gateway.catalog.capability_table import capability_tree
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.load import bundled, load_catalog
from gateway.json_patch import diff, same
from tests.agui.streams import steady
from tests.capabilities.strategies import ANYTHING, TREES, wait_until_probed

AGENTS = load_catalog([bundled()]).values()


def understood(snapshot: Snapshot) -> None:
    """By the official models: all of it, as it is, and nothing that they do not describe."""
    tree = orjson.loads(to_json(snapshot.tree()))
    read = AgentCapabilities.model_validate(tree, strict=True)
    assert same(read.model_dump(by_alias=True, mode="json", exclude_unset=True), tree)
    assert capability_tree(tree) == tree  # refuses a key that AG-UI does not have, wherever it stands


def explained(snapshot: Snapshot, layers: list[LayerStatement]) -> None:
    """Every leaf has a source that really said it."""
    paths = flatten(snapshot.tree())
    explanation = snapshot.explain()
    assert explanation.keys() == paths.keys() == snapshot.values.keys()
    for path, value in paths.items():
        speakers = [
            statement
            for statement in layers
            if statement.layer == explanation[path]["layer"] and path in statement.values
        ]
        assert any(
            same(statement.values[path], value) and statement.source == explanation[path]["source"]
            for statement in speakers
        )


@steady
@given(wait_until_probed())
def test_whatever_is_merged_is_agui_again(layers: list[LayerStatement]) -> None:
    understood(merge(layers))


@steady
@given(wait_until_probed())
def test_every_path_has_sources_and_each_source_states_it(layers: list[LayerStatement]) -> None:
    explained(merge(layers), layers)


@steady
@given(wait_until_probed())
def test_every_path_has_the_value_of_the_last_layer_that_states_it(layers: list[LayerStatement]) -> None:
    snapshot = merge(layers)
    ordered = sorted(layers, key=lambda statement: LAYERS.index(statement.layer))
    for path, value in snapshot.values.items():
        values = [statement.values[path] for statement in ordered if path in statement.values]
        assert same(value, next(value for value in reversed(values) if value != {} or len(values) == values.count({})))


@steady
@given(wait_until_probed(), st.sampled_from(LAYERS), st.sampled_from(["reasoning", "execution", "state"]))
def test_silence_is_not_no(layers: list[LayerStatement], name: str, category: str) -> None:
    """A layer that says nothing of a category leaves it as the others have it."""
    others = [statement for statement in layers if statement.layer != name]
    statements = LayerStatement(name, "of something else", {"tools.supported": True}, "now")
    assert merge(others).tree().get(category) == merge([*others, statements]).tree().get(category)


@steady
@given(wait_until_probed())
def test_whatever_is_known_a_plain_client_reads_what_agent_relay_reads(layers: list[LayerStatement]) -> None:
    every = [*layers, LayerStatement("gateway", "what it carries", relay.LAYER)]
    snapshot = relay.with_relay(merge(every))
    understood(snapshot)
    explained(snapshot, [*every, *(statement for speakers in snapshot.sources.values() for statement in speakers)])
    view = relay.view(snapshot)
    view.pop("status", None)
    assert same(snapshot.tree()["custom"]["relay"], view)
    others = {path: value for path, value in snapshot.values.items() if not path.startswith(relay.PREFIX)}
    merged = {path: value for path, value in merge(every).values.items() if not path.startswith(relay.PREFIX)}
    assert same(others, merged)


@pytest.mark.parametrize("definition", AGENTS, ids=lambda definition: str(definition.id))
def test_every_agents_file_with_each_of_its_models_is_agui(definition: AgentDefinition) -> None:
    profile = profile_layer(definition)
    for layers in ([profile], *([profile, model_layer(definition, model)] for model in definition.models)):
        understood(merge(layers))
        explained(merge(layers), layers)


# -- differences


@steady
@given(TREES, TREES)
def test_the_patch_between_two_snapshots_leads_from_one_to_the_other(before: Any, after: Any) -> None:
    kept = deepcopy((before, after))
    patch = diff(before, after)
    assert same(jsonpatch.apply_patch(before, patch), after)
    assert {operation["op"] for operation in patch} <= {"add", "remove", "replace"}
    assert same(list(kept), [before, after])


@steady
@given(ANYTHING, ANYTHING)
def test_so_does_the_patch_between_any_two_values(before: Any, after: Any) -> None:
    assert same(jsonpatch.apply_patch(before, diff(before, after)), after)
    assert (diff(before, after) == []) is same(before, after)


ALIKE = [(True, 1), (1, 1.0), (0, False), ([True], [1]), ({"a": [1]}, {"a": [True]})]


@pytest.mark.parametrize(("before", "after"), ALIKE)
def test_what_only_python_takes_for_equal_is_a_difference(before: Any, after: Any) -> None:
    assert same(jsonpatch.apply_patch({"x": before}, diff({"x": before}, {"x": after})), {"x": after})
    assert diff({"x": before}, {"x": after}) != []


def test_a_patch_has_only_what_differs() -> None:
    before = {"tools": {"supported": True, "items": [1, 2]}, "state": {"memory": True}, "a/b~": 1}
    after = {"tools": {"supported": True, "items": [1, 3]}, "a/b~": 2, "output": {}}
    assert diff(before, after) == [
        {"op": "remove", "path": "/state"},
        {"op": "replace", "path": "/tools/items", "value": [1, 3]},
        {"op": "replace", "path": "/a~1b~0", "value": 2},
        {"op": "add", "path": "/output", "value": {}},
    ]
