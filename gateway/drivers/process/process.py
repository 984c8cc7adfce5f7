"""One agent process: start it, read and write its pipes, end it.

In: a command, then bytes for its stdin. Out: the bytes of its stdout, the end of its stderr, its exit code; every
failure is an `AgentFault`. Nothing the agent started outlives it, and it does not outlive its owner: `stop`, a
cancelled task group, and the death of the gateway all end it (`supervisor.py`). Never: a shell, lines, messages.
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
from gateway.drivers.environment import secret_values
from gateway.drivers.process.pipes import Sink, Source, Tail
from gateway.drivers.process.resource_limits import find_limit
from gateway.drivers.process.supervisor_client import (
    INTERRUPT,
    KILL,
    NO_OPTIONS,
    TERMINATE,
    SupervisorClient,
    SupervisorOptions,
)
from gateway.errors import AgentFault

log = logging.getLogger(__name__)

START_TIMEOUT_SECONDS = 10.0  # until the command is executed: 25 ms usually, seconds on a very busy machine
EXIT_CODE_WAIT_SECONDS = 0.5  # after a pipe's end: the exit code follows within milliseconds if the agent exited
STOP_GRACE_SECONDS = 2.0  # after stdin closes: agents flush their transcript here
TERM_GRACE_SECONDS = 2.0  # after SIGTERM to the group: tools the agent started end too
REAP_TIMEOUT_SECONDS = 3.0  # after the exit: the supervisor ends what is left, in 2.5 s at most

NOT_FOUND_ERRNOS = frozenset({errno.ENOENT, errno.EACCES, errno.ENOTDIR, errno.ENOEXEC})
MAX_STDERR_LINE_CHARS = 300  # of stderr's last line in an error's message; its `extra` carries more


async def spawn(
    command: Sequence[str],
    *,
    cwd: Path,
    env: Mapping[str, str],
    tasks: Tasks,
    options: SupervisorOptions = NO_OPTIONS,
    port_socket: Path | None = None,
) -> Process:
    """Returns when the command runs. `env` is its whole environment; secrets in it are masked in what is shown of
    stderr. When `tasks` is cancelled, the process is stopped in order before the task group ends. `port_socket`: the
    Unix socket that leads to the port on which the process listens, where that cannot be reached otherwise."""
    process: Process = await tasks.start(_run, command, cwd, env, options, port_socket)
    return process


class Process:
    """One task may read at a time; any number may write, wait and stop. Made by `spawn`."""

    def __init__(
        self,
        supervisor: SupervisorClient,
        stdin: Sink,
        stdout: Source,
        stderr: Tail,
        limits: frozenset[str] = frozenset(),
        port_socket: Path | None = None,
    ) -> None:
        """`limits`: the names of those that it has."""
        self._supervisor = supervisor
        self._limits = limits
        self.port_socket = port_socket
        """The Unix socket that leads to the port on which it listens; None: the port is on this machine's loopback."""
        self._stdin = stdin
        self._stdout = stdout
        self._stderr = stderr
        self._stopping = anyio.Lock()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *exc: type[BaseException] | BaseException | TracebackType | None) -> None:
        await self.stop()

    @property
    def pid(self) -> int:
        """The agent's process id, which is also its process group's."""
        return self._supervisor.pid or 0

    @property
    def supervisor_pid(self) -> int:
        """The parent of the agent, from which everything descends that the agent started."""
        return self._supervisor.supervisor_pid

    @property
    def exit_code(self) -> int | None:
        """None while it runs; negative: the number of the signal that ended it."""
        return self._supervisor.exit_code

    @property
    def limit(self) -> str | None:
        """The limit that it has reached, where one ended it: `memory`, `processes`, `cpu_seconds`, `file_bytes`."""
        return self._supervisor.limit or find_limit(self.exit_code, self._limits, self._stderr.text())

    @property
    def limit_message(self) -> str | None:
        """For users: which limit ended it, and what to do. None: no limit did."""
        if self.limit is None:
            return None
        return f"It has reached its limit `{self.limit}`, which the operator can raise: `[limits]` in the agent's file."

    # -- pipes

    async def read(self) -> bytes:
        """The bytes that stdout has now, at least one. b"" at its end: the agent closed it, or `stop` was called. By
        then the exit code is known, unless the agent goes on without its stdout."""
        data = await self._stdout.read()
        if not data:
            await self._wait_for_exit_code()
        return data

    async def write(self, data: bytes) -> None:
        """Returns when the pipe has all of it. An agent that does not read makes its writers wait, so callers set a
        limit (`anyio.fail_after`). Messages stay whole, whatever other tasks write or give up."""
        try:
            await self._stdin.write(data)
        except BrokenPipeError as exc:
            await self._wait_for_exit_code()
            raise self.died("it had read what it was sent") from exc

    def close_stdin(self) -> None:
        self._stdin.close()

    def stderr_tail(self) -> str:
        return self._stderr.text()

    # -- ending

    async def wait(self) -> int:
        """The exit code, once there is one."""
        await self._supervisor.exited.wait()
        return self._code()

    async def stop(self) -> int:
        """End the process and all it started: by closing stdin, by SIGTERM, by SIGKILL. Bounded, and shielded from
        cancellation; a second caller waits for the first. Further output is dropped. The exit code."""
        with CancelScope(shield=True):
            async with self._stopping:
                self._stdout.discard()
                if not self._supervisor.gone.is_set():
                    await self._stop()
                self._finish()
        return self._code()

    def interrupt(self) -> None:
        """SIGINT to its group, as Ctrl-C in a terminal. The agent may ignore it."""
        self._supervisor.send(INTERRUPT)

    def terminate(self) -> None:
        """SIGTERM to its group, once, without waiting."""
        self._supervisor.send(TERMINATE)

    def kill(self) -> None:
        """SIGKILL to all of it, at once. What stdout holds can still be read to its end."""
        self._supervisor.send(KILL)

    def died(self, before: str = "its work was done") -> AgentFault:
        """The error for a caller that waits for an agent that is gone: "The agent exited with code 3 before …"."""
        tail = self.stderr_tail()
        last_line = f" Its last output: {tail.splitlines()[-1][:MAX_STDERR_LINE_CHARS]}" if tail else ""
        cause = "" if self.limit_message is None else f" {self.limit_message}"
        return AgentFault(
            f"The agent {_describe_exit(self.exit_code)} before {before}.{cause}{last_line}",
            code="AGENT_DIED",
            exitCode=self.exit_code,
            **({} if self.limit is None else {"limit": self.limit}),
            stderr=tail,
        )

    async def _stop(self) -> None:
        supervisor = self._supervisor
        self._stdin.close()
        for grace, order in ((STOP_GRACE_SECONDS, TERMINATE), (TERM_GRACE_SECONDS, KILL)):
            with move_on_after(grace):
                await supervisor.exited.wait()
                break
            supervisor.send(order)
        with move_on_after(REAP_TIMEOUT_SECONDS):
            await supervisor.gone.wait()
        if not supervisor.gone.is_set():
            log.warning("processes of the agent %s do not end, not even by SIGKILL: they are abandoned", self.pid)
            supervisor.kill_supervisor()
            with move_on_after(REAP_TIMEOUT_SECONDS):
                await supervisor.gone.wait()

    def _finish(self) -> None:
        """The other ends of the pipes are closed. What stdout still holds can be read."""
        self._stdin.close()
        self._stdout.finish()
        self._stderr.finish()

    async def _wait_for_exit_code(self) -> None:
        with move_on_after(EXIT_CODE_WAIT_SECONDS):
            await self._supervisor.exited.wait()

    def _code(self) -> int:
        code = self.exit_code
        return -signal.SIGKILL if code is None else code


async def _run(
    command: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    options: SupervisorOptions,
    port_socket: Path | None,
    *,
    task_status: TaskStatus[Process],
) -> None:
    """The process's whole life, in a task of its own: the end of the task is the end of the process."""
    process = _open(command, cwd, env, options, port_socket)
    supervisor = process._supervisor
    try:
        with move_on_after(START_TIMEOUT_SECONDS):
            await supervisor.started.wait()
        if supervisor.pid is None:
            raise _start_error(command[0], process)
        task_status.started(process)
        await supervisor.gone.wait()
    except BaseException:
        await process.stop()
        raise
    process._finish()


def _open(
    command: Sequence[str], cwd: Path, env: Mapping[str, str], options: SupervisorOptions, port_socket: Path | None
) -> Process:
    with ExitStack() as agent_ends, ExitStack() as gateway_ends:
        try:
            stdin, to_stdin = _pipe(agent_ends, gateway_ends)
            from_stdout, stdout = _pipe(gateway_ends, agent_ends)
            from_stderr, stderr = _pipe(gateway_ends, agent_ends)
            supervisor = SupervisorClient(command, cwd, env, (stdin, stdout, stderr), options)
        except (OSError, ValueError) as exc:  # ValueError: a NUL in an argument or a variable
            raise AgentFault(f"{command[0]!r} cannot be started in {cwd}: {exc}", code="AGENT_DIED") from exc
        gateway_ends.pop_all()
    tail = Tail(from_stderr, secret_values(env))
    return Process(supervisor, Sink(to_stdin), Source(from_stdout), tail, options.limit_names, port_socket)


def _pipe(reader: ExitStack, writer: ExitStack) -> tuple[int, int]:
    readable, writable = os.pipe()
    reader.callback(os.close, readable)
    writer.callback(os.close, writable)
    return readable, writable


def _start_error(name: str, process: Process) -> AgentFault:
    error = process._supervisor.error
    if error is not None and error.errno in NOT_FOUND_ERRNOS:
        return AgentFault(f"{name!r} cannot be run: {error.strerror}", code="AGENT_NOT_FOUND", command=name)
    why = error.strerror if error is not None else f"it did not report a start within {START_TIMEOUT_SECONDS:g} seconds"
    if process._supervisor.gone.is_set() and error is None:
        why = "its supervisor failed"
    return AgentFault(
        f"{name!r} cannot be started: {why}", code="AGENT_DIED", command=name, stderr=process.stderr_tail()
    )


def _describe_exit(exit_code: int | None) -> str:
    if exit_code is None:
        return "closed its pipes"
    if exit_code >= 0:
        return f"exited with code {exit_code}"
    try:
        return f"was ended by {signal.Signals(-exit_code).name}"
    except ValueError:  # a real-time signal
        return f"was ended by signal {-exit_code}"
