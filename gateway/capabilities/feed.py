"""Snapshots as they change, for any number of watchers. The one file of this room that waits.

In: a `SnapshotSource`, which tells what a key's watchers would see now, and by which cheap facts one notices that this
may have changed. Out: for every watcher the newest state, as soon as there is one that it has not seen.

A change costs one look for each key that is watched, whatever the number of its watchers; a key that nobody watches
costs no work. Nobody is waited for: whoever is slow finds the newest state when it comes back for more.
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

log = logging.getLogger(__name__)

TICK = 0.1
"""Between two looks at the cheap facts, while somebody watches."""
TOGETHER = 0.05
"""What changes within this is one change. A first watcher waits so long for what is about to be known."""
AT_ONCE = 32
"""Watchers that are woken before others have their turn."""
RESTING = 64
"""Keys without watchers whose versions are still remembered, for a page that is reloaded. No work is done for them."""


class SnapshotSource(Protocol):
    """The world, as the feed sees it."""

    async def facts(self, agent: str) -> Any:
        """What all keys of an agent depend on: only compared, and asked for many times a second."""

    def own(self, key: Key) -> Any:
        """What this key depends on beside that."""

    async def look(self, key: Key) -> RenderedSnapshot:
        """Raises `GatewayError` where there is nothing to be seen any more."""

    async def attend(self, agent: str, looked: Callable[[], None]) -> None:
        """While somebody watches the agent: keeps those facts fresh that take time to learn. Runs until cancelled;
        `looked` is called when all were learnt for the first time."""


class ChangeSignal:
    """Tells those who watch an agent to look at once. Nothing is lost without it: changes are then seen at the next
    look. Touching costs nothing where nobody watches. For the event loop's own thread."""

    def __init__(self) -> None:
        self._beats: dict[str, int] = {}
        self._waiting: dict[str, anyio.Event] = {}

    def touch(self, agent: str) -> None:
        """Something of this agent may be another now: its definition, its models, what a session has."""
        self._beats[agent] = self.beat(agent) + 1
        if (waiting := self._waiting.pop(agent, None)) is not None:
            waiting.set()

    def beat(self, agent: str) -> int:
        return self._beats.get(agent, 0)

    async def wait(self, agent: str, beat: int, at_most: float) -> None:
        """Until there is another beat than this one."""
        if self.beat(agent) == beat:
            with anyio.move_on_after(at_most):
                await self._waiting.setdefault(agent, anyio.Event()).wait()


class Watcher:
    """One watcher's place."""

    def __init__(self, channel: Channel, after: int | None) -> None:
        self._channel, self._last = channel, after
        self.woken = anyio.Event()

    async def next(self) -> FeedEvent | None:
        """The newest that it has not had yet; None at the end. May be cancelled and called again."""
        while (told := self._channel.news(self._last)) is None and not self._channel.over:
            self.woken = anyio.Event()
            await self.woken.wait()
        self._last = self._last if told is None else told.number
        return told


class Channel:
    """One key that is watched."""

    def __init__(self, key: Key, versions: Versions) -> None:
        self.key, self.versions = key, versions
        self.watchers: set[Watcher] = set()
        self.facts: Any = None
        """What the newest version was made of."""
        self.over = False
        self._farewell: FeedEvent | None = None

    def news(self, after: int | None) -> FeedEvent | None:
        if not self.over:
            return self.versions.after(after)
        return self._farewell if self._farewell is not None and self._farewell.number != after else None

    async def show(self, shown: RenderedSnapshot) -> None:
        """A few at a time: whoever else is served by this gateway need not wait until a thousand were written to."""
        if self.versions.publish(shown):
            for number, watcher in enumerate(list(self.watchers), 1):
                watcher.woken.set()
                if number % AT_ONCE == 0:
                    await checkpoint()

    def end(self, reason: GatewayError | None) -> None:
        """Without a reason it is the gateway that stops: whoever comes back will be served."""
        self.over = True
        self._farewell = None if reason is None else self.versions.farewell(reason)
        for watcher in self.watchers:
            watcher.woken.set()


class AgentWatch:
    """An agent that is watched: its channels, and the task that goes round them."""

    def __init__(self, agent: str) -> None:
        self.agent = agent
        self.users = 0
        self.channels: dict[Key, Channel] = {}
        self.scope = CancelScope()
        self.looked = anyio.Event()

    def end(self, reason: GatewayError | None) -> None:
        for channel in self.channels.values():
            channel.end(reason)
        self.channels.clear()


class Feed:
    def __init__(self, capability_source: SnapshotSource, changes: ChangeSignal, tasks: Tasks, most: int) -> None:
        self._capability_source, self._changes, self._tasks, self._most = capability_source, changes, tasks, most
        self._rounds: dict[str, AgentWatch] = {}
        self._resting: dict[Key, Versions] = {}
        self._closed = False

    @property
    def watched(self) -> dict[Key, int]:
        """Keys and the number of their watchers."""
        return {key: len(one.watchers) for rounds in self._rounds.values() for key, one in rounds.channels.items()}

    @asynccontextmanager
    async def watch(self, key: Key, after: int | None = None) -> AsyncIterator[Watcher]:
        """`after`: the number of the last event that this watcher has had. Raises why there is nothing to be seen."""
        rounds = self._enter(key.agent)
        try:
            channel = await self._open(rounds, key)
            watcher = Watcher(channel, after)
            channel.watchers.add(watcher)
            try:
                yield watcher
            finally:
                channel.watchers.remove(watcher)
                self._rest(rounds, channel)
        finally:
            self._leave(rounds)

    def close(self) -> None:
        """The gateway stops: every stream ends."""
        self._closed = True
        ending, self._rounds = self._rounds, {}
        for rounds in ending.values():
            rounds.scope.cancel()
            rounds.end(None)

    # -- who watches what

    def _enter(self, agent: str) -> AgentWatch:
        if self._closed:
            raise Busy("the gateway is shutting down; watch again when it is back")
        if sum(rounds.users for rounds in self._rounds.values()) >= self._most:
            raise Busy(f"max_watchers ({self._most}) are watching already; ask without text/event-stream, or later")
        rounds = self._rounds.get(agent)
        if rounds is None:
            rounds = self._rounds[agent] = AgentWatch(agent)
            self._tasks.start_soon(self._go_round, rounds)
        rounds.users += 1
        return rounds

    def _leave(self, rounds: AgentWatch) -> None:
        rounds.users -= 1
        if not rounds.users:
            rounds.scope.cancel()
            if self._rounds.get(rounds.agent) is rounds:
                del self._rounds[rounds.agent]

    async def _open(self, rounds: AgentWatch, key: Key) -> Channel:
        if (channel := rounds.channels.get(key)) is not None:
            return channel
        with anyio.move_on_after(TOGETHER):
            await rounds.looked.wait()
        facts = (await self._capability_source.facts(key.agent), self._capability_source.own(key))
        shown = await self._capability_source.look(key)
        if self._rounds.get(key.agent) is not rounds:
            raise Busy("the gateway is shutting down, or failed to watch this agent; watch again in a moment")
        if (channel := rounds.channels.get(key)) is None:  # else somebody was quicker, and has newer news
            channel = Channel(key, self._resting.pop(key) if key in self._resting else Versions())
            channel.facts = facts
            channel.versions.publish(shown)
            rounds.channels[key] = channel
        return channel

    def _rest(self, rounds: AgentWatch, channel: Channel) -> None:
        if channel.watchers or rounds.channels.get(channel.key) is not channel:
            return
        del rounds.channels[channel.key]
        self._resting[channel.key] = channel.versions
        if len(self._resting) > RESTING:
            del self._resting[next(iter(self._resting))]

    # -- looking

    async def _go_round(self, rounds: AgentWatch) -> None:
        """The agent's task. A defect here ends its watchers' streams, and nothing else."""
        with rounds.scope:
            try:
                async with anyio.create_task_group() as tasks:
                    tasks.start_soon(self._capability_source.attend, rounds.agent, rounds.looked.set)
                    await self._look_for_ever(rounds)
            except Exception:
                log.exception("the agent %s cannot be watched", rounds.agent)
                rounds.end(GatewayError("the gateway itself failed; its log says how"))
                if self._rounds.get(rounds.agent) is rounds:
                    del self._rounds[rounds.agent]

    async def _look_for_ever(self, rounds: AgentWatch) -> None:
        seen = self._changes.beat(rounds.agent)
        while True:
            await self._changes.wait(rounds.agent, seen, TICK)
            if self._changes.beat(rounds.agent) == seen and not await self._stale(rounds):
                continue
            await anyio.sleep(TOGETHER)
            seen = self._changes.beat(rounds.agent)
            for channel, facts in await self._stale(rounds):
                await self._refresh(rounds, channel, facts)

    async def _stale(self, rounds: AgentWatch) -> list[tuple[Channel, Any]]:
        """Those whose facts are others now, with these. An agent that is gone has none."""
        try:
            facts = await self._capability_source.facts(rounds.agent)
        except GatewayError:
            facts = None
        now = [(channel, (facts, self._capability_source.own(channel.key))) for channel in rounds.channels.values()]
        return [(channel, its) for channel, its in now if channel.facts != its]

    async def _refresh(self, rounds: AgentWatch, channel: Channel, facts: Any) -> None:
        channel.facts = facts
        try:
            await channel.show(await self._capability_source.look(channel.key))
        except GatewayError as exc:
            channel.end(exc)
            if rounds.channels.get(channel.key) is channel:
                del rounds.channels[channel.key]
