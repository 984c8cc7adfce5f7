"""Records and pieces for the store's tests."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from gateway.store import Piece, RunRecord, Store, ThreadRecord

PLENTY = 2**30

RUN = RunRecord(
    key="k1",
    run_id="run-1",
    thread_id="thread-1",
    agent="otter",
    principal="ann",
    protocol="1.0",
    input=b'{"messages":[]}',
    started=100.0,
)
THREAD = ThreadRecord(agent="otter", thread_id="thread-1", principal="ann", updated=100.0)


def a_run(key: str = "k1", **changes: Any) -> RunRecord:
    return replace(RUN, key=key, **changes)


def a_thread(thread_id: str = "thread-1", **changes: Any) -> ThreadRecord:
    return replace(THREAD, thread_id=thread_id, **changes)


def event(number: int) -> bytes:
    return b'{"type":"CUSTOM","name":"n","value":%d}' % number


def a_piece(first: int, count: int) -> Piece:
    return Piece(first, [event(number) for number in range(first, first + count)])


def numbered(pieces: Iterable[Piece]) -> list[tuple[int, bytes]]:
    """Every event with its number: what a reader relies on, however the pieces were cut."""
    return [(piece.first + index, line) for piece in pieces for index, line in enumerate(piece.lines)]


def events(first: int, last: int) -> list[tuple[int, bytes]]:
    return [(number, event(number)) for number in range(first, last + 1)]


async def read_all(store: Store, key: str, max_bytes: int = PLENTY) -> list[tuple[int, bytes]]:
    """The whole log, as a reader gets it that comes back until there is no more."""
    found: list[tuple[int, bytes]] = []
    while pieces := await store.read(key, found[-1][0] if found else 0, max_bytes):
        found += numbered(pieces)
    return found


async def an_ended_run(store: Store, run: RunRecord, count: int = 1, ended: float = 200.0) -> None:
    await store.begin(run)
    await store.append(run.key, a_piece(1, count))
    await store.end(run.key, "finished", ended)
