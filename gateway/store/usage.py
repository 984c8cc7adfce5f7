"""A further part of a store's contract: what the runs of each principal have used on each day.

A *day* is a date of UTC, `2026-01-31`. Amounts only grow while the day lasts; the gateway adds to them and reads them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

MAX_AMOUNT = 2**53 - 1
"""A larger sum stays this one: agents report the counts, and they may report anything."""


@dataclass(frozen=True, slots=True)
class DayUsage:
    """What one principal has used on one day."""

    tokens: int = 0
    nano_usd: int = 0
    """Billionths of a US dollar, so that sums are exact."""

    def add(self, tokens: int, nano_usd: int) -> DayUsage:
        return DayUsage(min(self.tokens + tokens, MAX_AMOUNT), min(self.nano_usd + nano_usd, MAX_AMOUNT))


class UsageRecords(Protocol):
    """Every method may raise `errors.StoreError`. Every write is durable on return."""

    async def add(self, principal: str, day: str, tokens: int, nano_usd: int) -> None:
        """Adds to what the principal has used on this day."""

    async def read(self, principal: str, day: str) -> DayUsage:
        """What the principal has used on this day; nothing, if there is no record."""

    async def prune(self, before: str) -> None:
        """Deletes the records of the days before this one."""
