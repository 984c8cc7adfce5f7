"""Which live tests every run has. Cases that one agent of each kind proves are run with all of them by `make
test-agents` only (`AGUI_TEST_THOROUGH=1`): real agents take seconds to start."""

from __future__ import annotations

import os

import pytest


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if os.environ.get("AGUI_TEST_THOROUGH"):
        return
    left = [item for item in items if item.get_closest_marker("thorough")]
    if left:
        items[:] = [item for item in items if item not in left]
        config.hook.pytest_deselected(items=left)
