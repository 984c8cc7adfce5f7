"""The layers that hold for every thread and model of an agent, and the snapshot that is computed from them."""

from __future__ import annotations

from gateway.capabilities.agent_facts import AgentFacts, SnapshotBasis, agent_layers, gateway_layer, probe_layer
from gateway.catalog.models.registry import ModelRegistry
from tests.catalog.example_agent import otter

GATEWAY = gateway_layer({"transport.streaming": True})


def facts(**handshake: object) -> AgentFacts:
    layer = {path.replace("__", "."): value for path, value in handshake.items()}
    layers = agent_layers(otter(), GATEWAY, probe_layer("ready", "1.2"), layer)
    return AgentFacts(otter(), ModelRegistry(otter()), layer, tuple(layers))


def test_the_gateway_decides_on_transports() -> None:
    snapshot = SnapshotBasis(facts(transport__streaming=False, transport__pushNotifications=True)).compute().snapshot
    assert snapshot.get("transport.streaming") is True
    assert snapshot.get("transport.pushNotifications") is None, "the gateway carries none"


def test_what_a_driver_knows_is_a_layer_of_the_gateway() -> None:
    snapshot = SnapshotBasis(facts(custom__gateway__steering=True, tools__supported=True)).compute().snapshot
    assert snapshot.source_of("custom.gateway.steering").startswith("gateway (the ")
    assert snapshot.source_of("tools.supported").startswith("handshake (")


def test_a_probe_states_availability_and_version() -> None:
    snapshot = SnapshotBasis(facts()).compute().snapshot
    assert (snapshot.get("custom.gateway.availability.status"), snapshot.get("identity.version")) == ("ready", "1.2")
    assert probe_layer(None) == []


def test_bases_are_equal_if_all_they_depend_on_is() -> None:
    known = facts()
    assert SnapshotBasis(known, {"a": 1}) == SnapshotBasis(known, {"a": 1})
    assert SnapshotBasis(known, {"a": 1}) != SnapshotBasis(known, {"a": 2})
    assert SnapshotBasis(known) != SnapshotBasis(facts()), "facts that were read again are others"
