"""Checkpoints are done beside the commits, not in them."""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path

import anyio
import pytest

from gateway.store import SqliteStore
from gateway.store.sqlite import checkpoints, schema
from gateway.store.sqlite.transaction import Row
from tests.store.make import RUN, a_piece

pytestmark = pytest.mark.anyio


async def wait_until_larger(path: Path, size: int) -> None:
    with anyio.fail_after(10):
        while (await anyio.Path(path).stat()).st_size < size:
            await anyio.lowlevel.checkpoint()


async def write(store: SqliteStore, pieces: int) -> None:
    for number in range(pieces):
        await store.append("k1", a_piece(number * 100 + 1, 100))
        await store._writer.flush()


async def test_what_was_committed_reaches_the_database_file_while_it_is_open(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checkpoints, "CHECKPOINT_PAGES", 50)
    store = SqliteStore(tmp_path / "store.db")
    await store.start()
    before = (await anyio.Path(store.path).stat()).st_size
    await store.begin(RUN)
    await write(store, 100)
    await wait_until_larger(store.path, before + 10 * schema.PAGE_BYTES)
    await store.aclose()


async def test_a_checkpoint_that_fails_is_reported_and_tried_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(checkpoints, "CHECKPOINT_PAGES", 4)

    class Broken:
        def execute(self, statement: str) -> sqlite3.Cursor:
            raise sqlite3.OperationalError("disk I/O error")

        def close(self) -> None:
            pass

    store = SqliteStore(tmp_path / "store.db")
    with monkeypatch.context() as patched, caplog.at_level(logging.WARNING):
        patched.setattr(schema, "connect", lambda path: Broken())
        failing = checkpoints.Checkpoints(store.path)
        failing.start()
        for attempt in range(1, 3):
            failing.add([Row(1, 1, 1, b"x" * 4 * schema.PAGE_BYTES)])
            with anyio.fail_after(10):
                while caplog.text.count("no checkpoint: disk I/O error") < attempt:
                    await anyio.lowlevel.checkpoint()
        failing.close()
