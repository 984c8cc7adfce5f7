"""The end of an agent's process: in order and in bounded time, in every case to the gateway."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import anyio.abc
import anyio.lowlevel
import pytest

import gateway.drivers.process.process as process_module
from gateway.drivers.process import supervisor_client
from gateway.drivers.process.process import Process, spawn
from gateway.errors import AgentFault
from tests.drivers.process_watch import FAKES, LIMIT, alive, child, parent, running, until
from tests.drivers.spawned import LOOP_NAMES, LOOPS, read_line, start

pytestmark = pytest.mark.anyio

MB = 1_000_000


@pytest.fixture(params=LOOPS, ids=LOOP_NAMES)
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process_module, "STOP_GRACE_SECONDS", 0.2)
    monkeypatch.setattr(process_module, "TERM_GRACE_SECONDS", 0.2)


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever needs the next step fails by time."""
    monkeypatch.setattr(process_module, "STOP_GRACE_SECONDS", LIMIT)
    monkeypatch.setattr(process_module, "TERM_GRACE_SECONDS", LIMIT)


# -- the steps


async def test_the_end_of_stdin_is_enough_for_most(patient: None) -> None:
    async with start("echo") as process:
        assert await process.stop() == process.exit_code == 0
        assert not alive(process.pid)


async def test_what_an_agent_still_has_to_say_does_not_keep_it(patient: None) -> None:
    async with start("flushes", 5 * MB) as process:
        assert await process.stop() == 0
        assert await process.read() == b""


async def test_sigterm_comes_next(impatient: None) -> None:
    async with start("no-eof") as process:
        assert await process.stop() == -signal.SIGTERM


async def test_an_agent_may_leave_in_order_at_sigterm(impatient: None) -> None:
    async with start("terminated") as process:
        assert await read_line(process) == b"ready\n"
        assert await process.stop() == 7


async def test_sigkill_comes_last(impatient: None) -> None:
    async with start("stubborn") as process:
        assert await read_line(process) == b"ready\n"
        assert await process.stop() == -signal.SIGKILL
        assert not alive(process.pid)


@pytest.mark.parametrize("kind", ["", "stubborn"])
async def test_what_left_the_agents_group_ends_too(kind: str) -> None:
    async with start("daemon", kind) as process:
        stray = int(await read_line(process))
        assert alive(stray) and os.getsid(stray) != process.pid
        assert await process.stop() == 0
        assert not alive(stray)


async def test_a_process_the_agent_started_does_not_keep_its_stdout_open() -> None:
    async with start("daemon", "leaves") as process:
        stray = int(await read_line(process))
        assert await process.read() == b""
        assert process.exit_code == 0
        until(lambda: not alive(stray))


# -- by whom it is ended


async def test_stopping_twice_is_stopping_once() -> None:
    codes: list[int] = []

    async def stop(process: Process) -> None:
        codes.append(await process.stop())

    async with start("echo") as process, anyio.create_task_group() as stoppers:
        for _ in range(3):
            stoppers.start_soon(stop, process)
    assert codes == [0, 0, 0]
    assert await process.stop() == 0


async def test_a_stopper_that_is_cancelled_finishes_first() -> None:
    async with start("no-eof") as process:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await process.stop()
        assert process.exit_code == -signal.SIGTERM and not alive(process.pid)


async def test_a_reader_that_waits_sees_the_end() -> None:
    async def read(process: Process) -> None:
        read_to_the_end.append(await process.read())

    read_to_the_end: list[bytes] = []
    async with start("echo") as process, anyio.create_task_group() as readers:
        readers.start_soon(read, process)
        while process._stdout._waiting is None:
            await anyio.lowlevel.checkpoint()
        await process.stop()
    assert read_to_the_end == [b""]


async def test_writing_after_the_end_is_an_error() -> None:
    async with start("echo") as process:
        await process.stop()
        with pytest.raises(AgentFault, match="exited with code 0"):
            await process.write(b"hello?\n")


async def test_a_cancelled_task_group_ends_its_agents() -> None:
    async with anyio.create_task_group() as tasks:
        process, stray = await _with_a_daemon(tasks)
        tasks.cancel_scope.cancel()
    assert not alive(process.pid) and not alive(stray)


async def test_an_exception_in_the_owner_ends_its_agents() -> None:
    numbers: list[int] = []
    with pytest.raises(ExceptionGroup) as raised:
        async with anyio.create_task_group() as tasks:
            process, stray = await _with_a_daemon(tasks)
            numbers = [process.pid, stray]
            raise ValueError("the owner's own")
    assert [type(error) for error in raised.value.exceptions] == [ValueError]
    assert len(numbers) == 2 and not any(map(alive, numbers))


async def test_a_cancelled_owner_ends_its_agent_and_not_its_own_group() -> None:
    async with anyio.create_task_group() as tasks:
        with anyio.CancelScope() as scope:
            process, stray = await _with_a_daemon(tasks)
            async with process:
                scope.cancel()
                await anyio.sleep_forever()
        assert not alive(process.pid) and not alive(stray)
        assert not tasks.cancel_scope.cancel_called


async def test_an_owner_cancelled_during_the_start_ends_the_agent() -> None:
    mark = uuid4().hex
    async with anyio.create_task_group() as tasks:
        with anyio.CancelScope() as scope:
            scope.cancel()
            await spawn([*child("echo"), mark], cwd=FAKES, env=dict(os.environ), tasks=tasks)
        assert scope.cancelled_caught
        assert not running(mark)


async def test_a_group_may_end_when_its_agent_has() -> None:
    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            process = await spawn(child("dies", 4), cwd=FAKES, env=dict(os.environ), tasks=tasks)
    assert process.exit_code == 4


async def _with_a_daemon(tasks: anyio.abc.TaskGroup) -> tuple[Process, int]:
    process = await spawn(child("daemon"), cwd=FAKES, env=dict(os.environ), tasks=tasks)
    return process, int(await read_line(process))


# -- whatever happens


async def test_an_agent_without_its_supervisor_is_ended() -> None:
    async with start("stubborn") as process:
        assert await read_line(process) == b"ready\n"
        os.kill(parent(process.pid), signal.SIGKILL)
        assert await process.wait() == -signal.SIGKILL
        until(lambda: not alive(process.pid))


async def test_the_error_of_a_failed_supervisor_has_its_stderr(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    broken = tmp_path / "supervisor.py"
    broken.write_text("raise SystemExit('the supervisor is broken')")
    monkeypatch.setattr(supervisor_client, "SUPERVISOR", broken)
    async with anyio.create_task_group() as tasks:
        with pytest.raises(AgentFault, match="its supervisor failed") as raised:
            await spawn(["true"], cwd=tmp_path, env={}, tasks=tasks)
    assert (raised.value.code, raised.value.extra["stderr"]) == ("AGENT_DIED", "the supervisor is broken")


async def test_a_supervisor_that_hangs_is_killed(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    hanging, mark = tmp_path / "supervisor.py", uuid4().hex
    hanging.write_text("import signal\nwhile True: signal.pause()")
    monkeypatch.setattr(supervisor_client, "SUPERVISOR", hanging)
    for limit in ("START_TIMEOUT_SECONDS", "STOP_GRACE_SECONDS", "TERM_GRACE_SECONDS", "REAP_TIMEOUT_SECONDS"):
        monkeypatch.setattr(process_module, limit, 0.05)
    async with anyio.create_task_group() as tasks:
        with pytest.raises(AgentFault, match="it did not report a start"):
            await spawn(["true", mark], cwd=tmp_path, env={}, tasks=tasks)
    until(lambda: not running(mark))


@pytest.fixture
def owners() -> Iterator[list[subprocess.Popen[str]]]:
    started: list[subprocess.Popen[str]] = []
    yield started
    for owner in started:
        owner.kill()
        owner.communicate(timeout=LIMIT)


@pytest.mark.parametrize("kind", ["", "stubborn"])
def test_nothing_outlives_a_gateway_that_is_killed(owners: list[subprocess.Popen[str]], kind: str) -> None:
    project = FAKES.parents[1]
    command = [sys.executable, "-m", "tests.fakes.process_owner", str(FAKES), "daemon", kind]
    owner = subprocess.Popen(command, stdout=subprocess.PIPE, text=True, cwd=project)
    owners.append(owner)
    assert owner.stdout is not None
    agent, stray = map(int, owner.stdout.readline().split())
    supervisor = parent(agent)
    assert all(map(alive, (agent, stray, supervisor)))
    owner.kill()
    until(lambda: not any(map(alive, (agent, stray, supervisor))))
