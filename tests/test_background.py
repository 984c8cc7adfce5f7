"""A task in the background fails alone: those beside it go on, and whoever waits for its start is told."""

from __future__ import annotations

import logging

import anyio
import pytest
from anyio.abc import TaskStatus

from gateway.background import ContainedTasks


class Wrong(Exception):
    pass


async def fails() -> None:
    raise Wrong("of its own")


async def fails_after_its_start(*, task_status: TaskStatus[str]) -> None:
    task_status.started("begun")
    raise Wrong("later")


async def fails_before_its_start(*, task_status: TaskStatus[str]) -> None:
    raise Wrong("at once")


@pytest.mark.anyio
async def test_a_task_that_fails_leaves_those_beside_it_alone(caplog: pytest.LogCaptureFixture) -> None:
    went_on = anyio.Event()
    async with anyio.create_task_group() as group:
        tasks = ContainedTasks(group)
        tasks.start_soon(fails)
        assert await tasks.start(fails_after_its_start) == "begun"
        tasks.start_soon(_set, went_on)
        with anyio.fail_after(5):
            await went_on.wait()
    told = [record for record in caplog.records if record.levelno == logging.ERROR]
    assert sorted(record.getMessage().split()[-1] for record in told) == ["fails", "fails_after_its_start"]
    assert all(record.exc_info is not None for record in told), "with the place where it happened"


@pytest.mark.anyio
async def test_one_that_cannot_start_tells_whoever_started_it(caplog: pytest.LogCaptureFixture) -> None:
    async with anyio.create_task_group() as group:
        with pytest.raises(Wrong, match="at once"):
            await ContainedTasks(group).start(fails_before_its_start)
    assert not caplog.records


@pytest.mark.anyio
async def test_cancelling_the_group_ends_what_is_contained(caplog: pytest.LogCaptureFixture) -> None:
    async with anyio.create_task_group() as group:
        ContainedTasks(group).start_soon(anyio.sleep_forever)
        group.cancel_scope.cancel()
    assert not caplog.records


async def _set(event: anyio.Event) -> None:
    event.set()
