"""Commands that an agent runs through the gateway, for `terminal/*`. Each is a process, gone when released."""

from __future__ import annotations

import signal
from codecs import getincrementaldecoder
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from uuid import uuid4

import anyio

from gateway.background import Tasks
from gateway.drivers.process.process import Process, spawn

OUTPUT_LIMIT = 1024 * 1024
"""Kept of a terminal that asks for no limit of its own, and the most one may ask for."""
PROGRAM = ("/bin/sh", "-c", 'exec "$0" "$@" 2>&1')
LINE = ("/bin/sh", "-c", 'exec 2>&1; eval "$0"')
"""A terminal shows both outputs as one. The command is data to the shell; only one without arguments, which may be a
whole line, is read by it."""
TERMINALS = 64
"""Of one session at once."""

Shown = Callable[[str, str], bool]
"""(terminal, new output) → was it taken? What was not is offered again, with what came meanwhile."""
Ended = Callable[[str, str, int], None]
"""(terminal, what was not shown yet, exit code)"""


class NoSuchTerminal(Exception):
    pass


class Terminal:
    """Output is kept from its end on, up to the limit, cut at a character."""

    def __init__(self, name: str, process: Process, limit: int, shown: Shown) -> None:
        self._name, self._process, self._limit, self._shown = name, process, limit, shown
        self._output = b""
        self._decoder = getincrementaldecoder("utf-8")("replace")
        self._unseen = ""
        self.truncated = False
        self.done = anyio.Event()

    async def follow(self, ended: Ended) -> None:
        while data := await self._process.read():
            self._output += data
            if len(self._output) > self._limit:
                self._output, self.truncated = self._output[-self._limit or len(self._output) :], True
            self._show(self._decoder.decode(data))
        code = await self._process.wait()
        self.done.set()
        ended(self._name, self._unseen + self._decoder.decode(b"", final=True), code)

    def _show(self, words: str) -> None:
        """Nobody is made to wait for whoever watches: of what cannot be shown yet the end is kept."""
        self._unseen = (self._unseen + words)[-OUTPUT_LIMIT:]
        if self._unseen and self._shown(self._name, self._unseen):
            self._unseen = ""

    @property
    def output(self) -> str:
        kept = self._output
        while self.truncated and kept and kept[0] & 0xC0 == 0x80:
            kept = kept[1:]  # the rest of a character whose beginning is gone
        return kept.decode("utf-8", "replace")

    @property
    def exit_status(self) -> dict[str, object] | None:
        if not self.done.is_set() or (code := self._process.exit_code) is None:
            return None
        return exit_status(code)

    async def kill(self) -> None:
        """The output so far stays."""
        self._process.kill()
        await self.done.wait()

    async def aclose(self) -> None:
        self._process.kill()
        await self._process.stop()


class Terminals:
    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks
        self._open: dict[str, Terminal] = {}
        self._closed = False

    async def create(
        self,
        command: str,
        args: Sequence[str],
        *,
        cwd: Path,
        env: Mapping[str, str],
        limit: int | None,
        shown: Shown,
        ended: Ended,
    ) -> str:
        """The new terminal's id. A command without arguments may be a whole line, so a shell reads it."""
        if len(self._open) >= TERMINALS:
            raise NoSuchTerminal(f"{TERMINALS} terminals are open; release one first")
        line = [*PROGRAM, command, *args] if args else [*LINE, command]
        terminal_id = f"term-{uuid4().hex[:8]}"
        process = await spawn(line, cwd=cwd, env=env, tasks=self._tasks)
        if self._closed:
            await process.stop()
            raise NoSuchTerminal("the session was closed meanwhile")
        kept = OUTPUT_LIMIT if limit is None else max(0, min(limit, OUTPUT_LIMIT))
        terminal = Terminal(terminal_id, process, kept, shown)
        process.close_stdin()
        self._open[terminal_id] = terminal
        self._tasks.start_soon(terminal.follow, ended)
        return terminal_id

    def __getitem__(self, terminal_id: str) -> Terminal:
        try:
            return self._open[terminal_id]
        except KeyError:
            raise NoSuchTerminal(f"there is no terminal {terminal_id!r}") from None

    async def release(self, terminal_id: str) -> None:
        terminal = self[terminal_id]
        del self._open[terminal_id]
        await terminal.aclose()

    async def aclose(self) -> None:
        self._closed = True
        while self._open:  # the agent may release some meanwhile
            _, terminal = self._open.popitem()
            await terminal.aclose()


def exit_status(code: int) -> dict[str, object]:
    if code >= 0:
        return {"exitCode": code, "signal": None}
    try:
        return {"exitCode": None, "signal": signal.Signals(-code).name}
    except ValueError:  # a real-time signal
        return {"exitCode": None, "signal": str(-code)}
