"""The database file: created, opened and migrated.

In: a path. Out: a connection to a file with the current schema. The version is the file's `user_version`;
`MIGRATIONS[n]` leads from n to n + 1, so a released step is never edited. A file of a newer gateway, or of another
program, is refused and not changed.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Sequence
from pathlib import Path

from gateway.errors import ConfigError

APPLICATION_ID = 0x41475549  # "AGUI": distinguishes this file from other SQLite databases
BUSY_TIMEOUT_SECONDS = 5.0  # only a user's own tools (a shell, a backup) can lock the file besides us
PAGE_BYTES = 8192  # a row spans many pages: fewer, larger pages are written and freed faster
MAX_LOG_PAGES = 16_000  # 128 MB; then a commit does what `checkpoints` could not: nothing is synced otherwise
MAX_WAL_BYTES = 64 * 2**20  # after a burst the log file is truncated to this

MIGRATIONS: tuple[tuple[str, ...], ...] = (
    (
        # `events` and `bytes` of the log are written at the end of the run; until then they are counted from `pieces`.
        """create table runs (
            id integer primary key, key text not null unique, run_id text not null, thread_id text not null,
            agent text not null, principal text not null, protocol text, started real not null,
            status text not null, ended real, events integer, bytes integer not null)""",
        "create index runs_by_name on runs (run_id, principal)",
        "create index runs_by_thread on runs (agent, thread_id, principal)",
        "create index runs_by_end on runs (ended, id, status, bytes)",
        "create index runs_live on runs (status) where status = 'live'",
        # Apart from `runs`: it can be megabytes, and neither ending nor listing a run should move it.
        "create table inputs (run integer primary key, input blob not null)",
        """create table pieces (
            run integer not null, first integer not null, events integer not null, payload blob not null)""",
        "create unique index pieces_in_order on pieces (run, first)",
        # Deleted runs whose input and pieces are still to be deleted, a slice at a time.
        "create table doomed (run integer primary key)",
        """create table threads (
            id integer primary key, agent text not null, thread_id text not null, principal text not null,
            updated real not null, session text, interrupts blob not null, unique (agent, thread_id, principal))""",
        "create index threads_by_age on threads (agent, principal, updated)",
    ),
    (
        """create table agents (
            id text primary key, definition blob not null, registered_by text not null, at real not null)""",
        """create table audit (
            number integer primary key, at real not null, registered_by text not null, action text not null,
            agent text not null)""",
    ),
    (
        """create table deliveries (
            id integer primary key, agent text not null, thread_id text not null, principal text not null,
            delivery_id text not null, message_id text not null, mode text not null, status text not null,
            digest text not null, content blob not null, at real not null, run_id text, reason text,
            handed integer not null,
            unique (agent, thread_id, principal, delivery_id))""",
        "create index deliveries_by_age on deliveries (at)",
        # `feeds` and `notes` are threads and their events. `last` is the newest number ever: numbering continues.
        """create table feeds (
            id integer primary key, agent text not null, thread_id text not null, principal text not null,
            last integer not null, updated real not null, unique (agent, thread_id, principal))""",
        """create table notes (
            feed integer not null, number integer not null, at real not null, body blob not null,
            primary key (feed, number)) without rowid""",
        "create index notes_by_age on notes (at)",
    ),
    (
        """create table worktrees (
            agent text not null, thread_id text not null, principal text not null, folder text not null,
            git_dir text not null, base_folder text not null, common_dir text not null, subfolder text not null,
            branch text not null, base_branch text, base_commit text not null, created real not null,
            is_discarded integer not null, primary key (agent, thread_id, principal)) without rowid""",
    ),
    (
        """create table usage (
            principal text not null, day text not null, tokens integer not null, nano_usd integer not null,
            primary key (principal, day)) without rowid""",
    ),
    (
        # `autoincrement`: a number is not used again, also when the newest entry was deleted.
        """create table audit_log (
            number integer primary key autoincrement, at real not null, action text not null, principal text not null,
            agent text, thread_id text, run_id text, detail blob not null)""",
        "create index audit_log_by_age on audit_log (at)",
        "create table audit_retention (only integer primary key check (only = 1), older_than real not null)",
        "insert into audit_retention values (1, 0)",
        """create trigger audit_log_is_not_changed before update on audit_log begin
            select raise(abort, 'the audit log is append-only: an entry is never changed'); end""",
        """create trigger audit_log_is_not_deleted before delete on audit_log
            when old.at >= (select older_than from audit_retention) begin
            select raise(abort, 'the audit log is append-only: only its retention deletes entries'); end""",
        # `insert or replace` fires no trigger of `delete`. Without a number of its own a new row has -1 here.
        """create trigger audit_log_is_not_replaced before insert on audit_log
            when new.number <> -1 and new.number <= coalesce(
                (select seq from sqlite_sequence where name = 'audit_log'), 0) begin
            select raise(abort, 'the audit log is append-only: numbers ascend'); end""",
        """create trigger audit_log_ascends after insert on audit_log
            when new.number < (select max(number) from audit_log) begin
            select raise(abort, 'the audit log is append-only: numbers ascend'); end""",
        # What was registered and removed, from the table that had only that.
        """insert into audit_log (at, action, principal, agent, detail)
            select at, case action when 'put' then 'agent.register' else 'agent.remove' end, registered_by, agent,
            cast('{}' as blob) from audit order by number""",
        "drop table audit",
    ),
    (
        """create table session_owners (
            agent text not null, session text not null, principal text not null, at real not null,
            primary key (agent, session)) without rowid""",
        "create index session_owners_by_age on session_owners (at)",
        # Of a session that several threads have, the first thread's principal is the owner.
        """insert or ignore into session_owners (agent, session, principal, at)
            select agent, session, principal, updated from threads where session is not null order by id""",
        "create index threads_by_session on threads (agent, session) where session is not null",
    ),
)


def connect(path: Path, *, is_patient: bool = True) -> sqlite3.Connection:
    """A connection for one thread at a time; transactions begin and end explicitly. `is_patient`: it waits while the
    file is locked."""
    timeout = BUSY_TIMEOUT_SECONDS if is_patient else 0.0
    return sqlite3.connect(path, timeout=timeout, isolation_level=None, check_same_thread=False)


def prepare(path: Path) -> sqlite3.Connection:
    """The writer's connection to a file that exists and is migrated."""
    # Created here because SQLite would use the umask; its -wal and -shm files copy the database's mode.
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    connection = connect(path)
    try:
        _refuse_foreign_file(connection, path)
        # Both before WAL, which writes the first page; later they have no effect. Full rather than incremental: the
        # pages that a slice of `delete_doomed` frees are removed by its own commit, at half the cost of a vacuum.
        connection.execute(f"pragma page_size = {PAGE_BYTES}")
        connection.execute("pragma auto_vacuum = full")
        connection.execute("pragma journal_mode = wal")
        # A commit is in the kernel's buffers: it survives `kill -9`. A power cut or a crash of the machine can lose
        # the newest commits (those since the last checkpoint), but never corrupts the database.
        connection.execute("pragma synchronous = normal")
        connection.execute(f"pragma wal_autocheckpoint = {MAX_LOG_PAGES}")
        connection.execute(f"pragma journal_size_limit = {MAX_WAL_BYTES}")
        migrate(connection)
    except BaseException:
        connection.close()
        raise
    return connection


def migrate(connection: sqlite3.Connection, steps: Sequence[Sequence[str]] = MIGRATIONS) -> None:
    """Every step is one transaction with its number, so a killed gateway leaves the step before it."""
    for number in range(_read_pragma(connection, "user_version"), len(steps)):
        connection.execute("begin immediate")
        try:
            for statement in steps[number]:
                connection.execute(statement)
            connection.execute(f"pragma application_id = {APPLICATION_ID}")
            connection.execute(f"pragma user_version = {number + 1}")
            connection.execute("commit")
        except BaseException:
            connection.execute("rollback")
            raise


def _refuse_foreign_file(connection: sqlite3.Connection, path: Path) -> None:
    version = _read_pragma(connection, "user_version")
    known = len(MIGRATIONS)
    tables = connection.execute("select count(*) from sqlite_master").fetchone()[0]
    if tables and _read_pragma(connection, "application_id") != APPLICATION_ID:
        raise ConfigError(f"{path} is the SQLite database of another program; choose another file with --store")
    if version > known:
        raise ConfigError(
            f"the store {path} was written by a newer agui-gateway (schema {version}, this one knows up to {known}); "
            "upgrade this one, or choose another file with --store"
        )


def _read_pragma(connection: sqlite3.Connection, pragma: str) -> int:
    return int(connection.execute(f"pragma {pragma}").fetchone()[0])
