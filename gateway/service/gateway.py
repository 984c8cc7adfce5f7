"""The composition root: every part of the gateway, built in the order in which they need each other, and its end.

In: settings, a store, the overlays that agents come from, what the transports carry. Out: a running `Gateway`. Every
part gets what it needs from its constructor.
"""

from __future__ import annotations

import logging
import os
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from typing import Any
from uuid import uuid4

import anyio

from gateway.audit import AuditLog
from gateway.background import ContainedTasks
from gateway.capabilities.feed import ChangeSignal, Feed
from gateway.drivers.environment import secret_values
from gateway.drivers.homes import PrincipalHomes
from gateway.errors import GatewayError
from gateway.gateway_files import check_workspace, is_inside, withheld_paths
from gateway.identity import Caller
from gateway.limits import PrincipalLimits
from gateway.registry.agents import Agents
from gateway.registry.file_watcher import AgentFolder, FileWatcher
from gateway.registry.overlays import Overlay, Overlays
from gateway.registry.registrations import Registrations, load_registered
from gateway.registry.sources import read_overlays
from gateway.runs.engine import Engine
from gateway.runs.facts_cache import FactsCache
from gateway.runs.idle_sessions import IdleSessions
from gateway.runs.isolation import Isolation
from gateway.runs.session_access import SessionAccess
from gateway.runs.session_pool import SessionPool
from gateway.runs.trust import WorkspaceTrust
from gateway.runs.trust_facts import TrustFacts
from gateway.runs.workspaces import Workspaces
from gateway.runs.worktrees import ThreadWorktrees
from gateway.service.capability_source import CapabilitySource
from gateway.service.checked_runs import CheckedRuns
from gateway.service.installation import Installation
from gateway.service.model_lists import ModelLists
from gateway.service.snapshots import Snapshots
from gateway.settings import Settings
from gateway.store import open_store
from gateway.store.base import Store
from gateway.threads.delivery.dispatcher import Dispatcher
from gateway.threads.delivery.run_starter import FindCaller
from gateway.threads.events import ThreadEvents
from gateway.threads.run_follower import RunFollower
from gateway.threads.service import ThreadService
from gateway.threads.status import ThreadStatuses
from gateway.threads.worktrees import WorktreeService
from gateway.trust.folders import real_folder

log = logging.getLogger(__name__)

FINAL_STORE_SECONDS = 2.0
"""How long it may take to store what became of messages, once all runs are over."""


@dataclass(frozen=True, slots=True)
class Gateway:
    """What the routes use."""

    id: str
    """Of this process, among gateways that are mounted in each other."""
    settings: Settings
    store: Store
    audit: AuditLog
    """Who did what: `gateway.audit.record(action, principal, …)`."""
    changes: ChangeSignal
    """Signals that an agent may have changed: `gateway.changes.touch(agent_id)`."""
    agents: Agents
    registrations: Registrations
    installation: Installation
    engine: Engine
    snapshots: Snapshots
    checked_runs: CheckedRuns
    model_lists: ModelLists
    threads: ThreadService
    worktrees: WorktreeService
    workspaces: Workspaces
    """Where agents may work."""
    thread_events: ThreadEvents
    dispatcher: Dispatcher
    run_follower: RunFollower
    capability_source: CapabilitySource
    capability_feed: Feed
    limits: PrincipalLimits
    stopping: anyio.Event
    """Set when the gateway drains."""

    async def recover_deliveries(self) -> None:
        """From here on messages are delivered: first those that the last gateway left."""
        if queued := await self.dispatcher.recover():
            log.info("%d message(s) waited for their threads when the last gateway ended", queued)

    async def drain(self) -> None:
        """No new runs, messages and watchers; streams end, runs within the grace. Queued messages stay in the store."""
        self.stopping.set()
        self.audit.close_readers()
        self.capability_feed.close()
        self.dispatcher.close()
        self.thread_events.close()
        await self.engine.drain()
        with anyio.move_on_after(FINAL_STORE_SECONDS):
            await self.run_follower.wait_until_read()
            await self.dispatcher.wait_until_stored()

    def default_agent(self) -> str | None:
        """The agent that CopilotKit's `default` stands for."""
        if self.settings.default_agent is not None:
            return self.settings.default_agent
        ids = [agent.definition.id for agent in self.agents if agent.definition.is_listed]
        return "demo" if "demo" in ids else next(iter(ids), None)


@dataclass(frozen=True, slots=True)
class GatewayFiles:
    """What is read before the gateway serves."""

    store: Store
    overlays: Sequence[Overlay]


def read_files(settings: Settings) -> GatewayFiles:
    """Raises `ConfigError` for the first mistake in the settings or in an agent's file. Where the gateway's own files
    are is checked before any of them is read."""
    check_workspace(settings)
    WorkspaceTrust(settings)  # checks the folders
    overlays = read_overlays(settings)
    return GatewayFiles(open_store(settings.store), overlays)


def watched_folders(overlays: Sequence[Overlay], settings: Settings) -> list[AgentFolder]:
    """The folders whose changes are applied at once. Not those in a workspace, where agents write: only the bundled
    agents can be there, when the gateway was installed inside the project that its agents work on."""
    folders = [overlay for overlay in overlays if isinstance(overlay, AgentFolder)]
    inside = [folder for folder in folders if any(is_inside(folder.path, root) for root in settings.workspace)]
    if inside:
        log.warning(
            "the gateway's own program (%s) is inside the workspace: an agent that changes it changes the next start. "
            "Install the gateway elsewhere, or name another folder with --workspace",
            inside[0].path,
        )
    return [folder for folder in folders if folder not in inside]


@asynccontextmanager
async def open_gateway(
    settings: Settings,
    store: Store,
    overlays: Sequence[Overlay],
    transports: Mapping[str, Any],
    find_caller: FindCaller = Caller,
) -> AsyncIterator[Gateway]:
    """Until the end of the context. Then live runs get their last event, and all tasks stop. `transports`: what the
    gateway carries, by dotted paths of the snapshot. `find_caller`: a principal as it is now, None if it does not exist
    any more; default: all exist, and may do everything."""
    await store.start()
    try:
        async with anyio.create_task_group() as group:
            tasks = ContainedTasks(group)
            gateway_id = uuid4().hex

            secrets = secret_values(os.environ)
            audit = AuditLog(store, lambda: secrets)
            tasks.start_soon(audit.write_for_ever)

            # Agents, their sessions, what is known of them.
            changes = ChangeSignal()
            limits = PrincipalLimits(settings)
            pool = SessionPool(settings, tasks, changes.touch, limits)
            agents = Agents(tasks, pool.close_driver_sessions, changes.touch)
            layers = Overlays(overlays, await load_registered(store, settings), agents, tasks, gateway_id)
            registrations = Registrations(layers, store, settings, audit)
            watcher = FileWatcher(watched_folders(overlays, settings), layers.apply)
            isolation = Isolation(settings, audit)
            if (trust_audit := isolation.trust.file_audit) is not None:
                await trust_audit.record_earlier()
                tasks.start_soon(trust_audit.watch)
            worktrees = ThreadWorktrees(settings, store)
            await worktrees.load()
            default_folder = real_folder(settings.workspace[0])
            trust_facts = TrustFacts(isolation.trust, pool, default_folder, worktrees.original_of)
            facts = FactsCache(transports, settings.run_timeout, trust_facts, isolation.sandbox_facts)
            snapshots = Snapshots(facts, pool, store, worktrees, PrincipalHomes(settings))

            # Runs.
            engine = Engine(settings, store, tasks, pool, facts, isolation, worktrees, limits, audit)
            access = SessionAccess(store, pool)
            model_lists = ModelLists(changes.touch)
            checked_runs = CheckedRuns(engine, snapshots, access, audit, gateway_id, settings, model_lists)

            # Threads between and beside their runs.
            statuses = ThreadStatuses(engine, store)
            events = ThreadEvents(settings, store, engine.activities, limits)
            dispatcher = Dispatcher(
                settings, store, tasks, engine, agents, events, checked_runs.start, limits, find_caller
            )
            follower = RunFollower(tasks, engine, agents, events, statuses, dispatcher.steering)
            thread_worktrees = WorktreeService(engine, worktrees, store, audit)
            threads = ThreadService(engine, store, events, follower, dispatcher, thread_worktrees, access, audit)

            # Capabilities, watched.
            source = CapabilitySource(agents, facts, snapshots, statuses, changes)
            feed = Feed(source, changes, tasks, settings.max_watchers, limits)

            gateway = Gateway(
                id=gateway_id,
                settings=settings,
                store=store,
                audit=audit,
                changes=changes,
                agents=agents,
                registrations=registrations,
                installation=Installation(agents, settings, audit, changes),
                engine=engine,
                snapshots=snapshots,
                checked_runs=checked_runs,
                model_lists=model_lists,
                threads=threads,
                worktrees=thread_worktrees,
                workspaces=Workspaces(settings.workspace, withheld_paths(settings)),
                thread_events=events,
                dispatcher=dispatcher,
                run_follower=follower,
                capability_source=source,
                capability_feed=feed,
                limits=limits,
                stopping=anyio.Event(),
            )
            if lost := await engine.recover():
                log.warning("%d run(s) were live when the last gateway died: ended as GATEWAY_RESTARTED", lost)
            tasks.start_soon(engine.prune_for_ever)
            tasks.start_soon(IdleSessions(pool, settings).close_for_ever)
            tasks.start_soon(thread_worktrees.remove_orphans_for_ever, settings.prune_interval)
            tasks.start_soon(follower.follow_for_ever)
            tasks.start_soon(dispatcher.watch_threads)
            if settings.watch:
                tasks.start_soon(watcher.run)
            try:
                yield gateway
            finally:
                watcher.stop()
                with anyio.CancelScope(shield=True):
                    await gateway.drain()
                    await agents.aclose()
                    await audit.aclose()
                    isolation.close()
                group.cancel_scope.cancel()
    finally:
        with anyio.CancelScope(shield=True):
            try:
                await store.aclose()
            except GatewayError as exc:
                log.error("the store could not be closed cleanly: %s", exc)
