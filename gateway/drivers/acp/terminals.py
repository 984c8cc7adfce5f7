"""Commands that an agent runs through the gateway, for `terminal/*`. Each is a process, ended when it is released.

https://agentclientprotocol.com/protocol/v1/terminals
"""

from __future__ import annotations

import signal
from codecs import getincrementaldecoder
from collections.abc import Awaitable, Callable, Mapping, Sequence
from pathlib import Path
from uuid import uuid4

import anyio

from gateway.background import Tasks
from gateway.drivers.process import Process

MAX_OUTPUT_BYTES = 1024 * 1024
"""Kept of a terminal's output; the agent may set a lower limit."""
RUN_PROGRAM = ("/bin/sh", "-c", 'exec "$0" "$@" 2>&1')
RUN_LINE = ("/bin/sh", "-c", 'exec 2>&1; eval "$0"')
"""A terminal shows stdout and stderr as one. The command is data to the shell; only a command without arguments, which
may be a whole command line, is evaluated by it."""
MAX_TERMINALS = 64
"""Of one session at once."""

OnOutput = Callable[[str, str], bool]
"""(terminal id, new output) → taken. Output that is not taken is passed again, with what came meanwhile."""
OnExit = Callable[[str, str, int], None]
"""(terminal id, output that was not taken yet, exit code)"""


class TerminalNotFound(Exception):
    pass


class Terminal:
    """The end of its output is kept, up to the limit, beginning with a whole character."""

    def __init__(self, terminal_id: str, process: Process, limit: int, on_output: OnOutput, turn: object) -> None:
        self._id = terminal_id
        self.turn = turn
        """The turn that it was created in."""
        self._process = process
        self._limit = limit
        self._on_output = on_output
        self._output = b""
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._pending = ""
        self.is_truncated = False
        self.done = anyio.Event()

    async def read_output(self, on_exit: OnExit) -> None:
        while data := await self._process.read():
            self._output += data
            if len(self._output) > self._limit:
                self._output = self._output[-self._limit or len(self._output) :]
                self.is_truncated = True
            self._show(self._decoder.decode(data))
        code = await self._process.wait()
        self.done.set()
        on_exit(self._id, self._pending + self._decoder.decode(b"", final=True), code)

    def _show(self, text: str) -> None:
        """The command does not wait for the reader: of output that is not taken yet the end is kept."""
        self._pending = (self._pending + text)[-MAX_OUTPUT_BYTES:]
        if self._pending and self._on_output(self._id, self._pending):
            self._pending = ""

    @property
    def output(self) -> str:
        output = self._output
        while self.is_truncated and output and output[0] & 0xC0 == 0x80:
            output = output[1:]  # the rest of a character whose beginning was cut off
        return output.decode("utf-8", "replace")

    @property
    def exit_status(self) -> dict[str, object] | None:
        if not self.done.is_set() or (code := self._process.exit_code) is None:
            return None
        return to_exit_status(code)

    async def kill(self) -> None:
        """The output so far can still be read."""
        self._process.kill()
        await self.done.wait()

    async def aclose(self) -> None:
        self._process.kill()
        await self._process.stop()


StartCommand = Callable[[Sequence[str], Path, Mapping[str, str]], Awaitable[Process]]
"""(command, directory, environment) → its process, confined as the session's agent is."""


class Terminals:
    def __init__(self, tasks: Tasks, start: StartCommand) -> None:
        self._tasks = tasks
        self._start = start
        self._open: dict[str, Terminal] = {}
        self._is_closed = False

    async def create(
        self,
        turn: object,
        command: str,
        args: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        limit: int | None,
        on_output: OnOutput,
        on_exit: OnExit,
    ) -> str:
        """The new terminal's id. `turn`: the turn under way. `limit`: bytes of output to keep. Raises
        `TerminalNotFound`, `AgentFault`."""
        if len(self._open) >= MAX_TERMINALS:
            raise TerminalNotFound(f"{MAX_TERMINALS} terminals are open; release one first")
        line = [*RUN_PROGRAM, command, *args] if args else [*RUN_LINE, command]
        terminal_id = f"term-{uuid4().hex[:8]}"
        process = await self._start(line, cwd, env)
        if self._is_closed:
            await process.stop()
            raise TerminalNotFound("the session was closed meanwhile")
        output_limit = MAX_OUTPUT_BYTES if limit is None else max(0, min(limit, MAX_OUTPUT_BYTES))
        terminal = Terminal(terminal_id, process, output_limit, on_output, turn)
        process.close_stdin()
        self._open[terminal_id] = terminal
        self._tasks.start_soon(terminal.read_output, on_exit)
        return terminal_id

    def __getitem__(self, terminal_id: str) -> Terminal:
        try:
            return self._open[terminal_id]
        except KeyError:
            raise TerminalNotFound(f"there is no terminal {terminal_id!r}") from None

    async def release(self, terminal_id: str) -> None:
        terminal = self[terminal_id]
        del self._open[terminal_id]
        await terminal.aclose()

    async def kill_all(self, turn: object) -> None:
        """Kill the commands that were started in this turn. Their output can still be read."""
        for terminal in [each for each in self._open.values() if each.turn is turn and not each.done.is_set()]:
            await terminal.kill()

    async def aclose(self) -> None:
        self._is_closed = True
        while self._open:  # the agent may release terminals meanwhile
            _, terminal = self._open.popitem()
            await terminal.aclose()


def to_exit_status(code: int) -> dict[str, object]:
    if code >= 0:
        return {"exitCode": code, "signal": None}
    try:
        return {"exitCode": None, "signal": signal.Signals(-code).name}
    except ValueError:  # a real-time signal
        return {"exitCode": None, "signal": str(-code)}
