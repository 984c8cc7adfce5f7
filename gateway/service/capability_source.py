"""What the feed, and a run, see of an agent: the cheap facts, the snapshot in the form that is asked for.

In: a key. Out: facts to compare, and what is to be shown. While an agent is watched it is glanced at several times a
second, and looked at anew when a glance shows something else, when it was touched, and now and then.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import monotonic
from typing import Any

import anyio
from anyio import CancelScope, to_thread

from gateway.capabilities.feed import ChangeSignal
from gateway.capabilities.versions import Key, RenderedSnapshot
from gateway.capabilities.views import SnapshotEntry, relay, render
from gateway.drivers.probe import glance
from gateway.errors import NotFound
from gateway.events import Layer
from gateway.registry.agents import Agent, Agents
from gateway.runs.engine import Engine
from gateway.runs.thread_state import ThreadKey
from gateway.service.snapshots import Snapshots, known_model
from gateway.threads.service import ThreadService

GLANCE = 0.1
"""Between two glances: with the look that follows, a sign-in is seen well within a quarter of a second."""
PAUSE = 0.02
"""Between two looks, however often the agent is touched."""
LOOK_AGAIN = 1.0
"""For what no glance shows: the word of a command is believed for some seconds, and then asked for again."""
STORE_AGAIN = 5.0
"""Between two looks at what only the store knows of a thread: that it was deleted, that its question is too old."""


class CapabilitySource:
    def __init__(
        self, agents: Agents, engine: Engine, control: ThreadService, snapshots: Snapshots, changes: ChangeSignal
    ) -> None:
        self._agents, self._engine, self._control = agents, engine, control
        self._snapshots, self._changes = snapshots, changes

    async def read_agent_facts(self, agent: str) -> Any:
        return await self._snapshots.facts(self._agents[agent])

    def read_key_facts(self, key: Key) -> Any:
        session_layer = self.session_layer(key)
        own = None if session_layer is None else dict(session_layer)  # the session may go on writing into its own
        if key.view != relay.NAME or (thread := _thread(key)) is None:
            return own
        return own, self._control.under_way(thread), monotonic() // STORE_AGAIN

    async def render(self, key: Key) -> RenderedSnapshot:
        agent = self._agents[key.agent]
        return render(key.view, await self.current(key), agent.definition, explain=key.explain)

    async def current(self, key: Key) -> SnapshotEntry:
        agent = self._agents[key.agent]
        model = None if key.model is None else known_model(agent, key.model)
        standing = await self._standing(key, agent) if key.view == relay.NAME else None
        current = await self._snapshots.of(agent, model, self.session_layer(key) or await self._remembered(key, agent))
        return current if standing is None else replace(current, thread_status=standing)

    async def _standing(self, key: Key, agent: Agent) -> relay.ThreadStatus | None:
        if agent.seen is None:
            with anyio.move_on_after(GLANCE):  # most know at once whether they can run; nobody waits for the others
                await agent.look()
        thread = _thread(key)
        return None if thread is None else await self._control.standing(thread)

    async def _remembered(self, key: Key, agent: Agent) -> Layer | None:
        """What the session would be set to, were it open."""
        thread = _thread(key)
        return None if thread is None else await self._control.remembered(agent, thread)

    def session_layer(self, key: Key) -> Layer | None:
        """What the thread's session has told; None: it has none open."""
        thread = _thread(key)
        session = None if thread is None else self._engine.session(thread)
        return None if session is None else session.session_layer

    async def keep_fresh(self, agent: str, on_first: Callable[[], None]) -> None:
        attention = Attention(agent, self._agents, self._changes)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(attention.glance_for_ever)
            await attention.look_for_ever(on_first)


def _thread(key: Key) -> ThreadKey | None:
    if key.thread is None or key.principal is None:
        return None
    return ThreadKey(key.agent, key.thread, key.principal)


class Attention:
    """One agent's, while somebody watches it."""

    def __init__(self, name: str, agents: Agents, changes: ChangeSignal) -> None:
        self._name, self._agents, self._changes = name, agents, changes
        self._looking = CancelScope()
        self._glanced: Any = None
        """What a glance showed before the last look."""

    async def look_for_ever(self, looked: Callable[[], None]) -> None:
        while True:
            beat = self._changes.count(self._name)
            self._glanced = await self._glance()
            with CancelScope() as self._looking:
                await self._look()
                looked()
            await anyio.sleep(PAUSE)
            await self._changes.wait(self._name, beat, LOOK_AGAIN)

    async def _look(self) -> None:
        agent = self._agent()
        if agent is None:
            return
        before = agent.seen
        now = await agent.look()
        if now == before:
            return
        if now.status == "ready":
            self._agents.probe_soon(agent, ready=True)  # it can say itself what it can do
        self._changes.touch(self._name)

    async def glance_for_ever(self) -> None:
        while True:
            await anyio.sleep(GLANCE)
            if await self._glance() != self._glanced:
                self._looking.cancel()  # it may wait for a command, and began with what was so before
                self._changes.touch(self._name)

    async def _glance(self) -> Any:
        agent = self._agent()
        if agent is None or agent.definition.command is None:
            return None
        return agent.definition.source, await to_thread.run_sync(glance, agent.definition)

    def _agent(self) -> Agent | None:
        try:
            return self._agents[self._name]
        except NotFound:
            return None
