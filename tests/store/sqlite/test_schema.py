"""The version of the file's schema, and its migrations."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from pathlib import Path

import pytest

from gateway.errors import ConfigError
from gateway.store.sqlite import schema


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "store.db"


@pytest.fixture
def connection(path: Path) -> Iterator[sqlite3.Connection]:
    opened = schema.prepare(path)
    yield opened
    opened.close()


def pragma(connection: sqlite3.Connection, name: str) -> object:
    return connection.execute(f"pragma {name}").fetchone()[0]


def test_a_new_file_has_todays_schema_and_its_settings(connection: sqlite3.Connection) -> None:
    assert pragma(connection, "user_version") == len(schema.MIGRATIONS)
    assert pragma(connection, "application_id") == schema.APPLICATION_ID
    assert pragma(connection, "journal_mode") == "wal"
    assert pragma(connection, "synchronous") == 1
    assert pragma(connection, "auto_vacuum") == 1
    assert pragma(connection, "page_size") == schema.PAGE_BYTES


def test_a_step_keeps_what_is_there(connection: sqlite3.Connection) -> None:
    connection.execute("insert into inputs values (1, 'kept')")
    schema.migrate(connection, [*schema.MIGRATIONS, ["alter table inputs add column more text default 'new'"]])
    assert connection.execute("select * from inputs").fetchall() == [(1, "kept", "new")]
    assert pragma(connection, "user_version") == len(schema.MIGRATIONS) + 1


def test_a_step_that_fails_is_undone_whole(connection: sqlite3.Connection) -> None:
    broken = ["create table extra (x)", "no such statement"]
    with pytest.raises(sqlite3.OperationalError):
        schema.migrate(connection, [*schema.MIGRATIONS, ["create table good (x)"], broken])
    assert pragma(connection, "user_version") == len(schema.MIGRATIONS) + 1
    tables = {name for (name,) in connection.execute("select name from sqlite_master where type = 'table'")}
    assert "good" in tables and "extra" not in tables


def test_steps_that_were_taken_are_not_taken_again(connection: sqlite3.Connection) -> None:
    schema.migrate(connection)
    assert pragma(connection, "user_version") == len(schema.MIGRATIONS)


def test_a_newer_schema_is_refused(path: Path, connection: sqlite3.Connection) -> None:
    connection.execute("pragma user_version = 99")
    with pytest.raises(ConfigError) as refused:
        schema.prepare(path)
    assert refused.value.detail == (
        f"the store {path} was written by a newer agui-gateway (schema 99, this one knows up to "
        f"{len(schema.MIGRATIONS)}); upgrade this one, or choose another file with --store"
    )


def test_another_programs_database_is_refused_untouched(path: Path) -> None:
    foreign = sqlite3.connect(path)
    foreign.execute("create table bookmarks (url text)")
    foreign.close()
    before = path.read_bytes()
    with pytest.raises(ConfigError, match="is the SQLite database of another program"):
        schema.prepare(path)
    assert path.read_bytes() == before


def test_a_store_from_before_keeps_its_audit_entries_and_its_sessions_get_owners(path: Path) -> None:
    old = schema.connect(path)
    schema.migrate(old, schema.MIGRATIONS[:3])
    old.execute("insert into audit values (3, 1.0, 'ann', 'put', 'otter'), (7, 2.0, 'bob', 'delete', 'otter')")
    thread = (
        "insert into threads (agent, thread_id, principal, updated, session, interrupts) values (?, ?, ?, 1, ?, '')"
    )
    for values in [("otter", "t1", "ann", "s1"), ("otter", "t2", "bob", "s1"), ("otter", "t3", "bob", None)]:
        old.execute(thread, values)
    schema.migrate(old)
    entries = old.execute("select at, action, principal, agent, detail from audit_log order by number").fetchall()
    assert entries == [(1.0, "agent.register", "ann", "otter", b"{}"), (2.0, "agent.remove", "bob", "otter", b"{}")]
    owners = old.execute("select agent, session, principal from session_owners").fetchall()
    assert owners == [("otter", "s1", "ann")]  # the first thread's
    old.close()


@pytest.mark.parametrize(
    "statement",
    [
        "update audit_log set principal = 'eve'",
        "update audit_log set number = 9 where number = 1",
        "delete from audit_log",
        "delete from audit_log where number = 1",
        "insert or replace into audit_log (number, at, action, principal, detail) values (1, 1, 'x', 'eve', '')",
        "insert or replace into audit_log (number, at, action, principal, detail) values (2, 1, 'x', 'eve', '')",
        "insert into audit_log (number, at, action, principal, detail) values (-1, 1, 'x', 'eve', '')",
        "insert into audit_log (number, at, action, principal, detail) values (-4, 1, 'x', 'eve', '')",
    ],
)
def test_the_file_itself_refuses_to_change_the_audit_log(connection: sqlite3.Connection, statement: str) -> None:
    entry = "insert into audit_log (at, action, principal, detail) values (100, 'run.start', 'ann', '')"
    connection.execute(entry)
    connection.execute(entry)
    with pytest.raises(sqlite3.IntegrityError, match="the audit log is append-only"):
        connection.execute(statement)
    assert connection.execute("select number, principal from audit_log").fetchall() == [(1, "ann"), (2, "ann")]
