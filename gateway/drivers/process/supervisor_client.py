"""The gateway's side of a supervisor (`supervisor.py`): starts it, reads its reports, sends it orders.

In: a command and the three streams the agent gets. Out: the events `started`, `exited` and `gone` as they happen, and
the facts known by then. Never: the agent's bytes. When the gateway dies, the socket ends and the supervisor ends the
agent.
"""

from __future__ import annotations

import asyncio
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import orjson

from gateway.wire.lines import Lines

SUPERVISOR = Path(__file__).with_name("supervisor.py")
MAX_REPORT_BYTES = 4096
"""The longest report is the text of an error."""
REAP_INTERVAL_SECONDS = 0.002
"""Between two attempts to reap the supervisor: a process closes its files a moment before it can be reaped."""

INTERRUPT = b"I"
TERMINATE = b"T"
KILL = b"K"


@dataclass(frozen=True, slots=True)
class SupervisorOptions:
    """What the supervisor does besides starting the agent."""

    rlimits: tuple[tuple[int, int, int], ...] = ()
    """Resource, soft limit, hard limit."""
    max_processes: int | None = None
    """Counted by the supervisor."""
    cgroup: tuple[Path, Path] | None = None
    """The agent's, and the gateway's own."""
    sandbox_files: tuple[int, ...] | None = None
    """The command is a sandbox with a forwarder in it, which get these open files. None: it is the agent itself."""

    limit_names: frozenset[str] = frozenset()
    """`memory`, `processes`, `cpu_seconds`, `file_bytes`: those that are set, by whatever means."""

    def arguments(self) -> list[str]:
        arguments = [f"rlimit={number}:{soft}:{hard}" for number, soft, hard in self.rlimits]
        if self.max_processes is not None:
            arguments.append(f"processes={self.max_processes}")
        if self.cgroup is not None:
            arguments += [f"cgroup={self.cgroup[0]}", f"leave={self.cgroup[1]}"]
        if self.sandbox_files is not None:
            arguments.append(f"sandbox={','.join(map(str, self.sandbox_files))}")
        return arguments


NO_OPTIONS = SupervisorOptions()


class SupervisorClient:
    """One supervisor and its agent. Calls come from the event loop's thread."""

    def __init__(
        self,
        command: Sequence[str],
        cwd: Path,
        env: Mapping[str, str],
        streams: tuple[int, int, int],
        options: SupervisorOptions,
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines = Lines(MAX_REPORT_BYTES)
        self._socket, self._supervisor = _start(command, cwd, env, streams, options)
        self._loop.add_reader(self._socket, self._receive)
        self.pid: int | None = None
        self.exit_code: int | None = None
        """Negative: the signal that ended the agent."""
        self.limit: str | None = None
        """The limit that the agent has reached."""
        self.error: OSError | None = None
        """Why the command could not be started."""
        self.started = anyio.Event()
        """The agent runs, or `error` says why not."""
        self.exited = anyio.Event()
        self.gone = anyio.Event()
        """…and everything it had started, and the supervisor. Always set, after the other two."""

    @property
    def supervisor_pid(self) -> int:
        return self._supervisor.pid

    def send(self, order: bytes) -> None:
        with suppress(OSError):  # the supervisor has ended already
            self._socket.send(order)

    def kill_supervisor(self) -> None:
        self._supervisor.kill()

    def _receive(self) -> None:
        try:
            data = self._socket.recv(MAX_REPORT_BYTES)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        for line in self._lines.feed(data):
            if isinstance(line, bytes):
                self._read_report(orjson.loads(line))
        if not data:
            self._end()

    def _read_report(self, report: Any) -> None:
        match report:
            case {"pid": int(pid)}:
                self.pid = pid
                self.started.set()
            case {"error": str(text), "errno": int(number)}:
                self.error = OSError(number, text)
                self.started.set()
            case {"limit": str(name)}:
                self.limit = name
            case {"exit": int(code)}:
                self._exit(code)
            case {"signal": int(number)}:
                self._exit(-number)

    def _exit(self, code: int) -> None:
        self.exit_code = code
        self.exited.set()

    def _end(self) -> None:
        """The socket has ended: the supervisor has finished, or was killed. In the second case the agent's group is
        killed, which is all that can be reached without it."""
        self._loop.remove_reader(self._socket)
        self._socket.close()
        if self.pid is not None and self.exit_code is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            self._exit(-signal.SIGKILL)
        self._reap()

    def _reap(self) -> None:
        if self._supervisor.poll() is None:
            self._loop.call_later(REAP_INTERVAL_SECONDS, self._reap)
            return
        for event in (self.started, self.exited, self.gone):
            event.set()


def _start(
    command: Sequence[str],
    cwd: Path,
    env: Mapping[str, str],
    streams: tuple[int, int, int],
    options: SupervisorOptions,
) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    own_end, supervisor_end = socket.socketpair()
    with supervisor_end:
        stdin, stdout, stderr = streams
        try:
            supervisor = subprocess.Popen(
                # -I and -S: neither the agent's environment nor this installation changes or slows the start.
                [
                    sys.executable,
                    "-I",
                    "-S",
                    str(SUPERVISOR),
                    str(supervisor_end.fileno()),
                    *options.arguments(),
                    "--",
                    *command,
                ],
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                cwd=cwd,
                env=env,
                pass_fds=(supervisor_end.fileno(), *(options.sandbox_files or ())),
                start_new_session=True,
            )
        except BaseException:
            own_end.close()
            raise
    own_end.setblocking(False)
    return own_end, supervisor
