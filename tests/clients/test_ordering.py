"""Whatever the gateway merges, AG-UI's JavaScript reads as it is: a law of tests/capabilities, by the other models."""

from __future__ import annotations

from gateway.capabilities.layers import model_layer, profile_layer
from gateway.capabilities.merge import merge
from gateway.catalog.load import bundled, load_catalog
from tests.capabilities.strategies import merged_examples
from tests.clients.node import play


def test_the_official_schema_understands_whatever_is_merged(node_modules: None) -> None:
    examples = merged_examples()
    for agent in load_catalog([bundled()]).values():
        examples.append(merge([profile_layer(agent)]).tree())
        examples += [merge([profile_layer(agent), model_layer(agent, model)]).tree() for model in agent.models[:3]]
    assert len(examples) > 50
    answers = [talk[0].seen for talk in play("schema.mjs", "", [{"given": tree} for tree in examples])]
    assert [(tree, seen["wrong"]) for tree, seen in zip(examples, answers, strict=True) if seen["wrong"]] == []
    assert [seen["understood"] for seen in answers] == examples
