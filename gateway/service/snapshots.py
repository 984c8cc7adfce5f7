"""Snapshots, computed from the facts of the moment and kept until one of them is another.

In: an agent, perhaps a model and what a thread's session has. Out: the merged snapshot with its bytes. Nobody waits for
an agent here: what it has not said yet stays absent until it is known.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from gateway.capabilities.layers import LayerStatement, current_model, model_layer, profile_layer, session_layers
from gateway.capabilities.merge import etag, merge, to_json
from gateway.capabilities.views import SnapshotEntry, relay
from gateway.capability_paths import AVAILABILITY, GATEWAY, flatten
from gateway.catalog.capability_table import capability_tree
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.models.definition import Model
from gateway.drivers.probe import Availability
from gateway.errors import NotFound
from gateway.events import Layer
from gateway.registry.agents import Agent

log = logging.getLogger(__name__)

RECENT = 128
"""Snapshots of threads and models that are kept: one takes a hundred times as long to compute as to find."""

DRIVERS = f"{GATEWAY}."
"""Below this a driver tells how it reaches the agent, and what it can do with it."""

Announced = Mapping[str, Any] | None


@dataclass(frozen=True, slots=True)
class AgentFacts:
    """What is known of an agent, whatever the thread and the model, and by what one sees that it still holds."""

    definition: AgentDefinition
    handshake_layer: bytes | str
    """See `fingerprint`."""
    seen: Availability | None
    layers: tuple[LayerStatement, ...]
    handshake: Layer
    current: SnapshotEntry

    def holds(self, agent: Agent, handshake_layer: bytes | str) -> bool:
        return (
            self.definition is agent.definition and self.handshake_layer == handshake_layer and self.seen == agent.seen
        )


class Snapshots:
    """Each agent's snapshot, computed anew when what is known of the agent has changed."""

    def __init__(self, carried: Mapping[str, Any]) -> None:
        self._gateway = LayerStatement("gateway", "what this gateway carries", carried)
        self._known: dict[str, AgentFacts] = {}
        self._recent: dict[tuple[str, str | None, bytes | str], tuple[AgentFacts, SnapshotEntry]] = {}
        """Those with a model or a session that were asked for last, the last one last."""
        self._complaints: dict[str, str] = {}

    async def current(self, agent: Agent) -> SnapshotEntry:
        return (await self._about(agent)).current

    async def of(self, agent: Agent, model: Model | None, session_layer: Layer | None) -> SnapshotEntry:
        """With a model's own limits, and with what one thread's session has and is set to: its model, too."""
        if model is None and session_layer is not None and (name := current_model(session_layer)) is not None:
            model = agent.models.find(name)
        known = await self._about(agent)
        if model is None and not session_layer:
            return known.current
        mark = (agent.definition.id, None if model is None else model.id, fingerprint(session_layer))
        recent = self._recent.pop(mark, None)
        if recent is None or recent[0] is not known or recent[1].model is not model:
            recent = known, _with(known, model, session_layer, () if recent is None else recent[1].layers)
        self._recent[mark] = recent
        if len(self._recent) > RECENT:
            del self._recent[next(iter(self._recent))]
        return recent[1]

    async def facts(self, agent: Agent) -> tuple[Any, ...]:
        """What `current` depends on, and which models `of` finds: only to be compared."""
        handshake_layer = fingerprint(await self._announced(agent))
        return agent, agent.definition, agent.seen, handshake_layer, agent.models.source, agent.models.last_updated

    async def _announced(self, agent: Agent) -> Announced:
        if agent.driver is None:
            return None
        try:
            return await agent.driver.handshake_layer()
        except Exception as exc:  # an author's function: whatever it raises, the rest of the snapshot stands
            self._complain(agent, f"its capabilities cannot be had: {type(exc).__name__}: {exc}")
            return None

    async def _about(self, agent: Agent) -> AgentFacts:
        handshake_layer = await self._announced(agent)
        known, mark = self._known.get(agent.definition.id), fingerprint(handshake_layer)
        if known is None or not known.holds(agent, mark):
            told = self._handshake(agent, handshake_layer)
            said = (
                profile_layer(agent.definition),
                self._gateway,
                *probe_layer(agent.seen),
                *wait_until_probed(agent, told),
            )
            layers = tuple(one.keep_date(() if known is None else known.layers) for one in said)
            known = AgentFacts(agent.definition, mark, agent.seen, layers, told, _current(layers))
            self._known[agent.definition.id] = known
        return known

    def _handshake(self, agent: Agent, handshake_layer: Announced) -> Layer:
        try:
            return flatten(capability_tree(handshake_layer)) if handshake_layer else {}
        except ValueError as exc:
            self._complain(agent, f"it announces what is not a capability: {exc}")
            return {}

    def _complain(self, agent: Agent, reason: str) -> None:
        """Once for each reason: snapshots are asked for often."""
        if self._complaints.get(agent.definition.id) != reason:
            self._complaints[agent.definition.id] = reason
            log.warning("agent %s: %s", agent.definition.id, reason)


def _with(
    known: AgentFacts, model: Model | None, session_layer: Layer | None, before: Sequence[LayerStatement]
) -> SnapshotEntry:
    """`before`: the layers of the last one with the same model and session."""
    layers = [*known.layers]
    limits = None if model is None else model_layer(known.definition, model, known.handshake)
    if session_layer:
        layers += session_layers(known.definition, session_layer, known.layers, limits)
    if limits is not None:
        layers.append(limits)
    return _current([said.keep_date(before) for said in layers], model)


def _current(layers: Sequence[LayerStatement], model: Model | None = None) -> SnapshotEntry:
    snapshot = relay.with_relay(merge(layers))
    body = to_json(snapshot.tree())
    return SnapshotEntry(snapshot, body, etag(body), model, layers=tuple(layers))


def wait_until_probed(agent: Agent, told: Layer) -> list[LayerStatement]:
    """What the agent says of itself, and what its driver knows of it without being told."""
    own = {path: value for path, value in told.items() if path.startswith(DRIVERS)}
    rest = {path: value for path, value in told.items() if path not in own}
    driver = LayerStatement("gateway", f"the {agent.definition.driver} driver", own)
    return [LayerStatement("handshake", spoken_in(agent.definition), rest), *([driver] if own else [])]


def spoken_in(definition: AgentDefinition) -> str:
    """Where an agent says itself what it can do."""
    if definition.remote is not None:
        return f"GET {definition.remote.capabilities or definition.remote.url.rstrip('/') + '/capabilities'}"
    if definition.driver == "python":
        return definition.capabilities_entry or f"{definition.entry} announces it"
    return "initialize, the agent's answer" if definition.driver == "acp" else "what the program told at its start"


def known_model(agent: Agent, name: str) -> Model:
    verdict = agent.models.validate(name)
    if verdict.model is None:
        suggestions = list(verdict.suggestions)
        raise NotFound(verdict.message, code="UNKNOWN_MODEL", modelStatus=verdict.status, suggestions=suggestions)
    return verdict.model


def fingerprint(handshake_layer: Announced) -> bytes | str:
    """Not the object itself: its author may give the same one again, and have changed it."""
    try:
        return orjson.dumps(handshake_layer)
    except TypeError:
        return repr(handshake_layer)


def probe_layer(seen: Availability | None) -> list[LayerStatement]:
    """What the last look found. Nobody waits for one here: unknown stays absent until it is known."""
    if seen is None:
        return []
    values: dict[str, Any] = {AVAILABILITY: seen.status}
    if seen.version is not None:
        values["identity.version"] = seen.version
    return [LayerStatement("probe", "what was found on this machine", values)]
