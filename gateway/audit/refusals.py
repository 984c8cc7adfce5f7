"""Refused requests, counted: a flood of them must not fill the audit log.

In: refusals as they happen, and the clock as an argument. Out: entries. The first refusal of a kind is an entry at
once; further ones in the same minute are counted, and the count is one entry after that minute. Kinds beyond a bound
are counted together. Pure.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

WINDOW_SECONDS = 60.0
MAX_KINDS = 100
"""Kinds of refusals in one minute with counts of their own."""
OTHERS = "(others)"


class Refusal(NamedTuple):
    """One kind: who was refused, where, and why."""

    principal: str
    """The principal; of a request that has none, the address of its client."""
    code: str
    route: str
    status: int


@dataclass(frozen=True, slots=True)
class RefusalCount:
    refusal: Refusal
    count: int
    """How many requests it stands for."""


class RefusalCounter:
    def __init__(self) -> None:
        self._counts: dict[Refusal, int] = {}
        """Of this minute, beyond the first of each kind."""
        self._ends = 0.0

    @property
    def ends(self) -> float | None:
        """When `take` has something to give; None: nothing was refused."""
        return self._ends if self._counts else None

    def add(self, refusal: Refusal, now: float) -> list[RefusalCount]:
        """What is to be written now."""
        entries = self.take(now) if self._counts and now >= self._ends else []
        if not self._counts:
            self._ends = now + WINDOW_SECONDS
        if refusal not in self._counts and len(self._counts) >= MAX_KINDS:
            refusal = Refusal(OTHERS, "MANY", OTHERS, refusal.status)
        if refusal in self._counts:
            self._counts[refusal] += 1
            return entries
        self._counts[refusal] = 0
        return [*entries, RefusalCount(refusal, 1)]

    def take(self, now: float) -> list[RefusalCount]:
        """The counts of a minute that is over; empty before."""
        if not self._counts or now < self._ends:
            return []
        return self.take_all()

    def take_all(self) -> list[RefusalCount]:
        """At the end of the gateway."""
        counts, self._counts = self._counts, {}
        return [RefusalCount(refusal, count) for refusal, count in counts.items() if count]
