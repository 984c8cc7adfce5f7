"""One statement about an agent's capabilities. Pure.

In: dotted AG-UI path → value. Out: the same with its layer, its source and its date.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

LAYERS = ("profile", "probe", "handshake", "model", "session", "gateway")
"""In order of precedence: later layers win, key by key."""


def current_time() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds").replace("+00:00", "Z")


@dataclass(frozen=True, slots=True)
class LayerStatement:
    """One layer, or a part of it from one source."""

    layer: str
    """One of `LAYERS`."""
    source: str
    """Where the values come from: a file, an answer of the agent."""
    values: Mapping[str, Any]
    since: str = field(default_factory=current_time)
    """When the source first stated these values."""
    key_of: Callable[[str], str] | None = field(default=None, compare=False)
    """Path → key in the source; None if the source has no keys."""

    @property
    def label(self) -> str:
        """`profile (echo.toml)`."""
        return f"{self.layer} ({self.source})"

    def keep_date(self, earlier: Iterable[LayerStatement]) -> LayerStatement:
        """The one of the earlier statements that equals this one, with its date; this one if there is none."""
        own = (self.layer, self.source, self.values)
        return next((other for other in earlier if (other.layer, other.source, other.values) == own), self)
