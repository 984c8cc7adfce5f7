"""Token usage and cost, as pi and omp report them with every answer.

In: the `usage` of a message. Its `input` excludes tokens read from and written to the cache, which have fields of their
own; its `output` includes reasoning. Out: `TokenUsage` for each message, and the turn's cost.
"""

from __future__ import annotations

from typing import Any

from gateway.events import Custom, Event, TokenUsage
from gateway.wire.fields import amount, count, non_empty, obj

MAX_COST_USD = 1e9
"""A larger number is no price."""


class TurnUsage:
    """The usage of one turn, of the agent and its subagents together."""

    def __init__(self) -> None:
        self._cost_usd = 0.0

    def read(self, usage: Any, message: dict[str, Any]) -> list[Event]:
        """The usage of one message. No event for a message that used nothing: a failed one reports zeros."""
        reported = obj(usage)
        self._cost_usd += _read_cost(obj(reported.get("cost")).get("total"))
        cache_read = count(reported.get("cacheRead")) or 0
        cache_write = count(reported.get("cacheWrite")) or 0
        total_input = (count(reported.get("input")) or 0) + cache_read + cache_write
        output = count(reported.get("output")) or 0
        if not total_input and not output:
            return []
        event = TokenUsage(
            provider=non_empty(message.get("provider")),
            model=non_empty(message.get("model")),
            input_tokens=total_input,
            output_tokens=output,
            total_tokens=total_input + output,
            reasoning_tokens=count(reported.get("reasoning", reported.get("reasoningTokens"))) or None,
            cached_input_tokens=cache_read or None,
            cache_write_input_tokens=cache_write or None,
        )
        return [event]

    def read_total(self) -> list[Event]:
        """The turn's cost, once; no event where no price is known."""
        usd = self._cost_usd
        self._cost_usd = 0.0
        return [Custom("cost", {"usd": round(usd, 9)})] if usd else []


def _read_cost(value: Any) -> float:
    usd = amount(value)
    return float(usd) if usd is not None and usd < MAX_COST_USD else 0.0
