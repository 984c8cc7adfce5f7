"""What principals have used on a day: the contract of every store."""

from __future__ import annotations

from pathlib import Path

import pytest

from gateway.store import Store, open_store
from gateway.store.usage import MAX_AMOUNT, DayUsage

pytestmark = pytest.mark.anyio

DAY = "2026-01-31"


async def test_what_runs_use_is_added_up_by_principal_and_day(store: Store) -> None:
    await store.usage.add("ann", DAY, 10, 5)
    await store.usage.add("ann", DAY, 1, 0)
    await store.usage.add("bob", DAY, 7, 7)
    assert await store.usage.read("ann", DAY) == DayUsage(11, 5)
    assert await store.usage.read("bob", DAY) == DayUsage(7, 7)
    assert await store.usage.read("ann", "2026-02-01") == await store.usage.read("eve", DAY) == DayUsage()


async def test_a_sum_never_leaves_the_safe_integers(store: Store) -> None:
    for _ in range(3):
        await store.usage.add("ann", DAY, MAX_AMOUNT, MAX_AMOUNT - 1)
    assert await store.usage.read("ann", DAY) == DayUsage(MAX_AMOUNT, MAX_AMOUNT)


async def test_old_days_are_deleted(store: Store) -> None:
    for day in ("2025-12-31", "2026-01-01", DAY):
        await store.usage.add("ann", day, 1, 1)
    await store.usage.prune("2026-01-01")
    assert await store.usage.read("ann", "2025-12-31") == DayUsage()
    assert await store.usage.read("ann", "2026-01-01") == await store.usage.read("ann", DAY) == DayUsage(1, 1)


async def test_it_survives_a_restart(tmp_path: Path) -> None:
    url = f"sqlite://{tmp_path / 'store.db'}"
    for expected in (DayUsage(), DayUsage(10, 5)):
        store = open_store(url)
        await store.start()
        assert await store.usage.read("ann", DAY) == expected
        await store.usage.add("ann", DAY, 10, 5)
        await store.aclose()
