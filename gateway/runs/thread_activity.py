"""What happens on a thread now, and that it has changed.

In: a call of `publish` wherever a thread becomes busy, free, parked or released. Out: for every subscription the
activities of its threads, in order, each as it was when it was published. A subscriber reads them in a task of its own:
nothing here calls or waits for one, and a thread without subscribers costs nothing.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass

import anyio

from gateway.identity import ThreadKey
from gateway.runs.admission import Admission
from gateway.runs.outcomes import LastOutcomes, Outcome
from gateway.runs.parked_turns import ParkedTurns
from gateway.runs.phase import Phase
from gateway.runs.run import Run
from gateway.runs.session_pool import SessionPool


@dataclass(frozen=True, slots=True)
class ThreadActivity:
    thread: ThreadKey
    run: Run | None = None
    """The live run."""
    is_starting: bool = False
    """The session of the live run is still being opened."""
    is_parked: bool = False
    """A turn waits between two runs."""
    outcome: Outcome = "idle"
    """How the last run, or a release, left the thread, where no run is live."""


class ActivitySubscription:
    """The activities of some threads."""

    def __init__(self) -> None:
        self._threads: set[ThreadKey] = set()
        self._pending: deque[ThreadActivity] = deque()
        self._arrived = anyio.Event()

    def add(self, thread: ThreadKey) -> None:
        self._threads.add(thread)

    def discard(self, thread: ThreadKey) -> None:
        self._threads.discard(thread)

    def __contains__(self, thread: ThreadKey) -> bool:
        return thread in self._threads

    def put(self, activity: ThreadActivity) -> None:
        self._pending.append(activity)
        self._arrived.set()

    def take(self) -> ThreadActivity | None:
        """The oldest that was not taken yet."""
        return self._pending.popleft() if self._pending else None

    async def next(self) -> ThreadActivity:
        while (activity := self.take()) is None:
            self._arrived = anyio.Event()
            await self._arrived.wait()
        return activity


class ThreadActivities:
    def __init__(
        self, admission: Admission, parked: ParkedTurns, outcomes: LastOutcomes, sessions: SessionPool
    ) -> None:
        self._admission = admission
        self._parked = parked
        self._outcomes = outcomes
        self._sessions = sessions
        self._subscriptions: list[ActivitySubscription] = []

    def read(self, thread: ThreadKey) -> ThreadActivity:
        run = self._admission.run_on(thread)
        if run is None:
            is_parked = self._parked.get(thread) is not None
            return ThreadActivity(thread, is_parked=is_parked, outcome=self._outcomes.get(thread))
        is_starting = run.phase is Phase.QUEUED and self._sessions.get(thread) is None
        return ThreadActivity(thread, run, is_starting=is_starting)

    def publish(self, thread: ThreadKey) -> None:
        """The thread may be busy now, or free, or waiting."""
        for subscription in self._subscriptions:
            if thread in subscription:
                subscription.put(self.read(thread))

    def subscribe(self) -> ActivitySubscription:
        subscription = ActivitySubscription()
        self._subscriptions.append(subscription)
        return subscription
