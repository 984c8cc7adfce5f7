"""What a run used, as OpenClaw tells it at its end. `input` leaves out what a cache gave, and what went into one."""

from __future__ import annotations

from typing import Any

from gateway.events import Custom, Event, TokenUsage
from gateway.wire.fields import count, non_empty, obj


def spent(usage: Any, provider: Any, model: Any, cost: Any) -> list[Event]:
    told = obj(usage)
    fresh, output = count(told.get("input")), count(told.get("output"))
    read, written = count(told.get("cacheRead")), count(told.get("cacheWrite"))
    found: list[Event] = []
    if fresh is not None and output is not None and fresh + output > 0:
        whole = fresh + (read or 0) + (written or 0)
        found.append(
            TokenUsage(
                provider=non_empty(provider),
                model=non_empty(model),
                input_tokens=whole,
                output_tokens=output,
                total_tokens=whole + output,
                reasoning_tokens=count(told.get("reasoningTokens")),
                cached_input_tokens=read,
                cache_write_input_tokens=written,
            )
        )
    usd = _money(cost) or _money(obj(told.get("cost")).get("total"))
    return [*found, Custom("cost", {"usd": round(usd, 9)})] if usd else found


def _money(value: Any) -> float:
    good = isinstance(value, int | float) and not isinstance(value, bool) and 0 < value < 1e9
    return float(value) if good else 0.0
