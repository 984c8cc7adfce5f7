"""The facts that an agent's snapshots are computed from, read from the running agent and kept until one changes.

In: a running agent. Out: its `AgentFacts`: the same object for as long as nothing has changed, so that a caller sees
a change by comparing objects. Never: a wait for an agent that has announced nothing yet.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from gateway.capabilities.agent_facts import AgentFacts, agent_layers, gateway_layer, probe_layer
from gateway.capabilities.gateway_leaves import time_limit
from gateway.capabilities.layers import LayerStatement
from gateway.capabilities.session_modes import name_modes
from gateway.catalog.definition import AgentDefinition
from gateway.drivers.driver_facts import driver_facts, driver_modes
from gateway.drivers.probe import Availability
from gateway.events import Layer
from gateway.identity import ThreadKey
from gateway.registry.agents import Agent, Handshake
from gateway.runs.trust_facts import TrustFacts


@dataclass(frozen=True, slots=True)
class CachedFacts:
    """Facts, and what they were read from."""

    facts: AgentFacts
    agent: Agent
    definition: AgentDefinition
    availability: Availability | None
    handshake: Handshake
    models: tuple[str, str | None]

    def is_current(self, agent: Agent, handshake: Handshake) -> bool:
        return (
            self.agent is agent
            and self.definition is agent.definition
            and self.availability == agent.availability
            and self.handshake.fingerprint == handshake.fingerprint
            and self.models == _models_version(agent)
        )


class FactsCache:
    def __init__(
        self,
        transports: Mapping[str, Any],
        run_timeout: float,
        trust: TrustFacts | None = None,
        sandbox_facts: Callable[[AgentDefinition], Layer] = lambda definition: {},
    ) -> None:
        """`transports`: what the gateway itself carries, by dotted paths of the snapshot. `run_timeout`: the setting.
        `trust`: None: snapshots state nothing of it. `sandbox_facts`: how the gateway isolates the agent, by dotted
        paths."""
        self._run_timeout = run_timeout
        self._trust = trust
        self._sandbox_facts = sandbox_facts
        self._gateway_layer = gateway_layer(transports)
        self._cached: dict[str, CachedFacts] = {}

    def read_trust(self, agent: Agent, thread: ThreadKey) -> Layer:
        """What is decided about the thread's folder."""
        return {} if self._trust is None else self._trust.read_thread(agent.definition_in_use, thread)

    async def read(self, agent: Agent) -> AgentFacts:
        handshake = await agent.read_handshake()
        known = self._cached.get(agent.definition.id)
        if known is not None and known.is_current(agent, handshake):
            return known.facts
        definition = agent.definition_in_use
        availability = agent.availability
        probe = [] if availability is None else probe_layer(availability.status, availability.version)
        trust = None if self._trust is None else self._trust.read_agent(definition)
        layers = agent_layers(definition, self._gateway_layer, probe, handshake.layer, trust)
        layers += driver_layers(definition)
        if sandbox := self._sandbox_facts(definition):
            layers.append(LayerStatement("gateway", "how it runs this agent", sandbox))
        if (limit := time_limit(agent.definition, self._run_timeout, layers)) is not None:
            layers.append(limit)
        previous = () if known is None else known.facts.layers
        dated = tuple(layer.keep_date(previous) for layer in layers)
        facts = AgentFacts(definition, agent.models, handshake.layer, dated)
        self._cached[agent.definition.id] = CachedFacts(
            facts, agent, agent.definition, availability, handshake, _models_version(agent)
        )
        return facts


def driver_layers(definition: AgentDefinition) -> list[LayerStatement]:
    """What is known from the way the agent is run."""
    modes = LayerStatement("profile", "the modes that the driver can set", driver_modes(definition))
    named = name_modes(definition, modes.values, "profile")
    facts = LayerStatement("gateway", f"the {definition.driver} driver", driver_facts(definition))
    return [layer for layer in (modes, named, facts) if layer is not None and layer.values]


def _models_version(agent: Agent) -> tuple[str, str | None]:
    return agent.models.source, agent.models.last_updated
