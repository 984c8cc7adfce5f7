"""Token counts of a thread → what was used since the last count.

In: `thread/tokenUsage/updated` (`total` and `last`), or the total alone, as `exec` prints it. Out: `TokenUsage`.
Differences of the total are what counts: a count may be told twice, and after a compaction `last` is an estimate.
Codex's numbers already include their parts: cached tokens are inside the input, reasoning inside the output.
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
"""Ours → Codex's."""

Counts = dict[str, int]


class Book:
    """One thread's. `before` is None as long as nobody knows what the thread had used before it came to us."""

    def __init__(self, before: Counts | None = None) -> None:
        self._before = before

    def note(self, total: Any) -> None:
        """A count of what was before this turn."""
        self._before = _counts(total) or self._before

    def read(self, total: Any, last: Any, model: str | None, provider: str | None) -> TokenUsage | None:
        """None: nothing new, or nothing that can be told apart from what was before."""
        now, before = _counts(total), self._before
        self._before = now or before
        if now is None or before is None or now.get("input_tokens", 0) < before.get("input_tokens", 0):
            return _used(_counts(last), model, provider)  # the first count of a thread that came back, or a new start
        return _used({key: max(0, value - before.get(key, 0)) for key, value in now.items()}, model, provider)


def _counts(told: Any) -> Counts | None:
    fields = obj(told)
    found = {ours: count(fields.get(theirs)) for ours, theirs in FIELDS.items()}
    known = {key: value for key, value in found.items() if value is not None}
    return known if "input_tokens" in known or "output_tokens" in known else None


def _used(counts: Counts | None, model: str | None, provider: str | None) -> TokenUsage | None:
    if not counts or not any(counts.values()):
        return None
    total = counts.get("input_tokens", 0) + counts.get("output_tokens", 0)
    return TokenUsage(provider=provider, model=model, total_tokens=count(total), **counts)
