"""The store in this process's memory: for tests, and for a gateway that need not remember.

In: records and pieces. Out: the same, until the process ends. It keeps the same contract as the others but touches no
disk, so "durable" here means only "kept".
"""

from __future__ import annotations

from bisect import bisect_right
from collections import defaultdict
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import TypeVar

from gateway.errors import StoreError
from gateway.store.base import AgentRecord, AuditRecord, Piece, RunRecord, Status, ThreadRecord
from gateway.store.deliveries import ThreadName
from gateway.store.memory_deliveries import MemoryDeliveries
from gateway.store.pieces import gather, pack, weight

Name = TypeVar("Name")


@dataclass(slots=True, eq=False)
class Run:
    record: RunRecord
    size: int
    """Bytes of its input and its log."""
    rows: list[tuple[int, bytes]] = field(default_factory=list)

    @property
    def name(self) -> tuple[str, str]:
        return self.record.run_id, self.record.principal

    @property
    def thread(self) -> ThreadName:
        return self.record.agent, self.record.thread_id, self.record.principal


class MemoryStore:
    def __init__(self) -> None:
        self._runs: dict[str, Run] = {}
        self._by_name: defaultdict[tuple[str, str], list[Run]] = defaultdict(list)
        self._by_thread: defaultdict[ThreadName, list[Run]] = defaultdict(list)
        # All three keep the order in which the runs began.
        self._threads: dict[ThreadName, ThreadRecord] = {}
        self._agents: dict[str, AgentRecord] = {}
        self._audit: list[AuditRecord] = []
        self.mail = MemoryDeliveries(self._check)
        self._open = False

    def __repr__(self) -> str:
        return f"<MemoryStore: {len(self._runs)} runs, {len(self._threads)} threads>"

    async def start(self) -> None:
        self._open = True

    async def aclose(self) -> None:
        self._open = False

    async def begin(self, run: RunRecord) -> None:
        self._check()
        if run.key in self._runs:
            raise StoreError(f"run {run.key} has begun before")
        begun = Run(replace(run, status="live", ended=None, events=0), len(run.input))
        self._runs[run.key] = begun
        self._by_name[begun.name].append(begun)
        self._by_thread[begun.thread].append(begun)

    async def append(self, key: str, piece: Piece) -> None:
        if not piece.lines:
            return
        payload = pack(piece.lines)
        run = self._live(key)
        if piece.first != run.record.events + 1:
            raise StoreError(f"run {key} holds {run.record.events} events: the next number is not {piece.first}")
        run.rows.append((piece.first, payload))
        run.size += weight(payload)
        run.record = replace(run.record, events=piece.last)

    async def end(self, key: str, status: Status, ended: float) -> None:
        run = self._live(key)
        run.record = replace(run.record, status=status, ended=ended)

    async def read(self, key: str, after: int, max_bytes: int) -> list[Piece]:
        self._check()
        run = self._runs.get(key)
        if run is None:
            return []
        start = max(bisect_right(run.rows, after + 1, key=itemgetter(0)) - 1, 0)
        return gather((run.rows[index] for index in range(start, len(run.rows))), after, max_bytes)

    async def run(self, run_id: str, principal: str) -> RunRecord | None:
        self._check()
        runs = self._by_name.get((run_id, principal))
        return runs[-1].record if runs else None

    async def live(self) -> list[RunRecord]:
        self._check()
        return [run.record for run in self._runs.values() if run.record.status == "live"]

    async def thread_runs(self, agent: str, thread_id: str, principal: str, limit: int) -> list[RunRecord]:
        self._check()
        runs = self._by_thread.get((agent, thread_id, principal), [])
        return [run.record for run in runs[max(len(runs) - limit, 0) :]]

    async def thread(self, agent: str, thread_id: str, principal: str) -> ThreadRecord | None:
        self._check()
        return self._threads.get((agent, thread_id, principal))

    async def threads(self, agent: str, principal: str, limit: int) -> list[ThreadRecord]:
        self._check()
        found = [thread for thread in self._threads.values() if (thread.agent, thread.principal) == (agent, principal)]
        return sorted(found, key=lambda thread: thread.updated)[::-1][:limit]

    async def save_thread(self, thread: ThreadRecord) -> None:
        self._check()
        self._threads[thread.agent, thread.thread_id, thread.principal] = thread

    async def delete_thread(self, agent: str, thread_id: str, principal: str) -> bool:
        self._check()
        name = agent, thread_id, principal
        runs = list(self._by_thread.get(name, []))
        gone = self._threads.pop(name, None)
        self._drop(runs)
        self.mail.forget(name)
        return bool(gone or runs)

    async def agents(self) -> list[AgentRecord]:
        self._check()
        return sorted(self._agents.values(), key=lambda agent: (agent.at, agent.id))

    async def save_agent(self, agent: AgentRecord) -> None:
        self._check()
        self._agents[agent.id] = agent
        self._audit.append(AuditRecord(agent.at, agent.by, "put", agent.id))

    async def delete_agent(self, agent_id: str, by: str, at: float) -> bool:
        self._check()
        gone = self._agents.pop(agent_id, None)
        if gone is not None:
            self._audit.append(AuditRecord(at, by, "delete", agent_id))
        return gone is not None

    async def audit(self, limit: int) -> list[AuditRecord]:
        self._check()
        return self._audit[::-1][:limit]

    async def prune(self, older_than: float, max_bytes: int) -> int:
        self._check()
        old = [run for run in self._runs.values() if run.record.ended is not None and run.record.ended < older_than]
        self._drop(old)
        surplus = self._surplus(max_bytes)
        self._drop(surplus)
        self._drop_idle_threads(older_than)
        return len(old) + len(surplus)

    async def check(self) -> None:
        self._check()

    def _check(self) -> None:
        if not self._open:
            raise StoreError("the store in memory is not open")

    def _live(self, key: str) -> Run:
        self._check()
        run = self._runs.get(key)
        if run is None or run.record.status != "live":
            raise StoreError(f"run {key} is not live")
        return run

    def _surplus(self, max_bytes: int) -> list[Run]:
        """The oldest that may go, while the bound is passed."""
        over = sum(run.size for run in self._runs.values()) - max_bytes
        ended = [run for run in self._runs.values() if run.record.status not in ("live", "interrupted")]
        surplus: list[Run] = []
        for run in sorted(ended, key=lambda run: run.record.ended or 0.0):
            if over <= 0:
                break
            surplus.append(run)
            over -= run.size
        return surplus

    def _drop(self, runs: list[Run]) -> None:
        """These runs, and the threads left without any."""
        for run in runs:
            del self._runs[run.record.key]
            _take_out(self._by_name, run.name, run)
            _take_out(self._by_thread, run.thread, run)
            if run.thread not in self._by_thread:
                self._threads.pop(run.thread, None)

    def _drop_idle_threads(self, older_than: float) -> None:
        """Threads that never had a run (a fork that nobody used)."""
        idle = [name for name, thread in self._threads.items() if thread.updated < older_than]
        for name in idle:
            if name not in self._by_thread:
                del self._threads[name]


def _take_out(index: dict[Name, list[Run]], name: Name, run: Run) -> None:
    index[name].remove(run)
    if not index[name]:
        del index[name]
