"""Snapshots as they change, for any number of watchers. The one module of this package that waits.

In: a `SnapshotSource`, which renders the snapshot of a key, and reads cheap facts that differ when the snapshot may
have changed. Out: for each watcher the newest version, as soon as there is one that it has not had.

A change costs one rendering for each key that is watched, however many watchers it has; a key without watchers costs
nothing. No watcher is waited for: a slow one gets the newest version when it reads again.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any, Protocol

import anyio
from anyio import CancelScope
from anyio.lowlevel import checkpoint

from gateway.background import Tasks
from gateway.capabilities.versions import FeedEvent, Key, RenderedSnapshot, Versions
from gateway.errors import Busy, GatewayError
from gateway.identity import LOCAL
from gateway.limits import WATCHERS, PrincipalLimits

log = logging.getLogger(__name__)

POLL_SECONDS = 0.1
"""Between two comparisons of the cheap facts, while an agent is watched."""
SETTLE_SECONDS = 0.05
"""Changes within this time become one version. A first watcher waits so long for facts that are about to be read."""
WAKE_BATCH = 32
"""Watchers that are woken before other tasks have their turn."""
MAX_IDLE_KEYS = 64
"""Keys without watchers whose versions are kept, for a page that is reloaded. They cost no work."""


class SnapshotSource(Protocol):
    """Where the feed reads snapshots, and what they depend on."""

    async def read_agent_facts(self, agent: str) -> Any:
        """What all keys of an agent depend on. Only compared; called many times a second. Raises `GatewayError` if the
        agent is gone."""

    def read_key_facts(self, key: Key) -> Any:
        """What this key depends on beside that."""

    async def render(self, key: Key) -> RenderedSnapshot:
        """Raises `GatewayError` if there is no such snapshot any more."""

    async def keep_fresh(self, agent: str, on_fresh: Callable[[], None]) -> None:
        """Keeps those facts of a watched agent fresh that take time to read. Runs until cancelled. `on_fresh` is called
        whenever all have been read."""


class ChangeSignal:
    """Wakes the task that watches an agent, so that a change is seen at once. Without a signal it is seen at the next
    poll. A signal for an agent that is not watched costs nothing. For the event loop's own thread."""

    def __init__(self) -> None:
        self._counts: dict[str, int] = {}
        self._waiting: dict[str, anyio.Event] = {}

    def touch(self, agent: str) -> None:
        """Something of this agent may have changed: its definition, its models, a session."""
        self._counts[agent] = self.count(agent) + 1
        if (waiting := self._waiting.pop(agent, None)) is not None:
            waiting.set()

    def count(self, agent: str) -> int:
        """How often the agent was touched."""
        return self._counts.get(agent, 0)

    async def wait(self, agent: str, count: int, max_seconds: float) -> None:
        """Until the agent's count is another than this one, or the time is over."""
        if self.count(agent) == count:
            with anyio.move_on_after(max_seconds):
                await self._waiting.setdefault(agent, anyio.Event()).wait()


class Watcher:
    """One watcher of a key."""

    def __init__(self, channel: Channel, after: int | None) -> None:
        self._channel = channel
        self._last_number = after
        self.woken = anyio.Event()

    async def next(self) -> FeedEvent | None:
        """The newest event that this watcher has not had; None at the end. May be cancelled and called again."""
        while (event := self._channel.event_after(self._last_number)) is None and not self._channel.is_over:
            self.woken = anyio.Event()
            await self.woken.wait()
        if event is not None:
            self._last_number = event.number
        return event


class Channel:
    """One key that is watched."""

    def __init__(self, key: Key, versions: Versions, facts: Any) -> None:
        self.key = key
        self.versions = versions
        self.facts = facts
        """What the newest version was rendered from."""
        self.watchers: set[Watcher] = set()
        self.is_over = False
        self._removed_event: FeedEvent | None = None

    def event_after(self, number: int | None) -> FeedEvent | None:
        if not self.is_over:
            return self.versions.after(number)
        event = self._removed_event
        return event if event is not None and event.number != number else None

    async def publish(self, rendered: RenderedSnapshot, facts: Any) -> None:
        """Wakes the watchers in batches: other requests need not wait until a thousand watchers were written to."""
        self.facts = facts
        if self.versions.publish(rendered):
            for number, watcher in enumerate(list(self.watchers), 1):
                watcher.woken.set()
                if number % WAKE_BATCH == 0:
                    await checkpoint()

    def end(self, reason: GatewayError | None) -> None:
        """`reason`: why there is no such snapshot any more; None if the gateway stops, and clients may reconnect."""
        self.is_over = True
        self._removed_event = None if reason is None else self.versions.removed_event(reason)
        for watcher in self.watchers:
            watcher.woken.set()


class AgentWatch:
    """A watched agent: its channels, and the scope of the task that refreshes them."""

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self.scope = CancelScope()
        self.is_fresh = anyio.Event()
        """Set when the facts that take time have been read for the first time."""
        self.channels: dict[Key, Channel] = {}
        self._users = 0

    @property
    def users(self) -> int:
        """Watchers, and requests that are about to become one."""
        return self._users

    def enter(self) -> None:
        self._users += 1

    def leave(self) -> None:
        self._users -= 1

    def end(self, reason: GatewayError | None) -> None:
        for channel in self.channels.values():
            channel.end(reason)
        self.channels.clear()


class Feed:
    """All watched agents."""

    def __init__(
        self,
        source: SnapshotSource,
        changes: ChangeSignal,
        tasks: Tasks,
        max_watchers: int,
        limits: PrincipalLimits | None = None,
    ) -> None:
        """`limits`: of each principal; None: only `max_watchers` holds."""
        self._source = source
        self._changes = changes
        self._tasks = tasks
        self._max_watchers = max_watchers
        self._limits = limits
        self._watches: dict[str, AgentWatch] = {}
        self._idle: dict[Key, Versions] = {}
        self._is_closed = False

    @asynccontextmanager
    async def watch(self, key: Key, after: int | None = None, principal: str = LOCAL) -> AsyncIterator[Watcher]:
        """`after`: the number of the last event that this watcher has had. Raises `GatewayError` if there is no such
        snapshot, `LimitReached` or `Busy` if there are too many watchers."""
        hold = None if self._limits is None else self._limits.acquire(WATCHERS, principal)
        try:
            async with self._watch(key, after) as watcher:
                yield watcher
        finally:
            if hold is not None:
                hold.release()

    @asynccontextmanager
    async def _watch(self, key: Key, after: int | None) -> AsyncIterator[Watcher]:
        watch = self._enter(key.agent)
        try:
            channel = await self._open_channel(watch, key)
            watcher = Watcher(channel, after)
            channel.watchers.add(watcher)
            try:
                yield watcher
            finally:
                channel.watchers.remove(watcher)
                self._close_if_unused(watch, channel)
        finally:
            self._leave(watch)

    def close(self) -> None:
        """The gateway stops: every stream ends."""
        self._is_closed = True
        watches = self._watches
        self._watches = {}
        for watch in watches.values():
            watch.scope.cancel()
            watch.end(None)

    # -- watchers

    def _enter(self, agent: str) -> AgentWatch:
        if self._is_closed:
            raise Busy("the gateway is shutting down; watch again when it is back")
        if sum(watch.users for watch in self._watches.values()) >= self._max_watchers:
            detail = (
                f"max_watchers ({self._max_watchers}) are watching already; ask without text/event-stream, or later"
            )
            raise Busy(detail)
        watch = self._watches.get(agent)
        if watch is None:
            watch = AgentWatch(agent)
            self._watches[agent] = watch
            self._tasks.start_soon(self._refresh_agent, watch)
        watch.enter()
        return watch

    def _leave(self, watch: AgentWatch) -> None:
        watch.leave()
        if not watch.users:
            watch.scope.cancel()
            self._forget(watch)

    def _forget(self, watch: AgentWatch) -> None:
        if self._watches.get(watch.agent) is watch:
            del self._watches[watch.agent]

    async def _open_channel(self, watch: AgentWatch, key: Key) -> Channel:
        if (channel := watch.channels.get(key)) is not None:
            return channel
        with anyio.move_on_after(SETTLE_SECONDS):
            await watch.is_fresh.wait()
        facts = (await self._source.read_agent_facts(key.agent), self._source.read_key_facts(key))
        rendered = await self._source.render(key)
        if self._watches.get(key.agent) is not watch:
            raise Busy("the gateway is shutting down, or failed to watch this agent; watch again in a moment")
        if (channel := watch.channels.get(key)) is None:  # Otherwise another request was quicker, and its is newer.
            channel = Channel(key, self._idle.pop(key) if key in self._idle else Versions(), facts)
            channel.versions.publish(rendered)
            watch.channels[key] = channel
        return channel

    def _close_if_unused(self, watch: AgentWatch, channel: Channel) -> None:
        if channel.watchers or watch.channels.get(channel.key) is not channel:
            return
        del watch.channels[channel.key]
        self._idle[channel.key] = channel.versions
        if len(self._idle) > MAX_IDLE_KEYS:
            del self._idle[next(iter(self._idle))]

    # -- changes

    async def _refresh_agent(self, watch: AgentWatch) -> None:
        """The agent's task. A defect here ends the streams of its watchers, and nothing else."""
        with watch.scope:
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._source.keep_fresh, watch.agent, watch.is_fresh.set)
                    await self._refresh_for_ever(watch)
            except Exception:
                log.exception("the agent %s cannot be watched", watch.agent)
                watch.end(GatewayError("the gateway itself failed; its log says how"))
                self._forget(watch)

    async def _refresh_for_ever(self, watch: AgentWatch) -> None:
        seen = self._changes.count(watch.agent)
        while True:
            await self._changes.wait(watch.agent, seen, POLL_SECONDS)
            if self._changes.count(watch.agent) == seen and not await self._find_stale(watch):
                continue
            await anyio.sleep(SETTLE_SECONDS)
            seen = self._changes.count(watch.agent)
            for channel, facts in await self._find_stale(watch):
                await self._refresh(watch, channel, facts)

    async def _find_stale(self, watch: AgentWatch) -> list[tuple[Channel, Any]]:
        """The channels whose facts have changed, with the new facts. An agent that is gone has none."""
        try:
            agent_facts = await self._source.read_agent_facts(watch.agent)
        except GatewayError:
            agent_facts = None
        current = [
            (channel, (agent_facts, self._source.read_key_facts(channel.key))) for channel in watch.channels.values()
        ]
        return [(channel, facts) for channel, facts in current if channel.facts != facts]

    async def _refresh(self, watch: AgentWatch, channel: Channel, facts: Any) -> None:
        try:
            await channel.publish(await self._source.render(channel.key), facts)
        except GatewayError as exc:
            channel.end(exc)
            if watch.channels.get(channel.key) is channel:
                del watch.channels[channel.key]
