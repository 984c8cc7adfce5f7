"""Token counts of a run, added up per provider and model."""

from __future__ import annotations

from typing import Any

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
        if not counts:
            return
        provider, model = entry.get("provider"), entry.get("model")
        labels = {"provider": provider, "model": model}
        known = self._entries.setdefault((provider, model), {k: v for k, v in labels.items() if v is not None})
        for name, count in counts.items():
            known[name] = known.get(name, 0) + count

    def entries(self) -> list[dict[str, Any]]:
        return [dict(entry) for entry in self._entries.values()]
