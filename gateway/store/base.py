"""The contract of a store: `Store`, and one protocol for each concern beside it.

What must outlive the gateway's process: run logs, threads, registered agents (`Store`), queued messages and thread
events (`Deliveries`), the audit log (`Audit`), whose session is whose (`SessionOwners`), where threads have their
worktrees (`Worktrees`), what principals used (`UsageRecords`). To add a backend:

1. Write a class with all methods of `Store`; its attributes `deliveries`, `audit`, `session_owners`, `worktrees` and
   `usage` have all methods of their protocols, each in a module of that name here. All may share a connection:
   `delete_thread` deletes the thread's deliveries too.
2. Add a `Backend` to `STORES` in `gateway/store/backends.py`: a function that opens it, and how its URL is written.
   Nothing else decides: error messages and tests use that registry.
3. Run `tests/store`: the contract suite runs for every entry of `STORES`.

A run's log is a list of *pieces*: consecutive events, each already JSON (`agui` made it, `encode` frames it), numbered
from 1 without gaps. A store never reads an event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from gateway.store.audit import Audit
from gateway.store.deliveries import Deliveries
from gateway.store.session_owners import SessionOwners
from gateway.store.usage import UsageRecords
from gateway.store.worktrees import Worktrees

Status = Literal["live", "finished", "interrupted", "cancelled", "failed", "lost"]
"""`lost`: the run was live when its gateway died. All but `live` are final."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run. `key` is unique and chosen by the gateway; `run_id` is the client's and may be used again."""

    key: str
    run_id: str
    thread_id: str
    agent: str
    principal: str
    protocol: str | None
    """The client's `protocolVersion`; None for a client from before AG-UI 1.0."""
    input: bytes
    """The `RunAgentInput` as JSON, as the gateway has understood it."""
    started: float
    """Seconds since the epoch."""
    status: Status = "live"
    ended: float | None = None
    events: int = 0
    """The number of events in the log, which is also the number of the last one."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive events of one run: `lines[0]` has the number `first`. No line contains a newline."""

    first: int
    lines: list[bytes]

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1


@dataclass(frozen=True, slots=True)
class ThreadRecord:
    """One thread of one agent and one principal."""

    agent: str
    thread_id: str
    principal: str
    updated: float
    session: str | None = None
    """The agent's own session id, with which the session is resumed."""
    interrupts: bytes = b'{"entries":[]}'
    """Open and closed interrupts as JSON; only `runs.interrupts` reads it."""


@dataclass(frozen=True, slots=True)
class AgentRecord:
    """An agent that was registered over HTTP."""

    id: str
    definition: bytes
    """The accepted definition as JSON."""
    by: str
    """The principal who registered it."""
    at: float


class Store(Protocol):
    """Every method may raise `errors.StoreError`. Methods may be called concurrently."""

    @property
    def deliveries(self) -> Deliveries:
        """Queued messages and thread events."""

    @property
    def audit(self) -> Audit:
        """Who did what."""

    @property
    def session_owners(self) -> SessionOwners:
        """Whose session is whose."""

    @property
    def worktrees(self) -> Worktrees:
        """The git worktrees of threads."""

    @property
    def usage(self) -> UsageRecords:
        """What the runs of each principal have used on each day."""

    async def start(self) -> None:
        """Opens and migrates the store, and takes the lock that keeps a second gateway out."""

    async def aclose(self) -> None:
        """Writes what is pending, closes the store and releases the lock. May be called twice."""

    async def begin(self, run: RunRecord) -> None:
        """Adds a run that is live and empty, whatever the record has as status, end and events. Durable on return."""

    @property
    def is_full(self) -> bool:
        """So much waits to be written that `append` would wait too."""

    async def append(self, key: str, piece: Piece) -> None:
        """Adds the next piece of a live run; refused if its number is not the next one. Returns at once unless the
        store `is_full`. Readers see the piece from now on."""

    async def end(self, key: str, status: Status, ended: float) -> None:
        """Ends the run. On return the whole log and this are durable: they survive `kill -9`."""

    async def read(self, key: str, after: int, max_bytes: int) -> list[Piece]:
        """Events with numbers above `after`, in order: up to `max_bytes`, but at least one if there is any."""

    async def run(self, run_id: str, principal: str) -> RunRecord | None:
        """The newest run with this id of the client."""

    async def live(self) -> list[RunRecord]:
        """Live runs, oldest first. At the start: those that the last gateway left behind."""

    async def thread_runs(self, agent: str, thread_id: str, principal: str, limit: int) -> list[RunRecord]:
        """The newest `limit` runs of a thread, oldest first."""

    async def thread(self, agent: str, thread_id: str, principal: str) -> ThreadRecord | None:
        """The thread; None: there is none."""

    async def threads(self, agent: str, principal: str, limit: int) -> list[ThreadRecord]:
        """The threads that were updated last, newest first."""

    async def save_thread(self, thread: ThreadRecord) -> None:
        """Inserts or replaces the thread; its principal owns its session, unless the session has an owner. Durable on
        return."""

    async def delete_thread(self, agent: str, thread_id: str, principal: str) -> bool:
        """Deletes the thread, its runs, their logs, its deliveries and events. The next `append` to a live run of it is
        refused. False if there was neither the thread nor a run of it."""

    async def agents(self) -> list[AgentRecord]:
        """The registered agents, oldest first."""

    async def save_agent(self, agent: AgentRecord, detail: bytes = b"{}") -> None:
        """Inserts or replaces the agent and adds the entry `agent.register`, with this detail, to the audit log.
        Durable on return."""

    async def delete_agent(self, agent_id: str, by: str, at: float) -> bool:
        """Deletes the agent and adds the entry `agent.remove` to the audit log; False if there was none. Durable on
        return."""

    async def prune(self, older_than: float, max_bytes: int) -> int:
        """Deletes ended runs, and threads that have no run left. Returns how many runs were deleted.

        First the runs that ended before `older_than`, then the oldest ended runs until all logs and inputs are within
        `max_bytes`. Live runs, and `interrupted` runs younger than `older_than`, are kept. A thread that never had a
        run is deleted when it was updated before `older_than`."""

    async def check(self) -> None:
        """Raises if the store cannot be written now. Used for readiness."""
