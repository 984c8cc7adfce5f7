"""What must outlive a process: run logs, threads, open interrupts, registered agents, mail. One protocol, one suite.

A run's log is a row of *pieces*: consecutive events, each already JSON (`agui` made it, `encode` frames it), numbered
from 1 without gaps. The store never looks inside an event.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from gateway.store.deliveries import Deliveries

Status = Literal["live", "finished", "interrupted", "cancelled", "failed", "lost"]
"""`lost`: it was live when its gateway died. All but `live` are final."""


@dataclass(frozen=True, slots=True)
class RunRecord:
    """One run. `key` is the gateway's own and unique; `run_id` is the client's and may be used again."""

    key: str
    run_id: str
    thread_id: str
    agent: str
    principal: str
    protocol: str | None
    """The client's `protocolVersion`; None before 1.0."""
    input: bytes
    """`RunAgentInput` as JSON, as it was understood."""
    started: float
    """Seconds since the epoch."""
    status: Status = "live"
    ended: float | None = None
    events: int = 0
    """How many events the log holds; so also the number of the last."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Consecutive events of one run: `lines[0]` has the number `first`. No line holds a raw newline."""

    first: int
    lines: list[bytes]

    @property
    def last(self) -> int:
        return self.first + len(self.lines) - 1


@dataclass(frozen=True, slots=True)
class ThreadRecord:
    """One thread of one agent, for one principal."""

    agent: str
    thread_id: str
    principal: str
    updated: float
    session: str | None = None
    """The agent's own session id, to come back to."""
    interrupts: bytes = b'{"entries":[]}'
    """Open and closed questions, as JSON; only `runs.interrupts` reads it."""


@dataclass(frozen=True, slots=True)
class AgentRecord:
    """An agent that was registered while the gateway ran."""

    id: str
    definition: bytes
    """As JSON, as it was accepted."""
    by: str
    """The principal who did it."""
    at: float


@dataclass(frozen=True, slots=True)
class AuditRecord:
    """Who changed which agent, and when."""

    at: float
    by: str
    action: Literal["put", "delete"]
    agent: str


class Store(Protocol):
    """Every method may raise `errors.StoreError`. Concurrent calls are allowed."""

    @property
    def mail(self) -> Deliveries:
        """Messages that wait for threads, and threads' feeds."""

    async def start(self) -> None:
        """Open, migrate, take the lock that keeps a second gateway out."""

    async def aclose(self) -> None:
        """Write what is queued, close, give the lock back. May be called twice."""

    async def begin(self, run: RunRecord) -> None:
        """Live and empty, whatever the record says of status, end and events. Durable on return."""

    async def append(self, key: str, piece: Piece) -> None:
        """Next piece of a live run; refused if its number is not the next one. Returns at once unless the backlog is
        full; readers see it from now on."""

    async def end(self, key: str, status: Status, ended: float) -> None:
        """The run is over. On return everything appended and this are durable (they survive `kill -9`)."""

    async def read(self, key: str, after: int, max_bytes: int) -> list[Piece]:
        """Events with numbers above `after`, in order; at least one if there is any, else up to `max_bytes`."""

    async def run(self, run_id: str, principal: str) -> RunRecord | None:
        """The newest run that the client called so."""

    async def live(self) -> list[RunRecord]:
        """Runs without an end, oldest first. At start: those that the last gateway left behind."""

    async def thread_runs(self, agent: str, thread_id: str, principal: str, limit: int) -> list[RunRecord]:
        """The newest `limit` runs of a thread, oldest first."""

    async def thread(self, agent: str, thread_id: str, principal: str) -> ThreadRecord | None: ...

    async def threads(self, agent: str, principal: str, limit: int) -> list[ThreadRecord]:
        """Newest first."""

    async def save_thread(self, thread: ThreadRecord) -> None:
        """Insert or replace. Durable on return."""

    async def delete_thread(self, agent: str, thread_id: str, principal: str) -> bool:
        """The thread, its runs (live ones too: their next `append` is refused), their logs, its mail. False if there
        was neither the thread nor a run of it."""

    async def agents(self) -> list[AgentRecord]:
        """Those that are registered, oldest first."""

    async def save_agent(self, agent: AgentRecord) -> None:
        """Insert or replace, and note it in the audit log. Durable on return."""

    async def delete_agent(self, agent_id: str, by: str, at: float) -> bool:
        """False if there was none; else it is noted in the audit log. Durable on return."""

    async def audit(self, limit: int) -> list[AuditRecord]:
        """Newest first."""

    async def prune(self, older_than: float, max_bytes: int) -> int:
        """Delete ended runs (and threads left without any) that ended before `older_than`, then the oldest ended ones
        until the logs, with their runs' inputs, are within `max_bytes`. Threads whose newest run is kept, live runs,
        and `interrupted` runs younger than `older_than` stay. A thread that has no run at all goes when it was updated
        before `older_than`. Returns how many runs went."""

    async def check(self) -> None:
        """Raise if the store cannot be written now (for readiness)."""
