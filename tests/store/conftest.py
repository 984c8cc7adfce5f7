from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from gateway.store import Store, open_store


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(params=["memory", "sqlite"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[Store]:
    """Every store there is, started."""
    made = open_store("memory:" if request.param == "memory" else f"sqlite://{tmp_path}/store.db")
    await made.start()
    yield made
    await made.aclose()
