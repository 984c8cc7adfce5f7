"""Follows the runs of observed threads: what they do becomes the thread's events, and their status changes too.

In: the activities of observed threads, and the logs of their runs. Out: events of the thread (`threads.events`), and
for `threads.delivery` which user messages a run has taken up. A run is followed as any reader follows it, so nothing
here slows one down.
"""

from __future__ import annotations

import logging
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Protocol

import anyio

from gateway.background import Tasks
from gateway.capabilities.views import relay
from gateway.errors import NotFound, StoreError
from gateway.events import Wire
from gateway.identity import ThreadKey
from gateway.jsonio import loads
from gateway.registry.agents import Agents
from gateway.runs.engine import Engine
from gateway.runs.log import Chunk
from gateway.runs.run import Run
from gateway.runs.thread_activity import ThreadActivity
from gateway.threads.channel import Channel
from gateway.threads.events import ThreadEvents
from gateway.threads.relay_events import OpenCalls, RelayEvents
from gateway.threads.status import ThreadStatuses, to_status

log = logging.getLogger(__name__)

MAX_PENDING_ACTIVITIES = 64
"""Status changes of a thread that wait to be reported; of more, the oldest are left out."""


class MessageObserver(Protocol):
    """Is informed of what a run's log shows of messages that were handed to its turn."""

    def message_accepted(self, thread: ThreadKey, run: Run, message_id: str) -> None:
        """The agent has taken the message up."""

    def run_read(self, thread: ThreadKey, run: Run) -> None:
        """The run is over, and all of its log was read."""


@dataclass(slots=True, eq=False)
class FollowedThread:
    """What is known of one observed thread."""

    channel: Channel
    status: str | None = None
    """As it was reported last."""
    session: str | None = None
    activities: deque[ThreadActivity] = field(default_factory=lambda: deque(maxlen=MAX_PENDING_ACTIVITIES))
    reported: anyio.Event | None = None
    """Is set when all of these were reported; None: nothing is being reported."""
    run: Run | None = None
    """The newest run that is, or was, followed."""
    all_read: anyio.Event | None = None
    """All of that run's log was read."""
    calls: OpenCalls = field(default_factory=dict)
    received: str | None = None
    """The newest user message that was reported."""


class RunFollower:
    def __init__(
        self,
        tasks: Tasks,
        engine: Engine,
        agents: Agents,
        events: ThreadEvents,
        statuses: ThreadStatuses,
        messages: MessageObserver,
    ) -> None:
        self._tasks = tasks
        self._engine = engine
        self._agents = agents
        self._events = events
        self._statuses = statuses
        self._messages = messages
        self._followed: dict[ThreadKey, FollowedThread] = {}

    async def follow_for_ever(self) -> None:
        while True:
            self._handle(await self._events.subscription.next())

    async def wait_until_read(self) -> None:
        """Until the logs of all followed runs were read."""
        self._handle_pending()
        for followed in list(self._followed.values()):
            if followed.all_read is not None:
                await followed.all_read.wait()

    async def wait_until_reported(self, thread: ThreadKey) -> None:
        """Until what has happened on the thread so far is among its events. For a thread that is idle."""
        self._handle_pending()
        followed = self._followed.get(thread)
        if followed is not None and followed.reported is not None:
            await followed.reported.wait()

    def _handle_pending(self) -> None:
        while (activity := self._events.subscription.take()) is not None:
            self._handle(activity)

    def forget(self, thread: ThreadKey) -> None:
        """The thread was deleted."""
        if (followed := self._followed.get(thread)) is not None:
            followed.session = None
            followed.calls.clear()

    async def report_release(self, thread: ThreadKey, session_id: str | None) -> None:
        """`session_id`: of the session that was open. When it is open again, that is reported. First comes what has
        happened so far: that the session is being released."""
        if (channel := self._events.find(thread)) is None:
            return
        await self.wait_until_reported(thread)
        self._state(thread, channel).session = None
        if session_id is not None:
            await self._events.write(thread, [{"type": "session.released", "sessionId": session_id}])
        self._engine.activities.publish(thread)

    def _state(self, thread: ThreadKey, channel: Channel) -> FollowedThread:
        followed = self._followed.get(thread)
        if followed is None or followed.channel is not channel:
            self._drop_unobserved()
            followed = self._followed[thread] = FollowedThread(channel)
        return followed

    def _drop_unobserved(self) -> None:
        for thread, followed in list(self._followed.items()):
            if self._events.find(thread) is not followed.channel:
                del self._followed[thread]

    def _handle(self, activity: ThreadActivity) -> None:
        thread = activity.thread
        if (channel := self._events.find(thread)) is None:
            return
        followed = self._state(thread, channel)
        if activity.run is not None and activity.run is not followed.run:
            previous = followed.all_read
            followed.run = activity.run
            followed.all_read = anyio.Event()
            channel.add_user()
            self._tasks.start_soon(self._follow, followed, activity.run, thread, previous, followed.all_read)
        followed.activities.append(activity)
        if followed.reported is None:
            followed.reported = anyio.Event()
            channel.add_user()
            self._tasks.start_soon(self._report_statuses, thread, followed, followed.reported)

    # -- status

    async def _report_statuses(self, thread: ThreadKey, followed: FollowedThread, reported: anyio.Event) -> None:
        try:
            while followed.activities:
                await self._report_status(thread, followed, followed.activities.popleft())
        except StoreError as exc:
            log.error("thread %s: its status cannot be reported: %s", thread.thread_id, exc)
        finally:
            followed.reported = None
            followed.channel.remove_user()
            reported.set()

    async def _report_status(self, thread: ThreadKey, followed: FollowedThread, activity: ThreadActivity) -> None:
        thread_status = to_status(activity)
        if activity.run is None:
            if followed.all_read is not None:
                await followed.all_read.wait()  # first what the run did, then that it is over
            stored = await self._statuses.read(thread)
            thread_status = replace(thread_status, exists=stored.exists, has_open_interrupt=stored.has_open_interrupt)
        status = relay.status(thread_status, self._availability(thread.agent))
        if status is not None and status != followed.status:
            event: Wire = {"type": "status.changed", "status": status}
            if followed.status is not None:
                event["previousStatus"] = followed.status
            followed.status = status
            await self._events.write(thread, [event])

    def _availability(self, agent_id: str) -> str | None:
        try:
            availability = self._agents[agent_id].availability
        except NotFound:
            return "not-installed"
        return None if availability is None else availability.status

    # -- runs

    async def _follow(
        self,
        followed: FollowedThread,
        run: Run,
        thread: ThreadKey,
        previous: anyio.Event | None,
        all_read: anyio.Event,
    ) -> None:
        try:
            if previous is not None:
                await previous.wait()
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(_cancel_without_end, run, tasks.cancel_scope)
                await self._read_log(thread, followed, run)
                tasks.cancel_scope.cancel()
        finally:
            followed.channel.remove_user()
            all_read.set()
        await run.over.wait()
        self._messages.run_read(thread, run)

    async def _read_log(self, thread: ThreadKey, followed: FollowedThread, run: Run) -> None:
        relay_events = RelayEvents(run.record.run_id, followed.calls, partial(self._find_cost, thread.agent, run))
        reader = run.log.follow()
        events = relay_events.read_input(run.turn.messages, followed.received)
        received = next((event["messageId"] for event in events if event["type"] == "message.received"), None)
        followed.received = received or followed.received
        await self._events.write(thread, events)
        try:
            while chunks := await reader.next():
                await self._read_chunks(thread, followed, run, relay_events, chunks)
        except StoreError as exc:
            log.error("run %s could not be followed for its thread's events: %s", run.record.run_id, exc)

    def _find_cost(self, agent_id: str, run: Run, usage: Sequence[Wire]) -> float | None:
        """What the run has cost by the prices of its models; None: a price is not known."""
        try:
            return self._agents[agent_id].models.usage_cost(usage, run.turn.options.model)
        except NotFound:
            return None

    async def _read_chunks(
        self, thread: ThreadKey, followed: FollowedThread, run: Run, relay_events: RelayEvents, chunks: list[Chunk]
    ) -> None:
        events = self._session_events(thread, followed)
        for event in (event for chunk in chunks for event in _objects(chunk)):
            if event["type"] == "TEXT_MESSAGE_START" and event.get("role") == "user":
                self._messages.message_accepted(thread, run, event["messageId"])
            events += relay_events.feed(event)
        await self._events.write(thread, events)

    def _session_events(self, thread: ThreadKey, followed: FollowedThread) -> list[Wire]:
        """The agent's own session, once its id is known."""
        session = self._engine.sessions.get(thread)
        session_id = None if session is None else session.id
        if session_id is None or session_id == followed.session:
            return []
        followed.session = session_id
        name = "session.resumed" if self._engine.sessions.was_resumed(thread) else "session.started"
        return [{"type": name, "sessionId": session_id}]


async def _cancel_without_end(run: Run, following: anyio.CancelScope) -> None:
    """The log of a run that could not begin has no end."""
    await run.over.wait()
    if not run.log.over:
        following.cancel()


def _objects(chunk: Chunk) -> list[Wire]:
    return chunk.events or [loads(line) for line in chunk.lines]
