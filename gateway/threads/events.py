"""Threads' feeds: what happens on a thread as Agent Relay's session events, numbered, kept, and followed by many.

In: that a thread may be another now (`thread_changed`), the logs of its runs, and what others have to tell of it. Out:
notes in the store, and for every reader what it has not had yet, read from there. A run is followed as any reader
follows it: nothing here slows one down, and whoever reads slowly, or comes back later, costs nothing but a look into
the store.

Only threads that somebody has asked about are observed: by reading their feed, or by posting a message. They stay so
for the life of the gateway, the last `OBSERVED` of them.
"""

from __future__ import annotations

import logging
import time
from collections import deque
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime

import anyio

from gateway.background import Tasks
from gateway.capabilities.views import relay
from gateway.capabilities.views.relay import ThreadStatus
from gateway.errors import Busy, NotFound, StoreError
from gateway.events import Wire
from gateway.jsonio import dumps, loads
from gateway.registry.agents import Agents
from gateway.runs.engine import Engine
from gateway.runs.log import Chunk
from gateway.runs.run import Run
from gateway.runs.thread_state import ThreadKey
from gateway.settings import Settings
from gateway.store.base import Store
from gateway.store.deliveries import Notes
from gateway.threads.relay_events import Calls, RelayEvents
from gateway.threads.status import ThreadStatuses

log = logging.getLogger(__name__)

OBSERVED = 4096
"""Threads without readers that are still observed."""
PAGE = 200
"""Notes that a reader is given at once."""
CHANGES = 64
"""Of a thread's standing that wait to be told; of more, the oldest are left out."""

Heard = Callable[[ThreadKey, Run, str], None]
Over = Callable[[ThreadKey, Run], None]


@dataclass(slots=True)
class Channel:
    """One thread that is observed."""

    readers: int = 0
    grown: anyio.Event = field(default_factory=anyio.Event)
    status: str | None = None
    """As it was last told."""
    session: str | None = None
    statuses: deque[ThreadStatus] = field(default_factory=lambda: deque(maxlen=CHANGES))
    telling: bool = False
    run: Run | None = None
    """The newest that is, or was, followed."""
    followed: anyio.Event | None = None
    """All of it has been read."""
    calls: Calls = field(default_factory=dict)
    received: str | None = None
    """The newest message of the user's that was told of."""
    deliveries: dict[str, str] = field(default_factory=dict)
    """Messages on their way → the delivery."""

    @property
    def idle(self) -> bool:
        return not (self.readers or self.telling or self.deliveries or (self.followed and not self.followed.is_set()))

    def wake(self) -> None:
        grown, self.grown = self.grown, anyio.Event()
        grown.set()


class ThreadEvents:
    def __init__(
        self, settings: Settings, store: Store, tasks: Tasks, engine: Engine, agents: Agents, statuses: ThreadStatuses
    ) -> None:
        self._settings, self._store, self._tasks = settings, store, tasks
        self._engine, self._agents, self._statuses = engine, agents, statuses
        self._channels: dict[ThreadKey, Channel] = {}
        self._readers = 0
        self.closed = False
        self.heard: Heard = lambda thread, run, message_id: None
        """Is told of a message that reached a turn under way, as the run's log has it."""
        self.run_over: Over = lambda thread, run: None
        """Is told when all of a run has been read."""

    # -- observing

    def observe(self, thread: ThreadKey) -> Channel:
        channel = self._channels.pop(thread, None)
        new = channel is None
        channel = channel or Channel()
        self._channels[thread] = channel
        if new:
            self._forget_one()
            self.thread_changed(thread)
        return channel

    def _forget_one(self) -> None:
        if len(self._channels) > OBSERVED:
            oldest = next((thread for thread, channel in self._channels.items() if channel.idle), None)
            if oldest is not None:
                del self._channels[oldest]

    def thread_changed(self, thread: ThreadKey) -> None:
        """The thread may be busy now, or free, or waiting."""
        channel = self._channels.get(thread)
        if channel is None:
            return
        run = self._engine.live_run(thread)
        if run is not None and run is not channel.run:
            before, done = channel.followed, anyio.Event()
            channel.run, channel.followed = run, done
            self._tasks.start_soon(self._follow, thread, channel, run, before, done)
        channel.statuses.append(self._statuses.under_way(thread))
        if not channel.telling:
            channel.telling = True
            self._tasks.start_soon(self._tell_standings, thread, channel)

    def forget(self, thread: ThreadKey) -> None:
        """The thread was deleted."""
        if (channel := self._channels.get(thread)) is not None:
            channel.session = None
            channel.calls.clear()
            channel.deliveries.clear()

    async def settled(self) -> None:
        """Until all that was followed has been read."""
        for channel in list(self._channels.values()):
            if channel.followed is not None:
                await channel.followed.wait()

    # -- telling

    def notes(self, *events: Wire) -> Notes:
        """To be written with what they tell of."""
        now = time.time()
        return Notes([_line(event, now) for event in events], now, self._settings.retain_thread_events)

    def grown(self, thread: ThreadKey) -> None:
        """Somebody has written notes: the readers look."""
        if (channel := self._channels.get(thread)) is not None:
            channel.wake()

    async def tell(self, thread: ThreadKey, *events: Wire) -> None:
        """Of a thread that is observed."""
        if thread in self._channels:
            await self._note(thread, events)

    async def released(self, thread: ThreadKey, session_id: str | None) -> None:
        """`session_id`: of the session that was open. When it is there again, that is told."""
        if (channel := self._channels.get(thread)) is None:
            return
        channel.session = None
        if session_id is not None:
            await self._note(thread, [{"type": "session.released", "sessionId": session_id}])
        self.thread_changed(thread)

    async def _note(self, thread: ThreadKey, events: Sequence[Wire]) -> None:
        if not events:
            return
        try:
            await self._store.mail.note(thread, self.notes(*events))
        except StoreError as exc:
            log.error("thread %s: what happened there could not be noted: %s", thread.thread_id, exc)
        self.grown(thread)

    async def _tell_standings(self, thread: ThreadKey, channel: Channel) -> None:
        try:
            while channel.statuses:
                await self._tell_standing(thread, channel, channel.statuses.popleft())
        except StoreError as exc:
            log.error("thread %s: its status cannot be told: %s", thread.thread_id, exc)
        finally:
            channel.telling = False

    async def _tell_standing(self, thread: ThreadKey, channel: Channel, standing: ThreadStatus) -> None:
        if not standing.has_live_run:
            if channel.followed is not None:
                await channel.followed.wait()  # first what the run did, then that it is over
            known = await self._statuses.of(thread)
            standing = replace(
                known,
                has_live_run=False,
                is_starting=False,
                is_parked=standing.is_parked,
                last_outcome=standing.last_outcome,
            )
        status = relay.status(standing, self._availability(thread.agent))
        if status is not None and status != channel.status:
            before, channel.status = channel.status, status
            event = {"type": "status.changed", "status": status, "previousStatus": before}
            await self._note(thread, [{key: value for key, value in event.items() if value is not None}])

    def _availability(self, agent_id: str) -> str | None:
        try:
            seen = self._agents[agent_id].seen
        except NotFound:
            return "not-installed"
        return None if seen is None else seen.status

    # -- following a run

    async def _follow(
        self, thread: ThreadKey, channel: Channel, run: Run, before: anyio.Event | None, done: anyio.Event
    ) -> None:
        try:
            if before is not None:
                await before.wait()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_end_without, run, tasks.cancel_scope)
                await self._read_all(thread, channel, run)
                tasks.cancel_scope.cancel()
        finally:
            done.set()
        await run.over.wait()
        self.run_over(thread, run)

    async def _read_all(self, thread: ThreadKey, channel: Channel, run: Run) -> None:
        relaying, reader = RelayEvents(run.record.run_id, channel.calls), run.log.follow()
        given = relaying.given(run.turn.messages, channel.received)
        channel.received = next((e["messageId"] for e in given if e["type"] == "message.received"), channel.received)
        await self._note(thread, self._named(channel, given))
        try:
            while chunks := await reader.next():
                await self._read(thread, channel, run, relaying, chunks)
        except StoreError as exc:
            log.error("run %s could not be followed for its thread's feed: %s", run.record.run_id, exc)

    async def _read(
        self, thread: ThreadKey, channel: Channel, run: Run, relaying: RelayEvents, chunks: list[Chunk]
    ) -> None:
        told: list[Wire] = self._session(thread, channel)
        for event in (event for chunk in chunks for event in _objects(chunk)):
            if event["type"] == "TEXT_MESSAGE_START" and event.get("role") == "user":
                self.heard(thread, run, event["messageId"])
            told += relaying.feed(event)
        await self._note(thread, self._named(channel, told))

    def _session(self, thread: ThreadKey, channel: Channel) -> list[Wire]:
        """The agent's own, once it is known."""
        session = self._engine.session(thread)
        name = None if session is None else session.id
        if name is None or name == channel.session:
            return []
        channel.session = name
        told = "session.resumed" if self._engine.was_resumed(thread) else "session.started"
        return [{"type": told, "sessionId": name}]

    def _named(self, channel: Channel, events: list[Wire]) -> list[Wire]:
        for event in events:
            if event["type"] == "message.received" and event["messageId"] in channel.deliveries:
                event["deliveryId"] = channel.deliveries.pop(event["messageId"])
        return events

    # -- reading

    @asynccontextmanager
    async def read(self, thread: ThreadKey, after: int) -> AsyncIterator[FeedReader]:
        """`after`: the number of the last event that this reader has had."""
        if self.closed:
            raise Busy("the gateway is shutting down; read again when it is back")
        if self._readers >= self._settings.max_watchers:
            raise Busy(f"max_watchers ({self._settings.max_watchers}) are reading threads' feeds already; try later")
        self._readers += 1
        channel = self.observe(thread)
        channel.readers += 1
        try:
            known = await self._store.mail.last_note(thread)
            # A number that was never given out is of a feed that was forgotten since.
            yield FeedReader(self, self._store, thread, channel, after if after <= known else 0)
        finally:
            channel.readers -= 1
            self._readers -= 1

    def close(self) -> None:
        """The gateway stops: every reader's stream ends."""
        self.closed = True
        for channel in self._channels.values():
            channel.wake()


class FeedReader:
    """One reader's place. Numbers have no gaps but for what is not kept any more."""

    def __init__(self, feeds: ThreadEvents, store: Store, thread: ThreadKey, channel: Channel, after: int) -> None:
        self._feeds, self._store, self._thread, self._channel, self._after = feeds, store, thread, channel, after

    async def next(self) -> list[Chunk]:
        while not self._feeds.closed:
            grown = self._channel.grown
            try:
                found = await self._store.mail.notes(self._thread, self._after, PAGE)
            except StoreError as exc:  # the stream ends; whoever comes back misses nothing
                log.error("thread %s: its feed cannot be read: %s", self._thread.thread_id, exc)
                return []
            if found:
                self._after = found[-1][0]
                return list(_chunks(found))
            await grown.wait()
        return []


async def _end_without(run: Run, following: anyio.CancelScope) -> None:
    """Of a run that could not begin after all, the log has no end."""
    await run.over.wait()
    if not run.log.over:
        following.cancel()


def _chunks(found: Iterable[tuple[int, bytes]]) -> Iterable[Chunk]:
    chunk: Chunk | None = None
    for number, line in found:
        if chunk is None or number != chunk.last + 1:
            if chunk is not None:
                yield chunk
            chunk = Chunk(number, [])
        chunk.lines.append(line)
    if chunk is not None:
        yield chunk


def _objects(chunk: Chunk) -> list[Wire]:
    return chunk.events or [loads(line) for line in chunk.lines]


def _line(event: Wire, now: float) -> bytes:
    at = moment(now)
    if event["type"] == "transcript.chunk":
        event = {**event, "chunk": {**event["chunk"], "at": at}}
    return dumps({**event, "at": at})


def moment(seconds: float) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
