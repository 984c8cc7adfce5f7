"""Token counts of a run, added up per provider and model.

In: AG-UI usage entries of the agent. Out: one entry for each provider and model. `AgentFault` for what is no count.
"""

from __future__ import annotations

from typing import Any

from gateway.errors import AgentFault

MAX_COUNT = 2**53 - 1
"""JavaScript's largest safe integer, and so AG-UI's."""

COUNTS = (
    "inputTokens",
    "outputTokens",
    "totalTokens",
    "reasoningTokens",
    "cachedInputTokens",
    "cacheWriteInputTokens",
)


class Usage:
    """The sum of all entries so far."""

    def __init__(self) -> None:
        self._entries: dict[tuple[str | None, str | None], dict[str, Any]] = {}

    def add(self, entry: dict[str, Any]) -> None:
        """`entry`: an AG-UI usage entry. Unknown counts are absent or None, and stay unknown."""
        counts = {name: entry[name] for name in COUNTS if entry.get(name) is not None}
        for name, count in counts.items():
            if type(count) is not int or not 0 <= count <= MAX_COUNT:
                raise AgentFault(f"the agent's usage has {count!r:.40} for {name}, which is a whole number of tokens")
        if not counts:
            return
        provider = entry.get("provider")
        model = entry.get("model")
        labels = {"provider": provider, "model": model}
        for name, label in labels.items():
            if not isinstance(label, str | None):
                raise AgentFault(f"the agent's usage has {label!r:.40} for {name}, which is a string")
        present = {key: label for key, label in labels.items() if label is not None}
        total = self._entries.setdefault((provider, model), present)
        for name, count in counts.items():
            total[name] = min(total.get(name, 0) + count, MAX_COUNT)

    def entries(self) -> list[dict[str, Any]]:
        return [dict(entry) for entry in self._entries.values()]
