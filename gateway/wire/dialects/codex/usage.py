"""Token counts of a thread → the tokens used since the last count.

In: `thread/tokenUsage/updated` (`total` and `last`), or the total alone, which `exec` prints. Out: `TokenUsage`. It is
computed from differences of the total: a count may be repeated, and after a compaction `last` is an estimate. Codex's
numbers include their parts: cached tokens are part of the input, reasoning tokens part of the output.
"""

from __future__ import annotations

from typing import Any

from gateway.events import TokenUsage
from gateway.wire.fields import count, obj

FIELDS = {
    "input_tokens": "inputTokens",
    "output_tokens": "outputTokens",
    "reasoning_tokens": "reasoningOutputTokens",
    "cached_input_tokens": "cachedInputTokens",
    "cache_write_input_tokens": "cacheWriteInputTokens",
}
"""Field of `TokenUsage` → Codex's field."""

Counts = dict[str, int]


class UsageTotals:
    """The counts of one thread. `total` is None while it is unknown what the thread used before the gateway had it."""

    def __init__(self, total: Counts | None = None) -> None:
        self._total = total

    def set_total(self, total: Any) -> None:
        """A count of earlier turns."""
        self._total = _read_counts(total) or self._total

    def read(self, total: Any, last: Any, model: str | None, provider: str | None) -> TokenUsage | None:
        """None: no new tokens, or they cannot be separated from earlier ones."""
        counts, before = _read_counts(total), self._total
        self._total = counts or before
        if counts is None or before is None or counts.get("input_tokens", 0) < before.get("input_tokens", 0):
            # The first count of a resumed thread, or a count that started again.
            return _to_usage(_read_counts(last), model, provider)
        return _to_usage({key: max(0, value - before.get(key, 0)) for key, value in counts.items()}, model, provider)


def _read_counts(usage: Any) -> Counts | None:
    counts = {name: count(obj(usage).get(field)) for name, field in FIELDS.items()}
    known = {name: value for name, value in counts.items() if value is not None}
    return known if "input_tokens" in known or "output_tokens" in known else None


def _to_usage(counts: Counts | None, model: str | None, provider: str | None) -> TokenUsage | None:
    if not counts or not any(counts.values()):
        return None
    total = counts.get("input_tokens", 0) + counts.get("output_tokens", 0)
    return TokenUsage(provider=provider, model=model, total_tokens=count(total), **counts)
