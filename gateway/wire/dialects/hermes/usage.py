"""Token usage of one turn from Hermes' running totals.

In: the `usage` of `message.complete` and `session.info`, which counts since the agent's process started. Out: the
difference to the previous total. `prompt` includes tokens read from a cache, `input` does not.
"""

from __future__ import annotations

from typing import Any

from gateway.events import TokenUsage
from gateway.wire.fields import count, non_empty, obj

FIELDS = ("prompt", "completion", "reasoning", "total")


class UsageTotals:
    def __init__(self) -> None:
        self._totals = dict.fromkeys(FIELDS, 0)

    def start(self, usage: Any) -> None:
        """The totals when a session is resumed; 0 in a new process."""
        self._totals = {name: count(obj(usage).get(name)) or 0 for name in FIELDS}

    def read_turn(self, usage: Any, provider: str | None) -> TokenUsage | None:
        """What was used since the previous total; None: nothing. A total that went down has started again from 0."""
        reported = obj(usage)
        counts = {name: count(reported.get(name)) for name in FIELDS}
        if any(value is None for value in counts.values()):
            return None
        totals = {name: value or 0 for name, value in counts.items()}
        before = self._totals if totals["total"] >= self._totals["total"] else dict.fromkeys(FIELDS, 0)
        self._totals = totals
        growth = {name: max(totals[name] - before[name], 0) for name in FIELDS}
        if not any(growth.values()):
            return None
        return TokenUsage(
            provider=provider,
            model=non_empty(reported.get("model")),
            input_tokens=growth["prompt"],
            output_tokens=growth["completion"],
            total_tokens=growth["total"],
            reasoning_tokens=growth["reasoning"],
        )
