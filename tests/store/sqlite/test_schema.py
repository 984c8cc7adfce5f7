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
