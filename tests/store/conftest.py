from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.store import STORES, Store, open_store


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=sorted(STORES))
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """Every store of the registry, started."""
    opened = open_store(STORES[request.param].example.format(directory=tmp_path))
    await opened.start()
    yield opened
    await opened.aclose()
