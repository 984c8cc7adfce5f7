"""Tokens and cost of a conversation, added up over its runs."""

from __future__ import annotations

from typing import Any

COUNTS = (
    ("inputTokens", "in", (("cachedInputTokens", "cached"),)),
    ("outputTokens", "out", (("reasoningTokens", "thinking"),)),
)


class UsageTotal:
    """The sum of all usage that was reported."""

    def __init__(self) -> None:
        self._tokens: dict[str, int] = {}
        self._dollars: float | None = None
        self._session_cost: str | None = None

    def feed(self, event: dict[str, Any]) -> None:
        for entry in event.get("usage", ()):
            for name, count in entry.items():
                if isinstance(count, int):
                    self._tokens[name] = self._tokens.get(name, 0) + count
        match event:
            case {"type": "CUSTOM", "name": "cost", "value": {"usd": int() | float() as dollars}}:
                self._dollars = (self._dollars or 0.0) + dollars
            case {"type": "CUSTOM", "name": "session.usage", "value": {"cost": {"amount": amount, "currency": money}}}:
                self._session_cost = f"{amount} {money}"  # for the whole session, as the agent counts it

    def format(self) -> list[str]:
        """`["1,500 in (800 cached)", "385 out", "$0.0040"]`"""
        parts = [self._format_count(*count) for count in COUNTS if count[0] in self._tokens]
        if self._dollars is not None:
            parts.append(f"${self._dollars:.4f}")
        elif self._session_cost is not None:
            parts.append(f"{self._session_cost} in this session")
        return parts

    def _format_count(self, name: str, label: str, details: tuple[tuple[str, str], ...]) -> str:
        inside = [f"{self._tokens[detail]:,} {title}" for detail, title in details if self._tokens.get(detail)]
        return f"{self._tokens[name]:,} {label}" + (f" ({', '.join(inside)})" if inside else "")
