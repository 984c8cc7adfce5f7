"""A gateway's store in a process of its own, to be killed: `python -m tests.store.child PART DATABASE`."""

from __future__ import annotations

import resource
import sys
from itertools import count
from pathlib import Path

import anyio

from gateway.errors import StoreError
from gateway.store import SqliteStore
from tests.store.make import a_piece, a_run, a_thread, an_ended_run, event, read_all


async def hold(store: SqliteStore) -> None:
    """Leaves an ended run, a thread and a live run, says so, and waits for its end."""
    await store.start()
    await an_ended_run(store, a_run("ended", run_id="ended"), 500)
    await store.save_thread(a_thread(session="s-1"))
    await store.begin(a_run("live", run_id="live"))
    await store.append("live", a_piece(1, 3))
    await read_all(store, "live")
    print("ready", flush=True)
    await anyio.sleep_forever()


async def pour(store: SqliteStore) -> None:
    """Appends without end, and says once how many events are sure to be on disk."""
    await store.start()
    await store.begin(a_run())
    for first in count(1, 10):
        await store.append("k1", a_piece(first, 10))
        if first == 5001:
            await read_all(store, "k1", 2**16)
            print(first + 9, flush=True)
        await anyio.lowlevel.checkpoint()


async def overflow(store: SqliteStore) -> None:
    """Writes until the system takes no more of any file, then on when it does again. Prints what happened."""
    await store.start()
    await store.begin(a_run())
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (2_000_000, hard))
    taken = 0
    with anyio.fail_after(30):
        try:
            while True:
                await store.append("k1", a_piece(taken + 1, 1000))
                taken += 1000
                await anyio.lowlevel.checkpoint()
        except StoreError as exc:
            print(exc.detail)
        for refused in (store.check(), store.end("k1", "finished", 2.0), store.begin(a_run("k2"))):
            try:
                await refused
            except StoreError as exc:
                print(exc.detail)
    resource.setrlimit(resource.RLIMIT_FSIZE, (hard, hard))
    await store.check()
    await store.append("k1", a_piece(taken + 1, 1))
    await store.end("k1", "finished", 2.0)
    whole = [line for _, line in await read_all(store, "k1")] == [event(number) for number in range(1, taken + 2)]
    print("whole" if whole else "torn")
    await store.aclose()


if __name__ == "__main__":
    part = {"hold": hold, "pour": pour, "overflow": overflow}[sys.argv[1]]
    anyio.run(part, SqliteStore(Path(sys.argv[2]), backlog=1_000_000))
