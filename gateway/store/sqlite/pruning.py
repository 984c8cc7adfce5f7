"""What leaves the SQLite store, in slices: no transaction here holds the writer for long.

In: the writer's connection, inside a transaction. Out: how much went, or whether there is more to do. A run goes in two
steps: its record at once, which hides it and notes it in `doomed`; then its input and pieces, a slice per transaction.
A gateway killed in between leaves notes that the next prune takes up. Each commit cuts the freed pages off the file.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence

RUNS = 500  # records per slice: a few milliseconds
PIECES = 64  # rows per slice, at most 8 MB: tens of milliseconds


def drop(connection: sqlite3.Connection, runs: Sequence[int]) -> None:
    """These runs' records, and the threads left without any."""
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
    """One slice of `Store.prune`: first the old, then, if there are none, the oldest while the bound is passed."""
    old = connection.execute("select id from runs where ended < ? order by ended, id limit ?", (older_than, RUNS))
    runs = [run for (run,) in old] or _surplus(connection, max_bytes)
    drop(connection, runs)
    return len(runs)


def _surplus(connection: sqlite3.Connection, max_bytes: int) -> list[int]:
    over = _bytes(connection) - max_bytes
    runs: list[int] = []
    oldest = connection.execute(
        """select id, bytes from runs where ended is not null and status <> 'interrupted'
        order by ended, id limit ?""",
        (RUNS,),
    )
    for run, size in oldest.fetchall():
        if over <= 0:
            break
        runs.append(run)
        over -= size
    return runs


def _bytes(connection: sqlite3.Connection) -> int:
    """All inputs and logs; those of live runs are counted, the others' are on record."""
    row = connection.execute(
        """select coalesce((select sum(bytes) from runs), 0) + coalesce((select sum(length(payload) + 1) from pieces
        where run in (select id from runs where status = 'live')), 0)"""
    ).fetchone()
    return int(row[0])


def drop_idle_threads(connection: sqlite3.Connection, older_than: float) -> None:
    """Threads that never had a run (a fork that nobody used)."""
    connection.execute(
        """delete from threads as t where updated < ? and not exists
        (select 1 from runs r where r.agent = t.agent and r.thread_id = t.thread_id and r.principal = t.principal)""",
        (older_than,),
    )


def sweep(connection: sqlite3.Connection) -> bool:
    """One slice of what `drop` left. True: there is more."""
    left = PIECES
    for number in connection.execute("select run from doomed limit ?", (PIECES,)).fetchall():
        slice_of = "select rowid from pieces where run = ? limit ?"
        gone = connection.execute(f"delete from pieces where rowid in ({slice_of})", (*number, left)).rowcount
        if gone == left:
            return True
        connection.execute("delete from inputs where run = ?", number)
        connection.execute("delete from doomed where run = ?", number)
        left -= max(gone, 1)
        if left <= 0:
            break
    return connection.execute("select 1 from doomed limit 1").fetchone() is not None
