"""Token counts of a run, added up per provider and model."""

from __future__ import annotations

from typing import Any

from gateway.errors import AgentFault

MOST = 2**53 - 1
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
    def __init__(self) -> None:
        self._entries: dict[tuple[str | None, str | None], dict[str, Any]] = {}

    def add(self, entry: dict[str, Any]) -> None:
        """An AG-UI usage entry; unknown counts are absent or None, and stay unknown."""
        counts = {name: entry[name] for name in COUNTS if entry.get(name) is not None}
        for name, count in counts.items():
            if type(count) is not int or not 0 <= count <= MOST:
                raise AgentFault(f"the agent's usage has {count!r:.40} for {name}, which is a whole number of tokens")
        if not counts:
            return
        provider, model = entry.get("provider"), entry.get("model")
        labels = {"provider": provider, "model": model}
        for name, label in labels.items():
            if not isinstance(label, str | None):
                raise AgentFault(f"the agent's usage has {label!r:.40} for {name}, which is a string")
        known = self._entries.setdefault((provider, model), {k: v for k, v in labels.items() if v is not None})
        for name, count in counts.items():
            known[name] = min(known.get(name, 0) + count, MOST)

    def entries(self) -> list[dict[str, Any]]:
        return [dict(entry) for entry in self._entries.values()]
