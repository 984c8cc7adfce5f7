"""Tokens and money, as every answer of pi's and omp's tells them → AG-UI's accounting.

In: `usage` of a message: `input` without what came from or went to the cache, which stand beside it; `output` with the
thinking in it. Out: `TokenUsage` for each, and the turn's cost.
"""

from __future__ import annotations

from typing import Any

from gateway.events import Custom, Event, TokenUsage
from gateway.wire.fields import count, non_empty, obj


class Ledger:
    def __init__(self) -> None:
        self._usd = 0.0

    def enter(self, usage: Any, message: dict[str, Any]) -> list[Event]:
        """Nothing for an answer that cost nothing: a failure has a count of zeros."""
        told = obj(usage)
        self._usd += _money(obj(told.get("cost")).get("total"))
        given, made = count(told.get("input")), count(told.get("output"))
        cached, written = count(told.get("cacheRead")) or 0, count(told.get("cacheWrite")) or 0
        whole = (given or 0) + cached + written
        if not whole and not made:
            return []
        thought = told.get("reasoning", told.get("reasoningTokens"))
        used = TokenUsage(
            provider=non_empty(message.get("provider")),
            model=non_empty(message.get("model")),
            input_tokens=whole,
            output_tokens=made or 0,
            total_tokens=whole + (made or 0),
            reasoning_tokens=count(thought) or None,
            cached_input_tokens=cached or None,
            cache_write_input_tokens=written or None,
        )
        return [used]

    def total(self) -> list[Event]:
        """What the turn cost, once; nothing where no price is known."""
        usd, self._usd = self._usd, 0.0
        return [Custom("cost", {"usd": round(usd, 9)})] if usd else []


def _money(value: Any) -> float:
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < 1e9
    return float(value) if good else 0.0
