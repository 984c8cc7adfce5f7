"""The result of a probe, as data."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

Status = Literal["ready", "not-installed", "needs-auth", "broken"]

BEST_FIRST: tuple[Status, ...] = ("ready", "needs-auth", "broken", "not-installed")
"""Ordered by how little is missing."""


@dataclass(frozen=True, slots=True)
class Prerequisite:
    command: str
    """The command that checks it: `node --version`."""
    met: bool


@dataclass(frozen=True, slots=True)
class Availability:
    status: Status = "ready"
    reason: str | None = None
    hint: str | None = None
    """What the operator can do about it: a command, or a sentence."""
    version: str | None = None
    program: str | None = None
    """The program's path. For the operator at this machine; it does not go over HTTP."""
    transport: str | None = None
    """The fallback that is used; None: the agent's first transport."""
    platform: bool = True
    """False: the agent's file excludes this platform."""
    prerequisites: tuple[Prerequisite, ...] = ()
    """Of the install method that is suggested here."""
    signed_in: bool | None = None
    """None: the agent's file names nothing that shows it."""

    def to_json(self) -> dict[str, Any]:
        """The fields that go over HTTP; those without a value are left out."""
        fields = {
            "status": self.status,
            "reason": self.reason,
            "hint": self.hint,
            "version": self.version,
            "transport": self.transport,
            "platform": None if self.platform else False,
            "missing": [need.command for need in self.prerequisites if not need.met] or None,
        }
        return {key: value for key, value in fields.items() if value is not None}
