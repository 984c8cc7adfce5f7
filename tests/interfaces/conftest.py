"""The stage of ACP agents, for sessions that answer, and a gateway with the bundled agents."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.behaviour.acp.conftest import stage
from tests.interfaces.all_fields import write_whole
from tests.support.gateway import Gateway

__all__ = ["served", "stage"]


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """Where no agent is installed, so that nobody waits for one. For tests that leave it as it was."""
    home = tmp_path_factory.mktemp("interfaces")
    write_whole(home / "agents")
    with Gateway(home, "--agents", str(home / "agents"), env={"PATH": str(home / "empty")}) as running:
        yield running
