"""Snapshots, taken from the facts of the moment and kept until one of them changes.

In: an agent, perhaps a thread and a model. Out: the merged snapshot with its bytes, and what it was computed from.
`Snapshots.take` is the one way to a snapshot. Never: a wait for an agent; what it has not announced yet stays absent.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from gateway.capabilities.agent_facts import AgentFacts, CurrentSnapshot, SnapshotBasis, probe_layer
from gateway.capabilities.views import SnapshotEntry
from gateway.capability_paths import MODES
from gateway.catalog.models.definition import Model
from gateway.drivers.homes import Home, PrincipalHomes
from gateway.drivers.probe import Availability
from gateway.drivers.python.modes import ModeControls
from gateway.errors import NotFound
from gateway.events import Layer
from gateway.identity import ThreadKey
from gateway.registry.agents import Agent, fingerprint_of
from gateway.runs.facts_cache import FactsCache
from gateway.runs.interrupts import Interrupts
from gateway.runs.session_pool import SessionPool
from gateway.runs.worktrees import ThreadWorktrees
from gateway.store.base import Store

MAX_RECENT_SNAPSHOTS = 128
"""Kept snapshots of threads and models: to compute one takes a hundred times as long as to look it up."""

RecentKey = tuple[str, str | None, bytes | str, Home | None]
"""Agent id, model id, fingerprint of the session layer, home of the principal."""
MAX_PERSONAL_FACTS = 512
MAX_AGENT_SNAPSHOTS = 4096
"""Agents, times principals that have credentials of their own."""


@dataclass(frozen=True, slots=True)
class PersonalFacts:
    """The facts of an agent for one principal, and what they were made of."""

    shared: AgentFacts
    availability: Availability
    facts: AgentFacts


class Snapshots:
    def __init__(
        self,
        facts: FactsCache,
        sessions: SessionPool,
        store: Store,
        worktrees: ThreadWorktrees,
        homes: PrincipalHomes | None = None,
    ) -> None:
        """`homes`: who has credentials of its own with which agent; None: no principal."""
        self._homes = homes
        self._facts = facts
        self._worktrees = worktrees
        self._sessions = sessions
        self._store = store
        self._of_agents: dict[tuple[str, Home | None], tuple[AgentFacts, SnapshotEntry]] = {}
        self._personal: dict[tuple[str, Home], PersonalFacts] = {}
        self._recent: dict[RecentKey, tuple[AgentFacts, SnapshotEntry]] = {}
        """Snapshots with a model or a session, the one that was used last at the end."""

    async def take(
        self,
        agent: Agent,
        thread: ThreadKey | None = None,
        model: Model | None = None,
        principal: str | None = None,
    ) -> CurrentSnapshot:
        """`thread`: with what its session has and is set to. `model`: with its limits; None: with those of the model
        that the session is set to, if there is one. `principal`: with whether this principal is signed in, where each
        has credentials of its own."""
        session_layer = None if thread is None else await self._read_session_layer(agent, thread)
        home = self.find_home(agent, principal)
        facts = await self._facts.read(agent)
        if home is not None:
            facts = await self._read_personal(agent, home, facts)
        basis = SnapshotBasis(facts, session_layer, model)
        return CurrentSnapshot(basis, self._find_or_compute(basis, home))

    def find_home(self, agent: Agent, principal: str | None) -> Home | None:
        """None: the agent is the same for all principals."""
        if self._homes is None or principal is None:
            return None
        return self._homes.find(agent.definition, principal)

    async def _read_personal(self, agent: Agent, home: Home, shared: AgentFacts) -> AgentFacts:
        """The agent's facts with what the probe finds for this principal: the same object until one changes."""
        availability = await agent.probe_home(home)
        name = agent.definition.id, home
        known = self._personal.pop(name, None)
        if known is None or known.shared is not shared or known.availability != availability:
            [layer] = probe_layer(availability.status, availability.version)
            layers = [layer if each.layer == layer.layer else each for each in shared.layers]
            if layer not in layers:
                layers.append(layer)
            previous = () if known is None else known.facts.layers
            dated = tuple(each.keep_date(previous) for each in layers)
            known = PersonalFacts(shared, availability, replace(shared, layers=dated))
        self._personal[name] = known
        if len(self._personal) > MAX_PERSONAL_FACTS:
            del self._personal[next(iter(self._personal))]
        return known.facts

    async def is_new(self, thread: ThreadKey) -> bool:
        """The thread has no session yet that could be resumed with a model of its own."""
        record = await self._store.thread(*thread)
        return record is None or record.session is None

    def session_layer(self, agent: Agent, thread: ThreadKey) -> Layer | None:
        """What the thread's session states, and what is decided about its folder; None: no session is open."""
        session = self._sessions.get(thread)
        if session is None:
            return None
        # A copy: the session goes on writing into its own.
        return {**session.session_layer, **self._facts.read_trust(agent, thread)}

    def worktree_layer(self, thread: ThreadKey) -> Layer:
        """What the gateway states of the thread's worktree, whether its session is open or not."""
        return self._worktrees.layer(thread)

    async def _read_session_layer(self, agent: Agent, thread: ThreadKey) -> Layer | None:
        """Of a session that is not open, what it would be set to, where that is known: what was set on the thread, its
        worktree, what is decided about its folder, the mode of an in-process agent. Which modes that has, its
        definition states."""
        if (layer := self.session_layer(agent, thread)) is not None:
            return layer
        record = await self._store.thread(*thread)
        if agent.definition.driver != "python" or not agent.definition.modes:
            known = {} if record is None else Interrupts.loads(record.interrupts).settings.closed_layer
            return {**known, **self._worktrees.layer(thread), **self._facts.read_trust(agent, thread)} or None
        controls = ModeControls(agent.definition.modes, None if record is None else record.session)
        return {path: value for path, value in controls.session_layer.items() if path != MODES}

    def _find_or_compute(self, basis: SnapshotBasis, home: Home | None) -> SnapshotEntry:
        facts = basis.facts
        model = basis.model
        agent_id = facts.definition.id
        if model is None and not basis.session_layer:
            known = self._of_agents.get((agent_id, home))
            if known is None or known[0] is not facts:
                if len(self._of_agents) > MAX_AGENT_SNAPSHOTS:
                    self._of_agents.clear()
                known = self._of_agents[agent_id, home] = facts, basis.compute()
            return known[1]
        key = (agent_id, None if model is None else model.id, fingerprint_of(basis.session_layer), home)
        recent = self._recent.pop(key, None)
        if recent is None or recent[0] is not facts or recent[1].model is not model:
            recent = facts, basis.compute(() if recent is None else recent[1].layers)
        self._recent[key] = recent
        if len(self._recent) > MAX_RECENT_SNAPSHOTS:
            del self._recent[next(iter(self._recent))]
        return recent[1]


def find_model(agent: Agent, name: str) -> Model:
    """Raises `NotFound`, with suggestions, for a name that means no model of the agent."""
    verdict = agent.models.validate(name)
    if verdict.model is None:
        suggestions = list(verdict.suggestions)
        raise NotFound(verdict.message, code="UNKNOWN_MODEL", modelStatus=verdict.status, suggestions=suggestions)
    return verdict.model
