"""What a snapshot is computed from, and the computation. Pure.

In: what is known of an agent (definition, probe, handshake), of a model and of a thread's session. Out: the merged
snapshot with its bytes. What no party has stated stays absent. Who reads these facts, and keeps what was computed, is
decided above: `service.snapshots` for requests, `runs.capability_events` for a run that goes on.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from gateway.capabilities.gateway_leaves import gateway_leaves
from gateway.capabilities.layers import (
    LayerStatement,
    current_model,
    model_layer,
    profile_key,
    profile_layer,
    recorded_tools_layer,
    session_layers,
    trust_layer,
)
from gateway.capabilities.merge import Snapshot, etag, merge, to_json
from gateway.capabilities.options import with_options
from gateway.capabilities.session_modes import name_modes
from gateway.capabilities.views import SnapshotEntry, relay
from gateway.capability_paths import AVAILABILITY, GATEWAY
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.models.definition import Model
from gateway.catalog.models.registry import ModelRegistry
from gateway.events import Layer

DRIVER_PREFIX = f"{GATEWAY}."
"""Below this path a driver states how it reaches the agent, and what it can do with it."""


TRANSPORT_PREFIX = "transport."
THINKING_PATHS = ("custom.mux.thinkingEffortLevels", "custom.mux.supportsThinkingBudgetTokens")


@dataclass(frozen=True, slots=True, eq=False)
class AgentFacts:
    """What is known of an agent, whatever the thread and the model. Two are the same only if they are one object."""

    definition: AgentDefinition
    models: ModelRegistry
    handshake: Layer
    """What the agent announced, flattened."""
    layers: tuple[LayerStatement, ...]


@dataclass(frozen=True, slots=True)
class SnapshotBasis:
    """Everything that one snapshot depends on."""

    facts: AgentFacts
    session_layer: Layer | None = None
    """What the thread's session states; None: the snapshot is of no thread, or its session states nothing."""
    requested_model: Model | None = None

    @property
    def model(self) -> Model | None:
        """The model whose limits apply: the one requested, or the one that the session is set to."""
        if self.requested_model is not None or not self.session_layer:
            return self.requested_model
        name = current_model(self.session_layer)
        return None if name is None else self.facts.models.find(name)

    def compute(self, previous: Sequence[LayerStatement] = ()) -> SnapshotEntry:
        """`previous`: the layers of the last snapshot of the same kind. A layer that has not changed keeps the time
        since which it is known."""
        facts = self.facts
        model = self.model
        layers = [*facts.layers]
        limits = None if model is None else model_layer(facts.definition, model, facts.handshake)
        if self.session_layer:
            layers += session_layers(facts.definition, self.session_layer, facts.layers, limits)
        if limits is not None:
            layers.append(limits)
        if (leaves := gateway_leaves(facts.definition, layers)) is not None:
            layers.append(leaves)
        return _entry([layer.keep_date(previous) for layer in layers], facts, model)


@dataclass(frozen=True, slots=True)
class CurrentSnapshot:
    """A snapshot, and what it was computed from."""

    basis: SnapshotBasis
    entry: SnapshotEntry

    @property
    def snapshot(self) -> Snapshot:
        return self.entry.snapshot

    @property
    def model(self) -> Model | None:
        return self.entry.model


def _entry(layers: Sequence[LayerStatement], facts: AgentFacts, model: Model | None) -> SnapshotEntry:
    snapshot = relay.with_relay(with_options(merge(layers), facts.definition, model, facts.models))
    body = to_json(snapshot.tree())
    return SnapshotEntry(snapshot, body, etag(body), model, layers=tuple(layers))


def profile_layers(definition: AgentDefinition) -> list[LayerStatement]:
    """What the agent's file states; of another transport first what it shares with the agent, then what differs."""
    own = profile_layer(definition)
    base: AgentDefinition | None = definition.base
    if base is None:
        return [own]
    shared = profile_layer(base)
    if definition.fallback_name is None:  # another file: thinking is asked for by each protocol in its own way
        values = {path: value for path, value in shared.values.items() if path not in THINKING_PATHS}
        shared = replace(shared, values=values)
    differing = {path: value for path, value in own.values.items() if shared.values.get(path) != value}
    if definition.fallback_name is None:
        return [shared, replace(own, values=differing)]
    prefix = f"fallback.{definition.fallback_name}."
    return [shared, replace(own, values=differing, key_of=lambda path: prefix + profile_key(path))]


def gateway_layer(transports: Mapping[str, Any]) -> LayerStatement:
    """What the gateway itself carries, whatever the agent."""
    return LayerStatement("gateway", "what this gateway carries", transports)


def probe_layer(status: str | None, version: str | None = None) -> list[LayerStatement]:
    """What the last probe found; no layer where there was none."""
    if status is None:
        return []
    values: dict[str, Any] = {AVAILABILITY: status}
    if version is not None:
        values["identity.version"] = version
    return [LayerStatement("probe", "what was found on this machine", values)]


def handshake_layers(definition: AgentDefinition, handshake: Layer) -> list[LayerStatement]:
    """What the agent announces, and what its driver knows of it without asking."""
    driver = {path: value for path, value in handshake.items() if path.startswith(DRIVER_PREFIX)}
    agent = {path: value for path, value in handshake.items() if path not in driver}
    layers = [LayerStatement("handshake", handshake_source(definition), agent)]
    if (named := name_modes(definition, agent, "handshake")) is not None:
        layers.append(named)
    if driver:
        layers.append(LayerStatement("gateway", f"the {definition.driver} driver", driver))
    return layers


def handshake_source(definition: AgentDefinition) -> str:
    """Where an agent announces what it can do."""
    if definition.remote is not None:
        return f"GET {definition.remote.capabilities or definition.remote.url.rstrip('/') + '/capabilities'}"
    if definition.driver == "python":
        return definition.capabilities_entry or f"{definition.entry} announces it"
    return "initialize, the agent's answer" if definition.driver == "acp" else "what the program reported at its start"


def agent_layers(
    definition: AgentDefinition,
    gateway: LayerStatement,
    probe: Sequence[LayerStatement],
    handshake: Layer,
    trust: Layer | None = None,
) -> list[LayerStatement]:
    """All layers that hold for every thread and model of the agent. What the agent states of a transport that
    the gateway does not carry is left out: its clients talk to the gateway. `trust`: what is decided about its
    folder."""
    own = [*profile_layers(definition), *recorded_tools_layer(definition)]
    layers = [*own, gateway, *probe, *handshake_layers(definition, handshake)]
    if trust:
        layers.append(trust_layer(trust))
    return [_without_foreign_transports(layer, gateway) for layer in layers]


def _without_foreign_transports(layer: LayerStatement, gateway: LayerStatement) -> LayerStatement:
    foreign = [path for path in layer.values if path.startswith(TRANSPORT_PREFIX) and path not in gateway.values]
    if not foreign:
        return layer
    return replace(layer, values={path: value for path, value in layer.values.items() if path not in foreign})
