"""What a probe finds out about an agent, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Status = Literal["ready", "not-installed", "needs-auth", "broken"]

BEST_FIRST: tuple[Status, ...] = ("ready", "needs-auth", "broken", "not-installed")
"""By how little is missing."""


@dataclass(frozen=True, slots=True)
class Prerequisite:
    command: str
    """What was asked: `node --version`."""
    met: bool


@dataclass(frozen=True, slots=True)
class Availability:
    status: Status = "ready"
    reason: str | None = None
    hint: str | None = None
    """What to do about it: a command, or a sentence."""
    version: str | None = None
    program: str | None = None
    """Where it is. For whoever sits at this machine; it is not told over HTTP."""
    transport: str | None = None
    """The further way in that is taken; None: the first one."""
    platform: bool = True
    """Its file does not say that it cannot run on this system."""
    prerequisites: tuple[Prerequisite, ...] = ()
    """Of the way to install it that is offered here."""
    signed_in: bool | None = None
    """None: its file names no sign to see it by."""

    def to_json(self) -> dict[str, Any]:
        """What goes over HTTP, absent where there is nothing to say."""
        told = {
            "status": self.status,
            "reason": self.reason,
            "hint": self.hint,
            "version": self.version,
            "transport": self.transport,
            "platform": None if self.platform else False,
            "missing": [need.command for need in self.prerequisites if not need.met] or None,
        }
        return {key: value for key, value in told.items() if value is not None}
