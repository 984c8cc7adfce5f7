"""The laws of merging: later layers win key by key, silence says nothing, and every leaf has a speaker."""

from __future__ import annotations

import copy
from typing import Any

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.capabilities.layers import LAYERS, LayerStatement, profile_layer
from gateway.capabilities.merge import etag, merge, to_json
from gateway.capability_paths import flatten, unflatten
from gateway.catalog.load import bundled, load_catalog
from tests.agui.streams import steady

# Few names, so that layers meet; one is a value for some and an object for others, and some need escaping.
NAMES = st.sampled_from(["a", "b", "a.b", "~", "~1", ""])
SCALARS = st.booleans() | st.integers(0, 3) | st.text("xy", max_size=2) | st.lists(st.booleans(), max_size=2)
VALUES = st.recursive(SCALARS, lambda inner: st.dictionaries(NAMES, inner, max_size=3), max_leaves=6)
TREES = st.dictionaries(NAMES, st.dictionaries(NAMES, VALUES, min_size=1, max_size=3), max_size=3)
LAYER_NAMES = st.lists(st.sampled_from(LAYERS), unique=True, max_size=len(LAYERS))


@st.composite
def wait_until_probed(draw: st.DrawFn) -> list[LayerStatement]:
    """Some of the layers, in any order."""
    return [LayerStatement(name, f"{name}.source", flatten(draw(TREES)), "now") for name in draw(LAYER_NAMES)]


def in_order(layers: list[LayerStatement]) -> list[LayerStatement]:
    return sorted(layers, key=lambda statement: LAYERS.index(statement.layer))


def related(one: str, other: str) -> bool:
    """The same place, or one inside the other."""
    return one == other or one.startswith(f"{other}.") or other.startswith(f"{one}.")


# -- flattening


@steady
@given(TREES)
def test_an_object_is_flattened_to_its_paths(tree: dict[str, Any]) -> None:
    assert unflatten(flatten(tree)) == tree


@steady
@given(TREES)
def test_no_path_is_below_another(tree: dict[str, Any]) -> None:
    paths = list(flatten(tree))
    assert [(one, other) for one in paths for other in paths if one != other and related(one, other)] == []


def test_null_and_an_empty_category_say_nothing() -> None:
    assert flatten({"tools": {}, "state": None, "reasoning": {"supported": None}}) == {}


def test_an_author_s_key_may_have_dots_in_it() -> None:
    assert flatten({"custom": {"acme.example/x~y": {"z": 1}}}) == {"custom.acme~1example/x~0y.z": 1}


def test_lists_are_values() -> None:
    assert flatten({"tools": {"items": [{"name": "x"}]}}) == {"tools.items": [{"name": "x"}]}


# -- merging


@steady
@given(wait_until_probed(), st.randoms(use_true_random=False))
def test_the_order_of_speaking_does_not_matter(layers: list[LayerStatement], random: Any) -> None:
    shuffled = [*layers]
    random.shuffle(shuffled)
    one, other = merge(layers), merge(shuffled)
    assert (one.tree(), one.explain()) == (other.tree(), other.explain())


@steady
@given(wait_until_probed())
def test_the_last_layer_has_its_way(layers: list[LayerStatement]) -> None:
    snapshot = merge(layers)
    for statement in in_order(layers)[-1:]:
        for path, value in statement.values.items():
            if value != {}:
                assert (snapshot.get(path), snapshot.source_of(path)) == (
                    value,
                    f"{statement.layer} ({statement.source})",
                )


@steady
@given(wait_until_probed())
def test_a_statement_stands_unless_a_later_layer_states_the_same_path(layers: list[LayerStatement]) -> None:
    snapshot, ordered = merge(layers), in_order(layers)
    for number, statement in enumerate(ordered):
        later = [path for other in ordered[number + 1 :] for path in other.values]
        for path, value in statement.values.items():
            if value != {} and not any(related(path, other) for other in later):
                assert snapshot.get(path) == value


@steady
@given(wait_until_probed())
def test_nothing_is_in_the_snapshot_that_no_layer_states(layers: list[LayerStatement]) -> None:
    snapshot = merge(layers)
    statement = [(path, orjson.dumps(value)) for layer in layers for path, value in layer.values.items()]
    assert all((path, orjson.dumps(value)) in statement for path, value in snapshot.values.items())


@steady
@given(wait_until_probed())
def test_every_path_has_a_source_and_every_source_a_path(layers: list[LayerStatement]) -> None:
    snapshot = merge(layers)
    values = flatten(snapshot.tree())
    explained = snapshot.explain()
    assert {path: explanation["value"] for path, explanation in explained.items()} == values
    assert all(
        explanation["layer"] in LAYERS and explanation["source"] and explanation["since"]
        for explanation in explained.values()
    )


@steady
@given(wait_until_probed())
def test_overridden_layers_are_listed_in_turn(layers: list[LayerStatement]) -> None:
    ranks = {name: rank for rank, name in enumerate(LAYERS)}
    for explanation in merge(layers).explain().values():
        layer_names = [explanation["layer"], *(statement["layer"] for statement in explanation.get("overridden", []))]
        assert layer_names == sorted(set(layer_names), key=lambda name: -ranks[name])


@steady
@given(wait_until_probed(), st.sampled_from(LAYERS))
def test_an_empty_layer_changes_nothing(layers: list[LayerStatement], name: str) -> None:
    assert merge([*layers, LayerStatement(name, "silent", {}, "now")]).explain() == merge(layers).explain()


@steady
@given(TREES, st.sampled_from(LAYERS))
def test_a_single_layer_is_the_snapshot(tree: dict[str, Any], name: str) -> None:
    assert merge([LayerStatement(name, "alone", flatten(tree), "now")]).tree() == tree


@steady
@given(wait_until_probed())
def test_merging_leaves_the_layers_as_they_were(layers: list[LayerStatement]) -> None:
    before = copy.deepcopy(layers)
    snapshot = merge(layers)
    snapshot.tree()
    snapshot.explain()
    assert layers == before
    assert merge(layers).tree() == snapshot.tree()


def test_a_later_no_beats_an_earlier_yes_and_the_other_way_round() -> None:
    for value in (True, False):
        hoped, known = {"tools.supported": not value}, {"tools.supported": value}
        snapshot = merge([LayerStatement("profile", "x.toml", hoped), LayerStatement("handshake", "initialize", known)])
        assert snapshot.get("tools.supported") is value


def test_an_empty_object_does_not_remove_what_was_stated_below_it() -> None:
    known = LayerStatement("profile", "x.toml", flatten({"multimodal": {"input": {"image": True}}}))
    empty = LayerStatement("handshake", "initialize", flatten({"multimodal": {"input": {}}}))
    assert merge([known, empty]).tree() == {"multimodal": {"input": {"image": True}}}


def test_where_a_value_meets_an_object_the_later_one_stands() -> None:
    flat, deep = flatten({"custom": {"a": 1}}), flatten({"custom": {"a": {"b": 2}}})
    layers = [("profile", flat), ("handshake", deep), ("session", flat)]
    assert merge(LayerStatement(name, name, values) for name, values in layers).tree() == {"custom": {"a": 1}}
    assert merge(LayerStatement(name, name, values) for name, values in layers[:2]).tree() == {
        "custom": {"a": {"b": 2}}
    }


def test_the_source_of_what_no_layer_states_is_unknown() -> None:
    assert (merge([]).get("tools.supported"), merge([]).source_of("tools.supported")) == (None, "unknown")


def test_a_layer_that_is_not_one_is_a_defect() -> None:
    with pytest.raises(ValueError, match="not in tuple"):
        merge([LayerStatement("gossip", "the street", {"tools.supported": True})])


# -- what goes out


def test_the_tag_changes_with_the_answer_and_only_with_it() -> None:
    one, other = to_json({"tools": {"supported": True}}), to_json({"tools": {"supported": False}})
    assert etag(one) == etag(to_json({"tools": {"supported": True}})) != etag(other)
    assert etag(one)[0] == etag(one)[-1] == '"'


@pytest.mark.parametrize("definition", load_catalog([bundled()]).values(), ids=lambda definition: str(definition.id))
def test_a_file_is_the_source_of_its_agent(definition: Any) -> None:
    statement = profile_layer(definition)
    assert (statement.layer, statement.source) == ("profile", f"{definition.id}.toml")
    tree = merge([statement]).tree()
    assert tree["identity"]["name"] == definition.identity.name
    assert tree["identity"]["type"] == (definition.identity.type or definition.driver)
    tree.get("custom", {}).pop("mux", None)  # that is [manifest]; tests/capabilities/test_layers.py
    assert {key: tree[key] for key in definition.capabilities if key != "identity"} == {
        key: value for key, value in definition.capabilities.items() if key != "identity"
    }
