"""Talking to an agent's process: every byte, whole messages, bounded waits, errors that say why."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import anyio
import anyio.lowlevel
import pytest

import gateway.drivers.process.process as process_module
from gateway.drivers.process.pipes import STDERR_TAIL_BYTES
from gateway.drivers.process.process import Process, spawn
from gateway.errors import AgentFault
from gateway.wire.lines import Lines
from tests.drivers.process_watch import alive, child, parent
from tests.drivers.spawned import LOOP_NAMES, LOOPS, read_all, read_line, start

pytestmark = pytest.mark.anyio

MB = 1_000_000


@pytest.fixture(params=LOOPS, ids=LOOP_NAMES)
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture(autouse=True)
def impatience(monkeypatch: pytest.MonkeyPatch) -> None:
    """How long an agent may take to leave is another file's matter."""
    monkeypatch.setattr(process_module, "STOP_GRACE_SECONDS", 0.05)


async def test_what_is_written_is_read_and_answered() -> None:
    async with start("echo") as process:
        await process.write(b'{"hello": "otter"}\n')
        assert await read_line(process) == b'{"hello": "otter"}\n'
        assert process.exit_code is None


async def test_closing_stdin_is_the_end_of_it() -> None:
    async with start("echo") as process:
        await process.write(b"last\n")
        process.close_stdin()
        assert await read_all(process) == b"last\n"
        assert await process.wait() == 0


async def test_the_agent_sees_its_folder_and_its_environment_alone(tmp_path: Path) -> None:
    # LC_ALL, because an interpreter without any locale adds one to its own environment.
    env = {"LC_ALL": "C.UTF-8", "OTTER": "ü", "EMPTY": ""}
    async with anyio.create_task_group() as tasks:
        process = await spawn(child("environment"), cwd=tmp_path, env=env, tasks=tasks)
        assert await read_all(process) == "EMPTY=\nLC_ALL=C.UTF-8\nOTTER=ü\n".encode()
        (tmp_path / "otter.txt").touch()
        where = await spawn(["/bin/ls"], cwd=tmp_path, env=env, tasks=tasks)
        assert await read_all(where) == b"otter.txt\n"


async def test_messages_stay_whole_when_many_write() -> None:
    deliveries = b"abcdefghijklmnop"
    async with start("echo") as process, anyio.create_task_group() as writers:
        for delivery in deliveries:
            writers.start_soon(process.write, bytes([delivery]) * 300_000 + b"\n")
        lines: list[Any] = []
        splitter = Lines(MB)
        while len(lines) < len(deliveries):
            lines += splitter.feed(await process.read())
        assert sorted(lines) == [bytes([delivery]) * 300_000 for delivery in deliveries]


async def test_a_write_to_an_agent_that_does_not_read_ends_with_its_callers_limit() -> None:
    async with start("unread") as process:
        with pytest.raises(TimeoutError), anyio.fail_after(0.05):
            await process.write(b"x" * MB + b"\n")


async def test_a_cancelled_writer_tears_no_message() -> None:
    async with start("unread") as process:
        assert await read_line(process) == b"ready\n"
        with anyio.move_on_after(0.05):
            await process.write(b"begun" * MB + b"\n")
        with anyio.move_on_after(0.05):
            await process.write(b"never sent\n")
        os.kill(process.pid, signal.SIGUSR1)
        async with anyio.create_task_group() as beside:
            beside.start_soon(process.write, b"next\n")
            echoed = b""
            while not echoed.endswith(b"next\n"):
                echoed += await process.read()
        assert echoed == b"begun" * MB + b"\nnext\n"


async def test_a_line_of_50_megabytes_comes_whole() -> None:
    async with start("long-line", 50 * MB) as process:
        lines, found = Lines(64 * MB), []
        while data := await process.read():
            found += lines.feed(data)
        assert found == [b"y" * 50 * MB]


async def test_a_reader_that_is_cancelled_has_taken_nothing() -> None:
    async with start("echo") as process:
        with anyio.move_on_after(0.01):
            await process.read()
        await process.write(b"still there\n")
        with anyio.CancelScope() as scope:
            scope.cancel()
            await process.read()
        assert await read_line(process) == b"still there\n"


async def test_a_flood_of_stderr_blocks_nothing_and_its_end_is_kept() -> None:
    async with start("flood", 100 * MB) as process:
        await process.write(b"are you there?\n")
        assert await read_line(process) == b"are you there?\n"
        assert await read_line(process) == b"the flood is over\n"
        tail = process.stderr_tail()
        assert tail.endswith("the flood is over") and STDERR_TAIL_BYTES - 20 < len(tail) <= STDERR_TAIL_BYTES


async def test_the_error_of_a_dead_agent_has_the_reason() -> None:
    async with start("dies", 3, "otter:", "no", "key") as process:
        assert await process.read() == b""
        fault = process.died("it answered")
        assert fault.detail == "The agent exited with code 3 before it answered. Its last output: otter: no key"
        assert (fault.code, fault.extra) == ("AGENT_DIED", {"exitCode": 3, "stderr": "otter: no key"})


async def test_writing_to_a_dead_agent_raises_the_reason() -> None:
    async with start("dies", 1, "out", "of", "fish") as process:
        await process.wait()
        with pytest.raises(AgentFault) as raised:
            await process.write(b"hello?\n")
        assert raised.value.code == "AGENT_DIED"
        assert raised.value.extra["stderr"] == "out of fish"


async def test_a_waiting_writer_gets_the_reason_of_the_agents_death() -> None:
    async with start("unread") as process, anyio.create_task_group() as beside:
        beside.start_soon(_kill_once_a_writer_waits, process)
        with pytest.raises(AgentFault, match="The agent was ended by SIGKILL before it had read"):
            await process.write(b"x" * MB)


async def _kill_once_a_writer_waits(process: Process) -> None:
    while process._stdin._waiting is None:
        await anyio.lowlevel.checkpoint()
    os.kill(process.pid, signal.SIGKILL)


async def test_an_agent_that_closes_its_stdout_lives_on() -> None:
    async with start("mute") as process:
        assert await process.read() == b""
        assert process.exit_code is None and alive(process.pid)
        assert process.died().detail == "The agent closed its pipes before its work was done."


async def test_output_before_the_death_can_still_be_read() -> None:
    async with start("long-line", 60_000) as process:
        assert await process.wait() == 0
        while process._stdout.is_open:  # until the pipe itself is given back
            await anyio.lowlevel.checkpoint()
        assert await read_all(process) == b"y" * 60_000 + b"\n"


async def test_secrets_are_masked_in_stderr() -> None:
    args = "tried s3cr3t-key and s3cr3t-key-2 of otter-model"
    env = {"OTTER_API_KEY": "s3cr3t-key", "BEAVER_TOKEN": "s3cr3t-key-2", "MODEL": "otter-model"}
    async with start("dies", 1, args, **env) as process:
        await process.wait()
        assert process.stderr_tail() == "tried *** and *** of otter-model"
        assert "s3cr3t" not in str(process.died().problem())


async def test_a_secret_across_the_tails_edge_is_masked_too() -> None:
    secret = "s3cr3t" * 10
    async with start("dies", 1, secret + "x" * (STDERR_TAIL_BYTES - 30), API_KEY=secret) as process:
        await process.wait()
        assert "s3cr3t" not in process.stderr_tail()


@pytest.mark.parametrize("command", ["no-such-agent", "/no/such/agent", "/etc/passwd"])
async def test_a_command_that_cannot_be_run_is_named(tmp_path: Path, command: str) -> None:
    async with anyio.create_task_group() as tasks:
        with pytest.raises(AgentFault, match=command) as raised:
            await spawn([command, "--acp"], cwd=tmp_path, env=dict(os.environ), tasks=tasks)
    assert (raised.value.code, raised.value.extra) == ("AGENT_NOT_FOUND", {"command": command})


async def test_the_command_is_looked_for_on_the_agents_own_path(tmp_path: Path) -> None:
    (tmp_path / "otter").symlink_to("/bin/echo")
    async with anyio.create_task_group() as tasks:
        process = await spawn(["otter", "hi"], cwd=tmp_path, env={"PATH": str(tmp_path)}, tasks=tasks)
        assert await read_all(process) == b"hi\n"


@pytest.mark.parametrize(
    ("arguments", "folder", "why"),
    [([], "not-here", "No such file"), (["a\0b"], "", "null byte"), (["x" * 3 * MB], "", "Argument list too long")],
    ids=["folder", "null", "size"],
)
async def test_a_command_that_cannot_be_started_has_a_reason(
    tmp_path: Path, arguments: list[str], folder: str, why: str
) -> None:
    async with anyio.create_task_group() as tasks:
        with pytest.raises(AgentFault, match=why) as raised:
            await spawn(["/bin/echo", *arguments], cwd=tmp_path / folder, env={}, tasks=tasks)
    assert raised.value.code == "AGENT_DIED"


async def test_the_agent_is_out_of_reach_of_the_terminals_signals() -> None:
    async with start("echo") as process:
        assert os.getsid(process.pid) == os.getpgid(process.pid) == process.pid
        assert os.getsid(parent(process.pid)) != os.getsid(0)


async def test_no_file_stays_open(tmp_path: Path) -> None:
    def open_files() -> int:
        return len(list(Path("/proc/self/fd").iterdir()))

    async def begin_and_end() -> None:
        async with start("echo"), start("mute"), start("dies", 1):
            pass
        async with anyio.create_task_group() as tasks:
            await spawn(["true"], cwd=tmp_path, env=dict(os.environ), tasks=tasks)  # ends by itself
            for command, folder in (("no-such-agent", tmp_path), ("true", tmp_path / "not-here")):
                with pytest.raises(AgentFault):
                    await spawn([command], cwd=folder, env=dict(os.environ), tasks=tasks)

    await begin_and_end()  # what the loop itself opens at the first use is open now
    before = open_files()
    await begin_and_end()
    assert open_files() == before
