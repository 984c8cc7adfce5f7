"""Which commands a cancelled turn ends: those that were started since no call was open."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from gateway.drivers.acp.commands import TurnCommands
from gateway.drivers.base import Opening
from gateway.drivers.process.leftovers import current_ticks
from tests.drivers.process_watch import until

pytestmark = pytest.mark.anyio
CONNECTION: Any = SimpleNamespace(supervisor_pid=os.getpid())


class Calls:
    has_open_calls = False


@contextmanager
def sleeping() -> Iterator[subprocess.Popen[bytes]]:
    with subprocess.Popen(["sleep", "600"]) as process:
        yield process
        process.kill()


def let_ticks_pass() -> None:
    """A process's start is known in ticks."""
    now = current_ticks()
    until(lambda: current_ticks() > now + 1)


async def end_turn(commands: TurnCommands) -> None:
    over = anyio.Event()
    over.set()
    commands.end(over, CONNECTION, ())


async def test_a_command_that_ran_before_its_call_was_read_is_ended(tmp_path: Path) -> None:
    """A busy gateway reads the call when the agent has started the command already."""
    calls = Calls()
    async with anyio.create_task_group() as tasks:
        commands = TurnCommands(calls, Opening("t", cwd=tmp_path), tasks, is_enabled=True)
        commands.note_calls()
        with sleeping() as process:
            let_ticks_pass()
            calls.has_open_calls = True
            commands.note_calls()
            await end_turn(commands)
            assert await anyio.to_thread.run_sync(process.wait, 10) != 0


async def test_what_was_started_before_the_last_call_ended_goes_on(tmp_path: Path) -> None:
    calls = Calls()
    with sleeping() as process:
        let_ticks_pass()
        async with anyio.create_task_group() as tasks:
            commands = TurnCommands(calls, Opening("t", cwd=tmp_path), tasks, is_enabled=True)
            commands.note_calls()
            calls.has_open_calls = True
            commands.note_calls()
            await end_turn(commands)
        assert process.poll() is None
