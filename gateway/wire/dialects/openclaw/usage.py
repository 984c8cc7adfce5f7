"""Token usage and cost of a run, as OpenClaw reports them at its end. `input` excludes tokens read from a cache and
tokens written to one."""

from __future__ import annotations

from typing import Any

from gateway.events import Custom, Event, TokenUsage
from gateway.wire.fields import amount, count, non_empty, obj

MAX_COST_USD = 1e9
"""A larger number is no price."""


def read_usage(usage: Any, provider: Any, model: Any, cost: Any) -> list[Event]:
    reported = obj(usage)
    uncached = count(reported.get("input"))
    output = count(reported.get("output"))
    cache_read = count(reported.get("cacheRead"))
    cache_write = count(reported.get("cacheWrite"))
    events: list[Event] = []
    if uncached is not None and output is not None and uncached + output > 0:
        total_input = uncached + (cache_read or 0) + (cache_write or 0)
        events.append(
            TokenUsage(
                provider=non_empty(provider),
                model=non_empty(model),
                input_tokens=total_input,
                output_tokens=output,
                total_tokens=total_input + output,
                reasoning_tokens=count(reported.get("reasoningTokens")),
                cached_input_tokens=cache_read,
                cache_write_input_tokens=cache_write,
            )
        )
    usd = _read_cost(cost) or _read_cost(obj(reported.get("cost")).get("total"))
    return [*events, Custom("cost", {"usd": round(usd, 9)})] if usd else events


def _read_cost(value: Any) -> float:
    usd = amount(value)
    return float(usd) if usd is not None and usd < MAX_COST_USD else 0.0
