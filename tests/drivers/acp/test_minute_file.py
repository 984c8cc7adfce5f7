"""A session whose file is named by the minute in which it was opened is not loaded in that minute."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import anyio
import pytest

from gateway.drivers.acp.minute_file import MinuteFile

PATTERN = "~/.agent/*/session-{minute}-{id}.jsonl"
SESSION = "b938df85-0784-4d65-b590-f73a0947fbb2"

pytestmark = pytest.mark.anyio


def write_session(home: Path, opened: datetime) -> None:
    folder = home / ".agent" / "project"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / f"session-{opened:%Y-%m-%dT%H-%M}-b938df85.jsonl").touch()


async def test_a_session_that_was_opened_in_this_minute_cannot_be_loaded_yet(tmp_path: Path) -> None:
    now = datetime.now(UTC)
    for minute in (now, now + timedelta(minutes=1)):  # the minute may end meanwhile
        write_session(tmp_path, minute)
    assert await MinuteFile(PATTERN, tmp_path).is_taken(SESSION)
    assert not await MinuteFile(PATTERN, tmp_path).is_taken("another0-session")


async def test_a_session_of_an_earlier_minute_is_loaded_at_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_session(tmp_path, datetime.now(UTC) - timedelta(minutes=1))

    async def fail(seconds: float) -> None:
        raise AssertionError(f"it waits for {seconds} seconds")

    monkeypatch.setattr(anyio, "sleep", fail)
    await MinuteFile(PATTERN, tmp_path).wait_until_free(SESSION)


async def test_the_wait_ends_with_the_minute(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    now = datetime.now(UTC)
    for minute in (now, now + timedelta(minutes=1)):
        write_session(tmp_path, minute)
    waits: list[float] = []

    async def note(seconds: float) -> None:
        waits.append(seconds)

    monkeypatch.setattr(anyio, "sleep", note)
    await MinuteFile(PATTERN, tmp_path).wait_until_free(SESSION)
    assert len(waits) == 1 and 0 <= waits[0] <= 60
