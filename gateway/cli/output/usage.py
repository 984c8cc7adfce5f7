"""What a conversation took: tokens and money, added up over its runs."""

from __future__ import annotations

from typing import Any

PARTS = (
    ("inputTokens", "in", (("cachedInputTokens", "cached"),)),
    ("outputTokens", "out", (("reasoningTokens", "thinking"),)),
)


class UsageTotal:
    def __init__(self) -> None:
        self._tokens: dict[str, int] = {}
        self._dollars: float | None = None
        self._so_far: str | None = None

    def feed(self, event: dict[str, Any]) -> None:
        for entry in event.get("usage", ()):
            for name, count in entry.items():
                if isinstance(count, int):
                    self._tokens[name] = self._tokens.get(name, 0) + count
        match event:
            case {"type": "CUSTOM", "name": "cost", "value": {"usd": int() | float() as dollars}}:
                self._dollars = (self._dollars or 0.0) + dollars
            case {"type": "CUSTOM", "name": "session.usage", "value": {"cost": {"amount": amount, "currency": money}}}:
                self._so_far = f"{amount} {money}"  # of the whole session, as the agent counts it

    def words(self) -> list[str]:
        found = [self._count(*part) for part in PARTS if part[0] in self._tokens]
        if self._dollars is not None:
            found.append(f"${self._dollars:.4f}")
        elif self._so_far is not None:
            found.append(f"{self._so_far} in this session")
        return found

    def _count(self, name: str, word: str, parts: tuple[tuple[str, str], ...]) -> str:
        inside = [f"{self._tokens[part]:,} {told}" for part, told in parts if self._tokens.get(part)]
        return f"{self._tokens[name]:,} {word}" + (f" ({', '.join(inside)})" if inside else "")
