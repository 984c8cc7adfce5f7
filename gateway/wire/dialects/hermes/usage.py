"""Session totals of tokens → what one turn used.

In: the `usage` of `message.complete` and `session.info`, which counts from the start of the agent's process. Out: the
difference to what was told before. `prompt` includes what came from a cache, `input` does not.
"""

from __future__ import annotations

from typing import Any

from gateway.events import TokenUsage
from gateway.wire.fields import count, non_empty, obj

FIELDS = ("prompt", "completion", "reasoning", "total")


class Totals:
    def __init__(self) -> None:
        self._told = dict.fromkeys(FIELDS, 0)

    def start(self, usage: Any) -> None:
        """Where the counting stands when a session comes back; 0 in a new process."""
        self._told = {name: count(obj(usage).get(name)) or 0 for name in FIELDS}

    def difference(self, usage: Any, provider: str | None) -> TokenUsage | None:
        """None: nothing was used. A total that went down is a count that began anew."""
        told = obj(usage)
        now = {name: count(told.get(name)) for name in FIELDS}
        if any(value is None for value in now.values()):
            return None
        totals = {name: value or 0 for name, value in now.items()}
        before = self._told if totals["total"] >= self._told["total"] else dict.fromkeys(FIELDS, 0)
        self._told = totals
        grown = {name: max(totals[name] - before[name], 0) for name in FIELDS}
        if not any(grown.values()):
            return None
        return TokenUsage(
            provider=provider,
            model=non_empty(told.get("model")),
            input_tokens=grown["prompt"],
            output_tokens=grown["completion"],
            total_tokens=grown["total"],
            reasoning_tokens=grown["reasoning"],
        )
