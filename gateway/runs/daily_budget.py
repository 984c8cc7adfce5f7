"""What the runs of each principal use on a day (UTC), and whether the next run may begin.

In: the usage entries of runs that have ended, as agents report them. Out: `LimitReached` once a principal has used
`max_tokens_per_day` or `max_cost_per_day`, until midnight. The sums are in the store, so a restart does not reset them.
Tokens of a model without a known price count as tokens and cost nothing. Never: a run that is live is not cut.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from decimal import Decimal
from typing import Any

from gateway.catalog.models.definition import Model
from gateway.catalog.models.prices import calculate_cost, read_tokens
from gateway.catalog.models.registry import ModelRegistry
from gateway.errors import LimitReached
from gateway.settings import Settings
from gateway.store.base import Store
from gateway.store.usage import DayUsage

NANO = Decimal(10**9)
DAY_SECONDS = 86400
MAX_KNOWN = 10_000
"""Principals whose sums of the day are kept in memory; the others are read from the store."""


def day_of(seconds: float) -> str:
    """Seconds since the epoch → the date in UTC."""
    return datetime.fromtimestamp(seconds, UTC).date().isoformat()


class DailyBudget:
    def __init__(self, settings: Settings, store: Store, clock: Callable[[], float] = time.time) -> None:
        self._max_tokens = settings.max_tokens_per_day
        self._max_cost = settings.max_cost_per_day
        self._store = store
        self._clock = clock
        self._known: dict[tuple[str, str], DayUsage] = {}
        """(Principal, day) → what the store has."""

    async def check(self, principal: str) -> None:
        """Raises `LimitReached` if the principal has used up its day."""
        if self._max_tokens is None and self._max_cost is None:
            return
        now = self._clock()
        used = await self._read(principal, day_of(now))
        if self._max_tokens is not None and used.tokens >= self._max_tokens:
            amount = f"{used.tokens} of {self._max_tokens} tokens"
            raise _refusal(principal, amount, "max_tokens_per_day", self._max_tokens, now)
        if self._max_cost is not None and used.nano_usd >= self._max_cost * int(NANO):
            amount = f"{used.nano_usd / int(NANO):.2f} of {self._max_cost:g} US dollars"
            raise _refusal(principal, amount, "max_cost_per_day", self._max_cost, now)

    async def add(
        self, principal: str, entries: Sequence[Mapping[str, Any]], models: ModelRegistry, model: Model | None
    ) -> None:
        """`entries`: AG-UI's usage of a run. `model`: of an entry that names none."""
        tokens = sum(count_tokens(entry) for entry in entries)
        nano_usd = sum(_nano_usd(entry, models, model) for entry in entries)
        day = day_of(self._clock())
        used = await self._read(principal, day)
        await self._store.usage.add(principal, day, tokens, nano_usd)
        # Read again: another run of the principal may have ended while the store wrote.
        self._keep(principal, day, self._known.get((principal, day), used).add(tokens, nano_usd))

    async def _read(self, principal: str, day: str) -> DayUsage:
        used = self._known.get((principal, day))
        if used is None:
            used = await self._store.usage.read(principal, day)
            used = self._known.get((principal, day), used)
            self._keep(principal, day, used)
        return used

    def _keep(self, principal: str, day: str, used: DayUsage) -> None:
        if len(self._known) >= MAX_KNOWN:
            self._known.clear()
        self._known[principal, day] = used


def count_tokens(entry: Mapping[str, Any]) -> int:
    """All tokens of a usage entry. AG-UI's input and output include their parts."""
    total = entry.get("totalTokens")
    parts = (entry.get("inputTokens") or 0) + (entry.get("outputTokens") or 0)
    return max(total or 0, parts)


def _nano_usd(entry: Mapping[str, Any], models: ModelRegistry, model: Model | None) -> int:
    if (name := entry.get("model")) is not None:
        model = models.find(name) or models.validate(name).model
    if model is None:
        return 0
    tokens = read_tokens(entry)
    if model.price.cache_write is None:  # what was written to a cache is at least plain input
        tokens = replace(tokens, cache_write=0)
    return int(calculate_cost(model.price, tokens).usd * NANO)


def _refusal(principal: str, amount: str, limit: str, value: float, now: float) -> LimitReached:
    seconds = DAY_SECONDS - now % DAY_SECONDS
    detail = f"{principal!r} has used {amount} of this day ({limit}). Try again after midnight UTC."
    return LimitReached(detail, limit, value, seconds)
