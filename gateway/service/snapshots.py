"""Snapshots, taken from the facts of the moment and kept until one of them changes.

In: an agent, perhaps a thread and a model. Out: the merged snapshot with its bytes, and what it was computed from.
`Snapshots.take` is the one way to a snapshot. Never: a wait for an agent; what it has not announced yet stays absent.
"""

from __future__ import annotations

from gateway.capabilities.agent_facts import AgentFacts, CurrentSnapshot, SnapshotBasis
from gateway.capabilities.views import SnapshotEntry
from gateway.capability_paths import MODES
from gateway.catalog.models.definition import Model
from gateway.drivers.python.modes import ModeControls
from gateway.errors import NotFound
from gateway.events import Layer
from gateway.identity import ThreadKey
from gateway.registry.agents import Agent, fingerprint_of
from gateway.runs.facts_cache import FactsCache
from gateway.runs.session_pool import SessionPool
from gateway.store.base import Store

MAX_RECENT_SNAPSHOTS = 128
"""Kept snapshots of threads and models: to compute one takes a hundred times as long as to look it up."""

RecentKey = tuple[str, str | None, bytes | str]
"""Agent id, model id, fingerprint of the session layer."""


class Snapshots:
    def __init__(self, facts: FactsCache, sessions: SessionPool, store: Store) -> None:
        self._facts = facts
        self._sessions = sessions
        self._store = store
        self._of_agents: dict[str, tuple[AgentFacts, SnapshotEntry]] = {}
        self._recent: dict[RecentKey, tuple[AgentFacts, SnapshotEntry]] = {}
        """Snapshots with a model or a session, the one that was used last at the end."""

    async def take(self, agent: Agent, thread: ThreadKey | None = None, model: Model | None = None) -> CurrentSnapshot:
        """`thread`: with what its session has and is set to. `model`: with its limits; None: with those of the model
        that the session is set to, if there is one."""
        session_layer = None if thread is None else await self._read_session_layer(agent, thread)
        basis = SnapshotBasis(await self._facts.read(agent), session_layer, model)
        return CurrentSnapshot(basis, self._find_or_compute(basis))

    def session_layer(self, agent: Agent, thread: ThreadKey) -> Layer | None:
        """What the thread's session states, and what is decided about its folder; None: no session is open."""
        session = self._sessions.get(thread)
        if session is None:
            return None
        # A copy: the session goes on writing into its own.
        return {**session.session_layer, **self._facts.read_trust(agent, thread)}

    async def _read_session_layer(self, agent: Agent, thread: ThreadKey) -> Layer | None:
        """Of a session that is not open, what it would be set to, where that is known: the mode of an in-process
        agent. Which modes there are, the agent's definition states."""
        if (layer := self.session_layer(agent, thread)) is not None:
            return layer
        if not agent.definition.modes:
            return self._facts.read_trust(agent, thread) or None
        record = await self._store.thread(*thread)
        controls = ModeControls(agent.definition.modes, None if record is None else record.session)
        return {path: value for path, value in controls.session_layer.items() if path != MODES}

    def _find_or_compute(self, basis: SnapshotBasis) -> SnapshotEntry:
        facts = basis.facts
        model = basis.model
        agent_id = facts.definition.id
        if model is None and not basis.session_layer:
            known = self._of_agents.get(agent_id)
            if known is None or known[0] is not facts:
                known = self._of_agents[agent_id] = facts, basis.compute()
            return known[1]
        key = (agent_id, None if model is None else model.id, fingerprint_of(basis.session_layer))
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
