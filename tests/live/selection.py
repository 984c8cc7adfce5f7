"""Which agents a case is run with: a few every time, the others by `make test-agents`."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

EVERY_TIME = ("claude", "codex", "claude-agent-acp", "codex-acp")
"""Two of each kind, the quickest."""

LARGE = ("omp",)
"""More than a gigabyte to install: only by `make test-agents`."""


def agents(names: Iterable[str], always: Iterable[str] = EVERY_TIME) -> list[Any]:
    """As parameters of a test."""
    known = set(always)
    return [name if name in known else pytest.param(name, marks=pytest.mark.thorough) for name in names]
