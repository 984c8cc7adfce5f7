"""Streams that the gateway has not ended are ended some time after the server began to shut down."""

from __future__ import annotations

import anyio
import pytest
from sse_starlette.sse import AppStatus

from gateway.web.live_streams import LiveStreams

pytestmark = pytest.mark.anyio

LIMIT_SECONDS = 10.0


async def test_streams_that_go_on_after_the_server_stopped_are_cancelled(monkeypatch: pytest.MonkeyPatch) -> None:
    streams = LiveStreams(grace_seconds=0.05)
    ended = anyio.CancelScope()
    streams.add(ended)
    streams.remove(ended)
    with anyio.fail_after(LIMIT_SECONDS):
        async with anyio.create_task_group() as tasks:
            streams.add(tasks.cancel_scope)
            tasks.start_soon(anyio.sleep_forever)
            monkeypatch.setattr(AppStatus, "should_exit", True)
            await streams.end_at_shutdown()
    assert tasks.cancel_scope.cancel_called
    assert not ended.cancel_called
