"""What the capability feed watches of an agent: cheap facts to compare, and the snapshot in the requested view.

In: a key (agent, thread, model, view). Out: facts that change when the snapshot may have changed, and what is shown
now. While an agent is watched, its fingerprint is read several times a second. It is probed again when the fingerprint
has changed, when a change was signalled, and now and then.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from dataclasses import replace
from time import monotonic
from typing import Any

import anyio
from anyio import CancelScope, to_thread

from gateway.capabilities.feed import ChangeSignal
from gateway.capabilities.versions import Key, RenderedSnapshot
from gateway.capabilities.views import relay, render
from gateway.drivers.probe import fingerprint
from gateway.errors import NotFound
from gateway.identity import ThreadKey
from gateway.registry.agents import Agent, Agents
from gateway.runs.facts_cache import FactsCache
from gateway.service.snapshots import Snapshots, find_model
from gateway.threads.status import ThreadStatuses

FINGERPRINT_SECONDS = 0.1
"""Between two reads of the fingerprint: with the probe that follows, a sign-in is seen within a quarter of a second."""
MIN_PROBE_PAUSE_SECONDS = 0.02
"""Between two probes, however often a change is signalled."""
MAX_PROBE_PAUSE_SECONDS = 1.0
"""For what no fingerprint shows: the answer of a command is believed for some seconds, then the command runs again."""
STORE_READ_SECONDS = 5.0
"""Between two reads of what only the store knows of a thread: that it was deleted, that its interrupt has expired."""


class CapabilitySource:
    def __init__(
        self,
        agents: Agents,
        facts: FactsCache,
        snapshots: Snapshots,
        statuses: ThreadStatuses,
        changes: ChangeSignal,
    ) -> None:
        self._agents = agents
        self._facts = facts
        self._snapshots = snapshots
        self._statuses = statuses
        self._changes = changes

    async def read_agent_facts(self, agent: str) -> Any:
        """What all keys of an agent depend on: only compared."""
        return await self._facts.read(self._agents[agent])

    def read_key_facts(self, key: Key) -> Any:
        """What this key depends on beside that."""
        thread = thread_of(key)
        if thread is None:
            return self._read_personal(key)
        session_layer = self._snapshots.session_layer(self._agents[key.agent], thread)
        if session_layer is None:
            session_layer = self._snapshots.worktree_layer(thread)
        if key.view != relay.NAME:
            return session_layer
        return session_layer, self._statuses.read_activity(thread), monotonic() // STORE_READ_SECONDS

    def _read_personal(self, key: Key) -> Any:
        """Whether files show that the key's principal is signed in; None where all principals see the same."""
        if key.principal is None or key.agent not in self._agents:
            return None
        agent = self._agents[key.agent]
        home = self._snapshots.find_home(agent, key.principal)
        return None if home is None else fingerprint(agent.definition, home.environ(agent.definition, os.environ))

    async def render(self, key: Key) -> RenderedSnapshot:
        """The snapshot in the requested view. Raises `NotFound` where the agent or the model is gone."""
        agent = self._agents[key.agent]
        thread = thread_of(key)
        model = None if key.model is None else find_model(agent, key.model)
        thread_status = await self._read_status(agent, thread) if key.view == relay.NAME else None
        entry = (await self._snapshots.take(agent, thread, model, key.principal)).entry
        if thread_status is not None:
            entry = replace(entry, thread_status=thread_status)
        return render(key.view, entry, agent.definition_in_use, explain=key.explain)

    async def _read_status(self, agent: Agent, thread: ThreadKey | None) -> relay.ThreadStatus | None:
        if agent.availability is None:
            with anyio.move_on_after(FINGERPRINT_SECONDS):  # most probes are quick; a slow one is not waited for
                await agent.probe()
        return None if thread is None else await self._statuses.read(thread)

    async def keep_fresh(self, agent: str, on_fresh: Callable[[], None]) -> None:
        """Keeps the agent's availability fresh. Runs until cancelled. `on_fresh`: called after each probe."""
        watch = AvailabilityWatch(agent, self._agents, self._changes)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(watch.compare_for_ever)
            await watch.probe_for_ever(on_fresh)


def thread_of(key: Key) -> ThreadKey | None:
    if key.thread is None or key.principal is None:
        return None
    return ThreadKey(key.agent, key.thread, key.principal)


class AvailabilityWatch:
    """Probes one agent, as long as a client watches it."""

    def __init__(self, agent_id: str, agents: Agents, changes: ChangeSignal) -> None:
        self._agent_id = agent_id
        self._agents = agents
        self._changes = changes
        self._probe_scope = CancelScope()
        self._fingerprint: Any = None
        """As it was before the last probe."""

    async def probe_for_ever(self, on_probe: Callable[[], None]) -> None:
        while True:
            count = self._changes.count(self._agent_id)
            self._fingerprint = await self._read_fingerprint()
            with CancelScope() as self._probe_scope:
                await self._probe()
                on_probe()
            await anyio.sleep(MIN_PROBE_PAUSE_SECONDS)
            await self._changes.wait(self._agent_id, count, MAX_PROBE_PAUSE_SECONDS)

    async def _probe(self) -> None:
        agent = self._find_agent()
        if agent is None:
            return
        before = agent.availability
        after = await agent.probe()
        if after == before:
            return
        if after.status == "ready":
            self._agents.probe_soon(agent, is_ready=True)  # it can announce what it can do
        self._changes.touch(self._agent_id)

    async def compare_for_ever(self) -> None:
        while True:
            await anyio.sleep(FINGERPRINT_SECONDS)
            if await self._read_fingerprint() != self._fingerprint:
                self._probe_scope.cancel()  # it may wait for a command that was started before the change
                self._changes.touch(self._agent_id)

    async def _read_fingerprint(self) -> Any:
        agent = self._find_agent()
        if agent is None or agent.definition.command is None:
            return None
        return agent.definition.source, await to_thread.run_sync(fingerprint, agent.definition)

    def _find_agent(self) -> Agent | None:
        try:
            return self._agents[self._agent_id]
        except NotFound:
            return None
