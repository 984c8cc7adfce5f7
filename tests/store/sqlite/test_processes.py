"""The SQLite store across real processes: killed, locked out, and out of room."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from gateway.errors import ConfigError
from gateway.store import SqliteStore
from tests.store.make import a_piece, a_run, a_thread, events, read_all

pytestmark = pytest.mark.anyio

PROJECT = Path(__file__).parents[3]


def command(part: str, database: Path) -> list[str]:
    return [sys.executable, "-m", "tests.store.child", part, str(database)]


@contextmanager
def child(part: str, database: Path, output: bytes) -> Iterator[subprocess.Popen[bytes]]:
    """A process that holds the store and has written to it. Killed with SIGKILL at the latest when left."""
    with subprocess.Popen(command(part, database), cwd=PROJECT, stdout=subprocess.PIPE) as process:
        try:
            assert process.stdout is not None
            assert process.stdout.readline() == output
            yield process
        finally:
            process.kill()


async def test_what_was_ended_survives_kill_9_and_what_was_live_is_listed(tmp_path: Path) -> None:
    with child("hold", tmp_path / "store.db", output=b"ready\n") as process:
        process.kill()
    store = SqliteStore(tmp_path / "store.db")
    await store.start()
    ended = replace(a_run("ended", run_id="ended"), status="finished", ended=200.0, events=500)
    assert await store.run("ended", "ann") == ended
    assert await read_all(store, "ended") == events(1, 500)
    assert await store.live() == [a_run("live", run_id="live", events=3)]
    assert await store.thread("otter", "thread-1", "ann") == a_thread(session="s-1")
    await store.aclose()


async def test_a_run_left_live_can_be_finished_by_the_next_gateway(tmp_path: Path) -> None:
    with child("hold", tmp_path / "store.db", output=b"ready\n") as process:
        process.kill()
    store = SqliteStore(tmp_path / "store.db")
    await store.start()
    await store.append("live", a_piece(4, 1))
    await store.end("live", "lost", 300.0)
    assert await read_all(store, "live") == events(1, 4)
    await store.begin(a_run("new"))
    assert await store.read("new", 0, 1) == []
    assert [run.key for run in await store.live()] == ["new"]
    await store.aclose()


async def test_a_log_cut_short_by_kill_9_has_no_gap(tmp_path: Path) -> None:
    with child("pour", tmp_path / "store.db", output=b"5010\n") as process:
        process.kill()
    store = SqliteStore(tmp_path / "store.db")
    await store.start()
    found = await read_all(store, "k1")
    assert len(found) >= 5010
    assert found == events(1, len(found))
    assert await store.live() == [a_run(events=len(found))]
    await store.aclose()


async def test_a_second_gateway_is_refused_while_the_first_lives(tmp_path: Path) -> None:
    database = tmp_path / "store.db"
    store = SqliteStore(database)
    with child("hold", database, output=b"ready\n") as process:
        with pytest.raises(ConfigError) as refused:
            await store.start()
        assert refused.value.detail == (
            f"the store {database} is in use by another agui-gateway (pid {process.pid}); "
            "choose another store with --store"
        )
        process.kill()
        process.wait()
        await store.start()
        await store.check()
    await store.aclose()


def test_a_disk_without_room_is_reported_and_loses_nothing_that_was_taken(tmp_path: Path) -> None:
    database = tmp_path / "store.db"
    done = subprocess.run(command("overflow", database), cwd=PROJECT, capture_output=True, timeout=60, text=True)
    *message, last = done.stdout.splitlines()
    assert (done.stderr, last) == ("", "whole")
    assert len(message) == 4
    for text in message:
        assert text.startswith(f"the store {database} cannot be written: ")
        assert "disk" in text
