"""The gateway's side of a warden (`supervisor.py`): starts it, hears what it reports, tells it what to do.

In: a command and the three streams the agent gets. Out: events as they happen (`started`, `exited`, `gone`) and what is
known by then. Never: the agent's bytes. When this process dies the socket ends with it, and the warden ends the agent.
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
from pathlib import Path
from typing import Any

import anyio
import orjson

from gateway.wire.lines import Lines

WARDEN = Path(__file__).with_name("supervisor.py")
REPORT_LIMIT = 4096
"""The longest report is an error's text."""
REAP_STEP = 0.002
"""A process closes its files a moment before it can be reaped; so long until the next look."""

INTERRUPT, TERMINATE, KILL = b"I", b"T", b"K"


class SupervisorClient:
    """One warden and its agent. Calls come from the event loop's thread."""

    def __init__(
        self, command: Sequence[str], cwd: Path, env: Mapping[str, str], streams: tuple[int, int, int]
    ) -> None:
        self._loop = asyncio.get_running_loop()
        self._lines = Lines(REPORT_LIMIT)
        self._socket, self._supervisor = _start(command, cwd, env, streams)
        self._loop.add_reader(self._socket, self._hear)
        self.pid: int | None = None
        self.exit_code: int | None = None
        """Negative: the signal that ended the agent."""
        self.error: OSError | None = None
        """Why the command could not be started."""
        self.started = anyio.Event()
        """The agent runs, or `error` says why not."""
        self.exited = anyio.Event()
        self.gone = anyio.Event()
        """…and everything it had started, and its warden. Comes after the others, whatever happens."""

    def send(self, order: bytes) -> None:
        with suppress(OSError):  # the warden is at its end already
            self._socket.send(order)

    def kill_warden(self) -> None:
        self._supervisor.kill()

    def _hear(self) -> None:
        try:
            data = self._socket.recv(REPORT_LIMIT)
        except BlockingIOError:
            return
        except OSError:
            data = b""
        for line in self._lines.feed(data):
            if isinstance(line, bytes):
                self._told(orjson.loads(line))
        if not data:
            self._ended()

    def _told(self, report: Any) -> None:
        match report:
            case {"pid": int(pid)}:
                self.pid = pid
                self.started.set()
            case {"error": str(text), "errno": int(number)}:
                self.error = OSError(number, text)
                self.started.set()
            case {"exit": int(code)}:
                self._exit(code)
            case {"signal": int(number)}:
                self._exit(-number)

    def _exit(self, code: int) -> None:
        self.exit_code = code
        self.exited.set()

    def _ended(self) -> None:
        """The socket's end: the warden is through, or was killed itself. Then the agent's group is all we can reach."""
        self._loop.remove_reader(self._socket)
        self._socket.close()
        if self.pid is not None and self.exit_code is None:
            with suppress(ProcessLookupError, PermissionError):
                os.killpg(self.pid, signal.SIGKILL)
            self._exit(-signal.SIGKILL)
        self._reap()

    def _reap(self) -> None:
        if self._supervisor.poll() is None:
            self._loop.call_later(REAP_STEP, self._reap)
            return
        for event in (self.started, self.exited, self.gone):
            event.set()


def _start(
    command: Sequence[str], cwd: Path, env: Mapping[str, str], streams: tuple[int, int, int]
) -> tuple[socket.socket, subprocess.Popen[bytes]]:
    ours, theirs = socket.socketpair()
    with theirs:
        stdin, stdout, stderr = streams
        try:
            supervisor = subprocess.Popen(
                # -I and -S: nothing from the agent's environment or this installation changes or slows its start.
                [sys.executable, "-I", "-S", str(WARDEN), str(theirs.fileno()), "--", *command],
                stdin=stdin,
                stdout=stdout,
                stderr=stderr,
                cwd=cwd,
                env=env,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        except BaseException:
            ours.close()
            raise
    ours.setblocking(False)
    return ours, supervisor
