"""The rooms, put together: what every route has at hand."""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import anyio

from gateway.background import ContainedTasks
from gateway.capabilities.feed import ChangeSignal, Feed
from gateway.errors import GatewayError
from gateway.events import Layer
from gateway.identity import ThreadKey
from gateway.registry.agents import Agent, Agents
from gateway.registry.file_watcher import AgentFolder, FileWatcher
from gateway.registry.mounts import Mounts
from gateway.registry.overlays import Overlay, Overlays
from gateway.registry.registrations import Registrations, registered
from gateway.runs.engine import Engine
from gateway.service.capability_source import CapabilitySource
from gateway.service.snapshots import Snapshots
from gateway.settings import Settings
from gateway.store.base import Store
from gateway.threads.delivery.dispatcher import Dispatcher
from gateway.threads.events import ThreadEvents
from gateway.threads.service import ThreadService
from gateway.threads.status import ThreadStatuses

log = logging.getLogger(__name__)

LAST_NOTES = 2.0
"""How long it may take to note what became of messages, once all runs are over."""


@dataclass(frozen=True, slots=True)
class Gateway:
    settings: Settings
    store: Store
    agents: Agents
    engine: Engine
    control: ThreadService
    snapshots: Snapshots
    changes: ChangeSignal
    """Whoever changes what an agent can do touches it: `gateway.pulse.touch(agent_id)`."""
    capability_source: CapabilitySource
    feed: Feed
    registrations: Registrations
    feeds: ThreadEvents
    dispatcher: Dispatcher
    id: str
    """Of this process, among gateways that are mounted in each other."""
    stopping: anyio.Event
    """Set when it drains."""

    async def drain(self) -> None:
        """No new runs, messages and watchers; streams end, runs within the grace. What waits stays in the store."""
        self.stopping.set()
        self.feed.close()
        self.dispatcher.close()
        self.feeds.close()
        await self.engine.drain()
        with anyio.move_on_after(LAST_NOTES):
            await self.feeds.settled()
            await self.dispatcher.settled()

    def session_layer(self, agent: Agent, thread_id: str, principal: str) -> Layer | None:
        """What the thread's session has told; None: it has none open."""
        session = self.engine.session(ThreadKey(agent.definition.id, thread_id, principal))
        return None if session is None else session.session_layer

    def default_agent(self) -> str | None:
        """What CopilotKit's `default` stands for."""
        if self.settings.default_agent is not None:
            return self.settings.default_agent
        ids = [agent.definition.id for agent in self.agents]
        return "demo" if "demo" in ids else next(iter(ids), None)


@asynccontextmanager
async def open_gateway(
    settings: Settings, store: Store, shelves: Sequence[Overlay], carried: Mapping[str, Any]
) -> AsyncIterator[Gateway]:
    """Everything that runs, and its end: at exit live runs get their last word, then all tasks stop."""
    await store.start()
    try:
        async with anyio.create_task_group() as group:
            tasks = ContainedTasks(group)
            changes, snapshots = ChangeSignal(), Snapshots(carried)
            engine = Engine(settings, store, tasks, changes.touch)
            agents = Agents(tasks, engine.close_driver_sessions, changes.touch)
            own_id = uuid4().hex
            overlays = Overlays(shelves, await registered(store, settings), agents, Mounts(tasks, own_id))
            watch = FileWatcher([overlay for overlay in shelves if isinstance(overlay, AgentFolder)], overlays.apply)
            statuses = ThreadStatuses(engine, store)
            feeds = ThreadEvents(settings, store, tasks, engine, agents, statuses)
            dispatcher = Dispatcher(settings, store, tasks, engine, agents, feeds)
            control = ThreadService(engine, store, statuses, feeds, dispatcher)
            engine.capability_source = capability_source = CapabilitySource(agents, engine, control, snapshots, changes)
            feed = Feed(capability_source, changes, tasks, settings.max_watchers)
            registrations = Registrations(overlays, store, settings)
            gateway = Gateway(
                settings,
                store,
                agents,
                engine,
                control,
                snapshots,
                changes,
                capability_source,
                feed,
                registrations,
                feeds,
                dispatcher,
                own_id,
                anyio.Event(),
            )
            if left := await engine.recover():
                log.warning("%d run(s) were live when the last gateway died: ended as GATEWAY_RESTARTED", left)
            tasks.start_soon(engine.prune_for_ever)
            if settings.watch:
                tasks.start_soon(watch.run)
            try:
                yield gateway
            finally:
                watch.stop()
                with anyio.CancelScope(shield=True):
                    await gateway.drain()
                    await agents.aclose()
                group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            try:
                await store.aclose()
            except GatewayError as exc:
                log.error("the store could not be closed cleanly: %s", exc)
