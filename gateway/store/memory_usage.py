"""What principals have used, in memory. `MemoryStore` passes in the check that it is open."""

from __future__ import annotations

from collections.abc import Callable

from gateway.store.usage import DayUsage


class MemoryUsage:
    """The contract is `usage.UsageRecords`'."""

    def __init__(self, check_open: Callable[[], None]) -> None:
        """`check_open`: raises if the store is not open."""
        self._check_open = check_open
        self._days: dict[tuple[str, str], DayUsage] = {}

    async def add(self, principal: str, day: str, tokens: int, nano_usd: int) -> None:
        self._check_open()
        self._days[principal, day] = self._days.get((principal, day), DayUsage()).add(tokens, nano_usd)

    async def read(self, principal: str, day: str) -> DayUsage:
        self._check_open()
        return self._days.get((principal, day), DayUsage())

    async def prune(self, before: str) -> None:
        self._check_open()
        self._days = {key: usage for key, usage in self._days.items() if key[1] >= before}
