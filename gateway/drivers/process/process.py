"""An agent's process: started, talked to, ended.

In: a command, then bytes for its stdin. Out: the bytes of its stdout, the last of its stderr, its exit code; whatever
goes wrong is an `AgentFault`. Nothing it started outlives it, and it does not outlive its owner: `stop`, a cancelled
task group, and the death of this whole process all end it (`supervisor.py`). Never: a shell, lines, messages.
"""

from __future__ import annotations

import errno
import logging
import os
import signal
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Self

import anyio
from anyio import CancelScope, move_on_after
from anyio.abc import TaskStatus

from gateway.background import Tasks
from gateway.drivers.environment import secrets
from gateway.drivers.process.pipes import Sink, Source, Tail
from gateway.drivers.process.supervisor_client import INTERRUPT, KILL, TERMINATE, SupervisorClient
from gateway.errors import AgentFault

log = logging.getLogger(__name__)

START_LIMIT = 10.0  # until the command is executed: 25 ms usually, seconds where the machine is swamped
LAST_WORDS = 0.5  # after a pipe's end: the exit code follows within milliseconds if the agent died of it
STOP_GRACE = 2.0  # after stdin closes: agents flush their transcript here
TERM_GRACE = 2.0  # after SIGTERM to the group: tools the agent started die too
REAP_LIMIT = 3.0  # after its exit: the warden ends what was left, in 2.5 s at most; past this we let go of the rest

NOT_FOUND = frozenset({errno.ENOENT, errno.EACCES, errno.ENOTDIR, errno.ENOEXEC})
SHOWN = 300  # of stderr's last line, in an error's sentence; `extra` carries more


async def spawn(command: Sequence[str], *, cwd: Path, env: Mapping[str, str], tasks: Tasks) -> Process:
    """Returns when the command runs. `env` is all it sees; its secrets are masked in what is shown of stderr.
    When `tasks` is cancelled the process is stopped in order before the group ends."""
    process: Process = await tasks.start(_live, command, cwd, env)
    return process


class Process:
    """One task may read at a time; any number may write, wait and stop. Made by `spawn`."""

    def __init__(self, control: SupervisorClient, stdin: Sink, stdout: Source, stderr: Tail) -> None:
        self._control = control
        self._stdin, self._stdout, self._stderr = stdin, stdout, stderr
        self._stopping = anyio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self.stop()

    @property
    def pid(self) -> int:
        """The agent's own, which is also its group's."""
        return self._control.pid or 0

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative: the signal that ended it."""
        return self._control.exit_code

    # -- talking

    async def read(self) -> bytes:
        """What stdout has now, at least a byte. b"" at its end: the agent closed it, or somebody called `stop`.
        By then the exit code is known, unless the agent lives on without its stdout."""
        data = await self._stdout.read()
        if not data:
            await self._last_words()
        return data

    async def write(self, data: bytes) -> None:
        """Returns when the pipe has it all, so an agent that does not read makes its writers wait: give it a limit
        (`anyio.fail_after`). Messages stay whole, whoever writes beside and whoever gives up."""
        try:
            await self._stdin.write(data)
        except BrokenPipeError as exc:
            await self._last_words()
            raise self.died("it had read what it was sent") from exc

    def close_stdin(self) -> None:
        self._stdin.close()

    def stderr_tail(self) -> str:
        return self._stderr.text()

    # -- ending

    async def wait(self) -> int:
        """The exit code, once there is one."""
        await self._control.exited.wait()
        return self._code()

    async def stop(self) -> int:
        """End it, and all it started: by words, by SIGTERM, by SIGKILL. Bounded, and not to be cancelled; a second
        caller waits for the first. What the agent still says is thrown away. The exit code."""
        with CancelScope(shield=True):
            async with self._stopping:
                self._stdout.discard()
                if not self._control.gone.is_set():
                    await self._stop()
                self._finish()
        return self._code()

    def interrupt(self) -> None:
        """SIGINT to its group, as Ctrl-C in a terminal; what it does about that is its own affair."""
        self._control.send(INTERRUPT)

    def terminate(self) -> None:
        """SIGTERM to its group, once, without waiting."""
        self._control.send(TERMINATE)

    def kill(self) -> None:
        """SIGKILL to all of it, without a word; what stdout holds can still be read to its end."""
        self._control.send(KILL)

    def died(self, before: str = "its work was done") -> AgentFault:
        """The error for whoever waits for an agent that is gone: "The agent exited with code 3 before …"."""
        tail = self.stderr_tail()
        said = f" Its last words: {tail.splitlines()[-1][:SHOWN]}" if tail else ""
        return AgentFault(
            f"The agent {_how(self.exit_code)} before {before}.{said}",
            code="AGENT_DIED",
            exitCode=self.exit_code,
            stderr=tail,
        )

    async def _stop(self) -> None:
        control = self._control
        self._stdin.close()
        for grace, order in ((STOP_GRACE, TERMINATE), (TERM_GRACE, KILL)):
            with move_on_after(grace):
                await control.exited.wait()
                break
            control.send(order)
        with move_on_after(REAP_LIMIT):
            await control.gone.wait()
        if not control.gone.is_set():
            log.warning("processes of the agent %s do not end, not even by SIGKILL: they are let go", self.pid)
            control.kill_warden()
            with move_on_after(REAP_LIMIT):
                await control.gone.wait()

    def _finish(self) -> None:
        """Nobody is at the other ends any more. What stdout still holds can be read."""
        self._stdin.close()
        self._stdout.finish()
        self._stderr.finish()

    async def _last_words(self) -> None:
        with move_on_after(LAST_WORDS):
            await self._control.exited.wait()

    def _code(self) -> int:
        code = self.exit_code
        return -signal.SIGKILL if code is None else code


async def _live(command: Sequence[str], cwd: Path, env: Mapping[str, str], *, task_status: TaskStatus[Process]) -> None:
    """The process's whole life, in a task of its own: whatever ends the task ends the process."""
    process = _open(command, cwd, env)
    control = process._control
    try:
        with move_on_after(START_LIMIT):
            await control.started.wait()
        if control.pid is None:
            raise _not_started(command[0], process)
        task_status.started(process)
        await control.gone.wait()
    except BaseException:
        await process.stop()
        raise
    process._finish()


def _open(command: Sequence[str], cwd: Path, env: Mapping[str, str]) -> Process:
    with ExitStack() as theirs, ExitStack() as ours:
        try:
            stdin, to_stdin = _pipe(theirs, ours)
            from_stdout, stdout = _pipe(ours, theirs)
            from_stderr, stderr = _pipe(ours, theirs)
            control = SupervisorClient(command, cwd, env, (stdin, stdout, stderr))
        except (OSError, ValueError) as exc:  # ValueError: a NUL in an argument or a variable
            raise AgentFault(f"{command[0]!r} cannot be started in {cwd}: {exc}", code="AGENT_DIED") from exc
        ours.pop_all()
    return Process(control, Sink(to_stdin), Source(from_stdout), Tail(from_stderr, secrets(env)))


def _pipe(reader: ExitStack, writer: ExitStack) -> tuple[int, int]:
    readable, writable = os.pipe()
    reader.callback(os.close, readable)
    writer.callback(os.close, writable)
    return readable, writable


def _not_started(name: str, process: Process) -> AgentFault:
    error = process._control.error
    if error is not None and error.errno in NOT_FOUND:
        return AgentFault(f"{name!r} cannot be run: {error.strerror}", code="AGENT_NOT_FOUND", command=name)
    why = error.strerror if error is not None else f"nothing was heard of it in {START_LIMIT:g} seconds"
    if process._control.gone.is_set() and error is None:
        why = "its warden failed"
    return AgentFault(
        f"{name!r} cannot be started: {why}", code="AGENT_DIED", command=name, stderr=process.stderr_tail()
    )


def _how(exit_code: int | None) -> str:
    if exit_code is None:
        return "closed its pipes"
    if exit_code >= 0:
        return f"exited with code {exit_code}"
    try:
        return f"was ended by {signal.Signals(-exit_code).name}"
    except ValueError:  # a real-time signal
        return f"was ended by signal {-exit_code}"
