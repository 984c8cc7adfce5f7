"""Deletes from the SQLite store in slices: no transaction here blocks the writer for long.

In: the writer's connection, inside a transaction. Out: how much was deleted, or whether there is more to do. A run is
deleted in two steps: first its record, which hides it and adds it to `doomed`; then its input and pieces, one slice per
transaction. If the gateway is killed in between, the next prune continues. Each commit truncates the file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

RUNS_PER_SLICE = 500  # takes a few milliseconds
PIECES_PER_SLICE = 64  # at most 8 MB: takes tens of milliseconds


def drop_runs(connection: sqlite3.Connection, runs: Sequence[int]) -> None:
    """Deletes the records of these runs, and threads that have no run left."""
    numbers = [(run,) for run in runs]
    threads = {
        connection.execute("select agent, thread_id, principal from runs where id = ?", number).fetchone()
        for number in numbers
    }
    connection.executemany("insert into doomed (run) values (?)", numbers)
    connection.executemany("delete from runs where id = ?", numbers)
    connection.executemany(
        """delete from threads as t where agent = ? and thread_id = ? and principal = ? and not exists
        (select 1 from runs r where r.agent = t.agent and r.thread_id = t.thread_id and r.principal = t.principal)""",
        threads,
    )


def drop_old(connection: sqlite3.Connection, older_than: float, max_bytes: int) -> int:
    """One slice of `Store.prune`: the old runs, or, if there are none, the oldest above the limit."""
    old = connection.execute(
        "select id from runs where ended < ? order by ended, id limit ?", (older_than, RUNS_PER_SLICE)
    )
    runs = [run for (run,) in old] or _surplus(connection, max_bytes)
    drop_runs(connection, runs)
    return len(runs)


def _surplus(connection: sqlite3.Connection, max_bytes: int) -> list[int]:
    excess = _total_bytes(connection) - max_bytes
    runs: list[int] = []
    oldest = connection.execute(
        """select id, bytes from runs where ended is not null and status <> 'interrupted'
        order by ended, id limit ?""",
        (RUNS_PER_SLICE,),
    )
    for run, size in oldest.fetchall():
        if excess <= 0:
            break
        runs.append(run)
        excess -= size
    return runs


def _total_bytes(connection: sqlite3.Connection) -> int:
    """Bytes of all inputs and logs; those of ended runs are in their records, those of live runs are counted."""
    row = connection.execute(
        """select coalesce((select sum(bytes) from runs), 0) + coalesce((select sum(length(payload) + 1) from pieces
        where run in (select id from runs where status = 'live')), 0)"""
    ).fetchone()
    return int(row[0])


def drop_idle_threads(connection: sqlite3.Connection, older_than: float) -> None:
    """Deletes threads that never had a run (a fork that was never used)."""
    connection.execute(
        """delete from threads as t where updated < ? and not exists
        (select 1 from runs r where r.agent = t.agent and r.thread_id = t.thread_id and r.principal = t.principal)""",
        (older_than,),
    )


def delete_doomed(connection: sqlite3.Connection) -> bool:
    """Deletes one slice of inputs and pieces of `doomed` runs. True: there is more."""
    remaining = PIECES_PER_SLICE
    for number in connection.execute("select run from doomed limit ?", (PIECES_PER_SLICE,)).fetchall():
        selected = "select rowid from pieces where run = ? limit ?"
        deleted = connection.execute(f"delete from pieces where rowid in ({selected})", (*number, remaining)).rowcount
        if deleted == remaining:
            return True
        connection.execute("delete from inputs where run = ?", number)
        connection.execute("delete from doomed where run = ?", number)
        remaining -= max(deleted, 1)
        if remaining <= 0:
            break
    return connection.execute("select 1 from doomed limit 1").fetchone() is not None
