"""Layers of definitions, later ones over earlier ones, become the agents that are shown.

In: an overlay for each place that definitions come from. Out: calls of `Agents` for what differs from before. An
overlay that loses a definition uncovers the one below it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gateway.background import Tasks
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.load import Catalog
from gateway.catalog.transports import link_transports
from gateway.registry.agents import Agents, Failure
from gateway.registry.mounts import Mounts, is_mount

REGISTERED = "registered by HTTP"
"""The name of the topmost overlay."""


@dataclass(slots=True)
class Overlay:
    name: str
    catalog: Catalog
    failures: Mapping[str, Failure] = field(default_factory=dict)
    """Agents whose newest definition in this overlay is invalid."""


class Overlays:
    def __init__(
        self, overlays: Sequence[Overlay], registered: Catalog, agents: Agents, tasks: Tasks, own_id: str
    ) -> None:
        """`own_id`: of this gateway, among those that are mounted in each other."""
        self._registered = Overlay(REGISTERED, registered)
        self._files = list(overlays)
        self._agents = agents
        self._mounts = Mounts(tasks, own_id, self.apply)
        self._shown_ids: set[str] = set()
        self.apply()

    @property
    def registered(self) -> Catalog:
        return self._registered.catalog

    def find_unregistered(self, agent_id: str) -> str | None:
        """The name of the overlay that defines the agent, beside the one of registrations."""
        return next((overlay.name for overlay in reversed(self._files) if agent_id in overlay.catalog), None)

    def register(self, definition: AgentDefinition) -> None:
        self.registered[definition.id] = definition
        self.apply()

    def unregister(self, agent_id: str) -> None:
        self.registered.pop(agent_id, None)
        self.apply()

    def apply(self) -> None:
        """Brings the agents in line with the overlays."""
        wanted: dict[str, tuple[AgentDefinition, Failure | None]] = {}
        for overlay in (*self._files, self._registered):
            wanted |= {name: (each, overlay.failures.get(name)) for name, each in overlay.catalog.items()}
        linked = link_transports({name: definition for name, (definition, _) in wanted.items()})
        wanted = {name: (linked[name], failure) for name, (_, failure) in wanted.items()}
        self._mounts.set_definitions([definition for definition, _ in wanted.values() if is_mount(definition)])
        shown_ids: set[str] = set()
        for definition, failure in list(wanted.values()):
            for agent, broken_reason in self._expand(definition, wanted):
                shown_ids.add(agent.id)
                self._agents.put(agent, broken_reason)
                self._agents.report_failure(agent.id, failure)
                self._agents.report_unreachable(agent.id, self._mount_error(definition))
        for agent_id in self._shown_ids - shown_ids:
            self._agents.remove(agent_id)
        self._shown_ids = shown_ids

    def _mount_error(self, definition: AgentDefinition) -> str | None:
        return self._mounts[definition.id].error or None if is_mount(definition) else None

    def _expand(
        self, definition: AgentDefinition, wanted: Container[str]
    ) -> Iterator[tuple[AgentDefinition, str | None]]:
        """The agents that a definition stands for, each with the reason why it is broken. A mount stands for the agents
        of the other gateway, except those that are defined here. Until that gateway has answered, the mount itself is
        listed as broken, so that users see why its agents are missing."""
        if not is_mount(definition):
            yield definition, None
        elif (agents := self._mounts[definition.id].agents) is None:
            yield definition, self._mounts[definition.id].error
        else:
            yield from ((agent, None) for agent in agents if agent.id not in wanted)
