"""The SQL of the SQLite store: queries of readers, and writes inside a transaction.

In: records. Out: rows in the order of the records' fields. `retention` deletes in slices; `transaction` writes pieces.
"""

from __future__ import annotations

import sqlite3

from gateway.errors import StoreError
from gateway.store.audit import AuditRecord
from gateway.store.base import AgentRecord, RunRecord, Status, ThreadRecord
from gateway.store.sqlite import deliveries, retention
from gateway.store.sqlite.audit import add_entries
from gateway.store.sqlite.schema import MIGRATIONS
from gateway.store.sqlite.session_owners import add_owner

RUN = """select r.key, r.run_id, r.thread_id, r.agent, r.principal, r.protocol, i.input, r.started, r.status, r.ended,
    coalesce(r.events,
        (select p.first + p.events - 1 from pieces p where p.run = r.id order by p.first desc limit 1), 0)
    from runs r join inputs i on i.run = r.id """
AGENTS = "select id, definition, registered_by, at from agents order by at, id"
THREAD = "select agent, thread_id, principal, updated, session, interrupts from threads "
# From the row that contains `after` + 1; earlier rows are not read.
PIECES = """select p.first, p.payload from runs r join pieces p on p.run = r.id where r.key = ? and p.first >=
    coalesce((select max(q.first) from pieces q where q.run = r.id and q.first <= ?), 0) order by p.first"""
LIVE = """select r.key, r.id,
    coalesce((select p.first + p.events - 1 from pieces p where p.run = r.id order by p.first desc limit 1), 0),
    r.bytes + coalesce((select sum(length(p.payload) + 1) from pieces p where p.run = r.id), 0)
    from runs r where r.status = 'live'"""
LAST_NUMBER = """select max(coalesce((select max(id) from runs), 0), coalesce((select max(run) from doomed), 0))"""


def begin(connection: sqlite3.Connection, number: int, run: RunRecord) -> None:
    added = connection.execute(
        """insert into runs (id, key, run_id, thread_id, agent, principal, protocol, started, status, bytes)
        values (?, ?, ?, ?, ?, ?, ?, ?, 'live', ?) on conflict (key) do nothing""",
        (number, *_columns(run), len(run.input)),
    )
    if not added.rowcount:
        raise StoreError(f"run {run.key} has begun before")
    connection.execute("insert into inputs (run, input) values (?, ?)", (number, run.input))


def _columns(run: RunRecord) -> tuple[object, ...]:
    return run.key, run.run_id, run.thread_id, run.agent, run.principal, run.protocol, run.started


def end(connection: sqlite3.Connection, values: tuple[Status, float, int, int, int]) -> None:
    """`values`: status, ended, events, bytes, the run's number."""
    connection.execute("update runs set status = ?, ended = ?, events = ?, bytes = ? where id = ?", values)


def save_thread(connection: sqlite3.Connection, thread: ThreadRecord) -> None:
    connection.execute(
        """insert into threads (agent, thread_id, principal, updated, session, interrupts) values (?, ?, ?, ?, ?, ?)
        on conflict (agent, thread_id, principal) do update set
        updated = excluded.updated, session = excluded.session, interrupts = excluded.interrupts""",
        (thread.agent, thread.thread_id, thread.principal, thread.updated, thread.session, thread.interrupts),
    )
    add_owner(connection, thread)


def delete_thread(connection: sqlite3.Connection, agent: str, thread_id: str, principal: str) -> tuple[bool, list[str]]:
    """Whether something was deleted, and the keys of the deleted runs."""
    name = agent, thread_id, principal
    where = "where agent = ? and thread_id = ? and principal = ?"
    runs = connection.execute(f"select id, key from runs {where}", name).fetchall()
    deleted = connection.execute(f"delete from threads {where}", name).rowcount
    retention.drop_runs(connection, [number for number, _ in runs])
    deliveries.delete_thread(connection, name)
    return bool(deleted or runs), [key for _, key in runs]


def save_agent(connection: sqlite3.Connection, agent: AgentRecord, detail: bytes) -> None:
    connection.execute(
        """insert into agents (id, definition, registered_by, at) values (?, ?, ?, ?) on conflict (id) do update set
        definition = excluded.definition, registered_by = excluded.registered_by, at = excluded.at""",
        (agent.id, agent.definition, agent.by, agent.at),
    )
    add_entries(connection, [AuditRecord(agent.at, "agent.register", agent.by, agent.id, detail=detail)])


def delete_agent(connection: sqlite3.Connection, agent_id: str, by: str, at: float) -> bool:
    deleted = connection.execute("delete from agents where id = ?", (agent_id,)).rowcount
    if deleted:
        add_entries(connection, [AuditRecord(at, "agent.remove", by, agent_id)])
    return bool(deleted)


def touch(connection: sqlite3.Connection) -> None:
    """The smallest possible write: the unchanged version into the file's header."""
    connection.execute(f"pragma user_version = {len(MIGRATIONS)}")
