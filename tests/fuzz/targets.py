"""The registry of targets: everything that `make fuzz` tries to break."""

from __future__ import annotations

from functools import cache

from tests.fuzz.acp import acp_targets
from tests.fuzz.dialects import dialect_targets
from tests.fuzz.mcp import mcp_targets
from tests.fuzz.remote import remote_targets
from tests.fuzz.target import Target

SOURCES = (mcp_targets, remote_targets, acp_targets, dialect_targets)


@cache
def _known_targets() -> tuple[Target, ...]:
    return tuple(target for source in SOURCES for target in source())


def all_targets(only: str = "") -> list[Target]:
    """All targets, or those whose name contains `only`. Reading the recordings takes a few seconds."""
    return [target for target in _known_targets() if only in target.name]
