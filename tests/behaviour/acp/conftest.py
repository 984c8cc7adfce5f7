"""One gateway with agents of every kind, for all tests of a worker that leave it as it was."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.behaviour.acp.harness import Stage

SIGNED_IN = [{"kind": "none", "hint": "Run `scripted login`"}]
"""As far as anyone can see."""


@pytest.fixture(scope="session")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Stage]:
    stage = Stage(tmp_path_factory.mktemp("acp"))
    stage.agent("plain", acp={"fs": True, "terminal": True})
    stage.agent("bare", "--bare")
    stage.agent("full", "--full")
    stage.agent("strict", options=[])
    stage.agent("signs-in", "--auth", acp={"auth_method": "key"})
    stage.agent("signs-in-late", "--auth-late", acp={"auth_method": "key"})
    stage.agent("signed-out", "--auth", auth=SIGNED_IN)
    stage.agent("signed-out-late", "--auth-late", auth=SIGNED_IN)
    stage.agent("never", "--never-initialize")
    stage.agent("second", "--second", acp={"protocol": 2})
    stage.agent("alone", acp={"sessions_per_process": "one"})
    with stage:
        yield stage
