from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.behaviour.delivery.harness import Stage, Thread


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    """One for all tests that leave it as it was."""
    with Stage(tmp_path_factory.mktemp("delivery"), cancel_grace=1) as running:
        yield running


@pytest.fixture
def thread(stage: Stage) -> Thread:
    return stage.thread()
