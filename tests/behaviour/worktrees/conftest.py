from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.behaviour.worktrees.harness import GitStage


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[GitStage]:
    """A gateway and a repository of the test's own."""
    with GitStage(tmp_path) as running:
        assert isinstance(running, GitStage)
        yield running
