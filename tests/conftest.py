"""Shared by all tests."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.support.gateway import Gateway


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """One gateway for all tests of a worker that leave it as it was."""
    with Gateway(tmp_path_factory.mktemp("gateway")) as running:
        yield running
