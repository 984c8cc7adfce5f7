"""The store in memory: for tests, and for a gateway that keeps nothing.

In: records and pieces. Out: the same, until the process ends. It has the contract of the other stores but no disk, so
"durable" means here only "stored".
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import TypeVar

from gateway.errors import StoreError
from gateway.store.audit import AuditRecord
from gateway.store.base import AgentRecord, Piece, RunRecord, Status, ThreadRecord
from gateway.store.deliveries import WAITING, DeliveryRecord, EventBatch, ThreadName
from gateway.store.memory_audit import MemoryAudit, MemorySessionOwners
from gateway.store.memory_usage import MemoryUsage
from gateway.store.memory_worktrees import MemoryWorktrees
from gateway.store.pieces import join_lines, select_pieces, stored_size

Name = TypeVar("Name")


@dataclass(slots=True, eq=False)
class Run:
    """One run and its log."""

    record: RunRecord
    size: int
    """Bytes of input and log."""
    rows: list[tuple[int, bytes]] = field(default_factory=list)

    @property
    def name(self) -> tuple[str, str]:
        return self.record.run_id, self.record.principal

    @property
    def thread(self) -> ThreadName:
        return self.record.agent, self.record.thread_id, self.record.principal


class MemoryStore:
    """The contract is `base.Store`'s."""

    def __init__(self) -> None:
        self._runs: dict[str, Run] = {}
        self._by_name: defaultdict[tuple[str, str], list[Run]] = defaultdict(list)
        self._by_thread: defaultdict[ThreadName, list[Run]] = defaultdict(list)
        # All three are in the order in which the runs began.
        self._threads: dict[ThreadName, ThreadRecord] = {}
        self._agents: dict[str, AgentRecord] = {}
        self.deliveries = MemoryDeliveries(self._check_open)
        self.worktrees = MemoryWorktrees(self._check_open)
        self.usage = MemoryUsage(self._check_open)
        self.audit = MemoryAudit(self._check_open)
        self.session_owners = MemorySessionOwners(self._check_open, self._has_thread)
        self._open = False

    def __repr__(self) -> str:
        return f"<MemoryStore: {len(self._runs)} runs, {len(self._threads)} threads>"

    async def start(self) -> None:
        self._open = True

    async def aclose(self) -> None:
        self._open = False

    async def begin(self, run: RunRecord) -> None:
        self._check_open()
        if run.key in self._runs:
            raise StoreError(f"run {run.key} has begun before")
        added = Run(replace(run, status="live", ended=None, events=0), len(run.input))
        self._runs[run.key] = added
        self._by_name[added.name].append(added)
        self._by_thread[added.thread].append(added)

    @property
    def is_full(self) -> bool:
        return False

    async def append(self, key: str, piece: Piece) -> None:
        if not piece.lines:
            return
        payload = join_lines(piece.lines)
        run = self._live_run(key)
        if piece.first != run.record.events + 1:
            raise StoreError(f"run {key} holds {run.record.events} events: the next number is not {piece.first}")
        run.rows.append((piece.first, payload))
        run.size += stored_size(payload)
        run.record = replace(run.record, events=piece.last)

    async def end(self, key: str, status: Status, ended: float) -> None:
        run = self._live_run(key)
        run.record = replace(run.record, status=status, ended=ended)

    async def read(self, key: str, after: int, max_bytes: int) -> list[Piece]:
        self._check_open()
        run = self._runs.get(key)
        if run is None:
            return []
        start = max(bisect_right(run.rows, after + 1, key=itemgetter(0)) - 1, 0)
        return select_pieces((run.rows[index] for index in range(start, len(run.rows))), after, max_bytes)

    async def run(self, run_id: str, principal: str) -> RunRecord | None:
        self._check_open()
        runs = self._by_name.get((run_id, principal))
        return runs[-1].record if runs else None

    async def live(self) -> list[RunRecord]:
        self._check_open()
        return [run.record for run in self._runs.values() if run.record.status == "live"]

    async def thread_runs(self, agent: str, thread_id: str, principal: str, limit: int) -> list[RunRecord]:
        self._check_open()
        runs = self._by_thread.get((agent, thread_id, principal), [])
        return [run.record for run in runs[max(len(runs) - limit, 0) :]]

    async def thread(self, agent: str, thread_id: str, principal: str) -> ThreadRecord | None:
        self._check_open()
        return self._threads.get((agent, thread_id, principal))

    async def threads(self, agent: str, principal: str, limit: int) -> list[ThreadRecord]:
        self._check_open()
        threads = [one for one in self._threads.values() if (one.agent, one.principal) == (agent, principal)]
        return sorted(threads, key=lambda thread: thread.updated)[::-1][:limit]

    async def save_thread(self, thread: ThreadRecord) -> None:
        self._check_open()
        self._threads[thread.agent, thread.thread_id, thread.principal] = thread
        self.session_owners.add(thread)

    async def delete_thread(self, agent: str, thread_id: str, principal: str) -> bool:
        self._check_open()
        name = agent, thread_id, principal
        runs = list(self._by_thread.get(name, []))
        deleted = self._threads.pop(name, None)
        self._drop(runs)
        self.deliveries.delete_thread(name)
        return bool(deleted or runs)

    async def agents(self) -> list[AgentRecord]:
        self._check_open()
        return sorted(self._agents.values(), key=lambda agent: (agent.at, agent.id))

    async def save_agent(self, agent: AgentRecord, detail: bytes = b"{}") -> None:
        self._check_open()
        self._agents[agent.id] = agent
        await self.audit.write([AuditRecord(agent.at, "agent.register", agent.by, agent.id, detail=detail)])

    async def delete_agent(self, agent_id: str, by: str, at: float) -> bool:
        self._check_open()
        deleted = self._agents.pop(agent_id, None)
        if deleted is not None:
            await self.audit.write([AuditRecord(at, "agent.remove", by, agent_id)])
        return deleted is not None

    async def prune(self, older_than: float, max_bytes: int) -> int:
        self._check_open()
        old = [run for run in self._runs.values() if run.record.ended is not None and run.record.ended < older_than]
        self._drop(old)
        surplus = self._surplus(max_bytes)
        self._drop(surplus)
        self._drop_idle_threads(older_than)
        return len(old) + len(surplus)

    async def check(self) -> None:
        self._check_open()

    def _check_open(self) -> None:
        if not self._open:
            raise StoreError("the store in memory is not open")

    def _has_thread(self, agent: str, session: str) -> bool:
        return any((thread.agent, thread.session) == (agent, session) for thread in self._threads.values())

    def _live_run(self, key: str) -> Run:
        self._check_open()
        run = self._runs.get(key)
        if run is None or run.record.status != "live":
            raise StoreError(f"run {key} is not live")
        return run

    def _surplus(self, max_bytes: int) -> list[Run]:
        """The oldest runs that may be deleted, until the rest is within the limit."""
        excess = sum(run.size for run in self._runs.values()) - max_bytes
        ended = [run for run in self._runs.values() if run.record.status not in ("live", "interrupted")]
        surplus: list[Run] = []
        for run in sorted(ended, key=lambda run: run.record.ended or 0.0):
            if excess <= 0:
                break
            surplus.append(run)
            excess -= run.size
        return surplus

    def _drop(self, runs: list[Run]) -> None:
        """Deletes these runs, and threads that have no run left."""
        for run in runs:
            del self._runs[run.record.key]
            _remove(self._by_name, run.name, run)
            _remove(self._by_thread, run.thread, run)
            if run.thread not in self._by_thread:
                self._threads.pop(run.thread, None)

    def _drop_idle_threads(self, older_than: float) -> None:
        """Deletes threads that never had a run (a fork that was never used)."""
        idle = [name for name, thread in self._threads.items() if thread.updated < older_than]
        for name in idle:
            if name not in self._by_thread:
                del self._threads[name]


def _remove(index: dict[Name, list[Run]], name: Name, run: Run) -> None:
    index[name].remove(run)
    if not index[name]:
        del index[name]


@dataclass(slots=True)
class ThreadFeed:
    """The events of one thread."""

    last: int = 0
    updated: float = 0.0
    events: list[tuple[int, float, bytes]] = field(default_factory=list)
    """Number, time, JSON."""


class MemoryDeliveries:
    """The contract is `deliveries.Deliveries`'."""

    def __init__(self, check_open: Callable[[], None]) -> None:
        """`check_open`: raises if the store is not open."""
        self._check_open = check_open
        self._deliveries: dict[tuple[ThreadName, str], DeliveryRecord] = {}
        self._feeds: dict[ThreadName, ThreadFeed] = {}

    async def accept(self, delivery: DeliveryRecord, events: EventBatch) -> DeliveryRecord:
        self._check_open()
        name = delivery.thread, delivery.delivery_id
        if (known := self._deliveries.get(name)) is not None:
            return known
        self._deliveries[name] = delivery
        self._append(delivery.thread, events)
        return delivery

    async def save(self, delivery: DeliveryRecord, events: EventBatch) -> bool:
        self._check_open()
        name = delivery.thread, delivery.delivery_id
        if name not in self._deliveries:
            return False
        self._deliveries[name] = delivery
        self._append(delivery.thread, events)
        return True

    async def delivery(self, thread: ThreadName, delivery_id: str) -> DeliveryRecord | None:
        self._check_open()
        return self._deliveries.get((thread, delivery_id))

    async def waiting(self) -> list[DeliveryRecord]:
        self._check_open()
        return [delivery for delivery in self._deliveries.values() if delivery.status in WAITING]

    async def append_events(self, thread: ThreadName, events: EventBatch) -> None:
        self._check_open()
        self._append(thread, events)

    async def read_events(self, thread: ThreadName, after: int, limit: int) -> list[tuple[int, bytes]]:
        self._check_open()
        stored = self._feeds[thread].events if thread in self._feeds else []
        return [(number, line) for number, _, line in stored if number > after][:limit]

    async def last_event_number(self, thread: ThreadName) -> int:
        self._check_open()
        return self._feeds[thread].last if thread in self._feeds else 0

    async def prune(self, older_than: float, max_events: int) -> int:
        self._check_open()
        before = self._count()
        for feed in self._feeds.values():
            feed.events = [event for event in feed.events if event[1] >= older_than]
        self._drop_surplus(max_events)
        final = [name for name, one in self._deliveries.items() if one.status not in WAITING and one.at < older_than]
        for name in final:
            del self._deliveries[name]
        for thread in [name for name, feed in self._feeds.items() if not feed.events and feed.updated < older_than]:
            del self._feeds[thread]
        return before - self._count()

    def delete_thread(self, thread: ThreadName) -> None:
        """Deletes deliveries and events; the numbering continues."""
        for name in [name for name in self._deliveries if name[0] == thread]:
            del self._deliveries[name]
        if thread in self._feeds:
            self._feeds[thread].events = []

    def _append(self, thread: ThreadName, events: EventBatch) -> None:
        if not events.lines:
            return
        feed = self._feeds.setdefault(thread, ThreadFeed())
        feed.events += [(number, events.at, line) for number, line in enumerate(events.lines, feed.last + 1)]
        feed.last += len(events.lines)
        feed.updated = events.at
        feed.events = [event for event in feed.events if event[0] > feed.last - events.keep]

    def _count(self) -> int:
        return sum(len(feed.events) for feed in self._feeds.values())

    def _drop_surplus(self, max_events: int) -> None:
        stamps = sorted((at, thread, number) for thread, feed in self._feeds.items() for number, at, _ in feed.events)
        surplus = {(thread, number) for _, thread, number in stamps[: max(0, len(stamps) - max_events)]}
        for thread, feed in self._feeds.items():
            feed.events = [event for event in feed.events if (thread, event[0]) not in surplus]
