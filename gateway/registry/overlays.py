"""Who says what about which agent: layers of definitions, later ones over earlier ones → the agents that there are.

In: a layer for each place that definitions come from. Out: calls of `Agents` for what differs from before. A layer that
goes uncovers what lies below it.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.load import Catalog
from gateway.registry.agents import Agents, Failure
from gateway.registry.mounts import Mounts, mounts

REGISTERED = "registered by HTTP"
"""The layer on top."""


@dataclass(slots=True)
class Overlay:
    """One layer."""

    name: str
    catalog: Catalog
    troubles: Mapping[str, Failure] = field(default_factory=dict)
    """Agents whose newest definition here is wrong."""


class Overlays:
    def __init__(self, shelves: Sequence[Overlay], registered: Catalog, agents: Agents, far: Mounts) -> None:
        self._shelves = [*shelves, Overlay(REGISTERED, registered)]
        self._agents, self._mounts = agents, far
        far.changed = self.apply
        self._shown: set[str] = set()
        self.apply()

    @property
    def registered(self) -> Catalog:
        return self._shelves[-1].catalog

    def below(self, agent_id: str) -> str | None:
        """Which layer has it, beside those that are registered."""
        return next((overlay.name for overlay in reversed(self._shelves[:-1]) if agent_id in overlay.catalog), None)

    def register(self, definition: AgentDefinition) -> None:
        self.registered[definition.id] = definition
        self.apply()

    def unregister(self, agent_id: str) -> None:
        self.registered.pop(agent_id, None)
        self.apply()

    def apply(self) -> None:
        wanted: dict[str, tuple[AgentDefinition, Failure | None]] = {}
        for overlay in self._shelves:
            wanted |= {name: (told, overlay.troubles.get(name)) for name, told in overlay.catalog.items()}
        self._mounts.keep([definition for definition, _ in wanted.values() if mounts(definition)])
        shown: set[str] = set()
        for definition, trouble in list(wanted.values()):
            for each, broken in self._meant(definition, wanted):
                shown.add(each.id)
                self._agents.put(each, broken)
                self._agents.report(each.id, trouble)
                self._agents.lose(each.id, self._lost(definition))
        for name in self._shown - shown:
            self._agents.remove(name)
        self._shown = shown

    def _lost(self, definition: AgentDefinition) -> str | None:
        """Why what a mount has told before cannot be had now."""
        return self._mounts.of(definition.id).error or None if mounts(definition) else None

    def _meant(
        self, definition: AgentDefinition, wanted: Container[str]
    ) -> Iterator[tuple[AgentDefinition, str | None]]:
        """An agent is itself; a mount is the agents of another gateway, but for those that are defined here. Until it
        has told them it stands for itself, broken, so that somebody sees why there are none."""
        if not mounts(definition):
            yield definition, None
        elif (agents := self._mounts.of(definition.id).agents) is None:
            yield definition, self._mounts.of(definition.id).error
        else:
            yield from ((agent, None) for agent in agents if agent.id not in wanted)
