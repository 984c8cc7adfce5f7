"""Commands that an agent started for a turn and left running when the turn was cancelled (Linux).

In: the supervisor of the agent's process, and the moment since when a tool call had no result. Out: the commands that
were started since then are ended: first as by Ctrl-C where they have a terminal, by SIGTERM where they have none, then
by SIGKILL. Never: a process from before that moment, an MCP server of the session, a daemon, an idle shell of a
terminal. Blocks while it reads `/proc`; to be called in a thread.

A daemon is a session leader without a terminal whose own parent is gone: the server of a terminal multiplexer. A shell
that leads a terminal is idle when it is in the foreground and has no children: an agent keeps it for later commands.
"""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

TICKS_PER_SECOND = os.sysconf("SC_CLK_TCK") if hasattr(os, "sysconf") else 100
GRACE_SECONDS = 1.0
"""After Ctrl-C or SIGTERM, before SIGKILL."""
POLL_SECONDS = 0.05
REAPERS = ("bwrap",)
"""Programs that adopt orphans inside a sandbox, as the supervisor does without one."""


@dataclass(frozen=True, slots=True)
class ProcessEntry:
    """One line of the process table."""

    pid: int
    parent: int
    group: int
    session: int
    terminal: int
    """0: none."""
    foreground: int
    """The process group in the foreground of its terminal."""
    started: int
    """In ticks since the machine started. With the pid, it names a process for good."""
    name: str
    is_dead: bool = False


Table = Mapping[int, ProcessEntry]


def current_ticks() -> int:
    """The moment, as the process table has it."""
    clock = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)
    return int(time.clock_gettime(clock) * TICKS_PER_SECOND)


def end_leftovers(supervisor: int, since: int, is_kept: Callable[[int], bool]) -> int:
    """End what descends from the supervisor and was started since. `is_kept`: whether a process is none of the turn's
    commands. The number of processes that were signalled."""
    leftovers = find_leftovers(read_table(), supervisor, since, is_kept)
    for entry in leftovers:
        _signal(entry, signal.SIGINT if entry.terminal else signal.SIGTERM)
    deadline = time.monotonic() + GRACE_SECONDS
    while any(map(_is_running, leftovers)) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    for entry in _still_running(leftovers):
        _signal(entry, signal.SIGKILL)
    return len(leftovers)


def find_leftovers(table: Table, supervisor: int, since: int, is_kept: Callable[[int], bool]) -> list[ProcessEntry]:
    """The commands, as they are in the table. Pure but for `is_kept`."""
    children = _children(table)
    kept = {entry.pid for entry in _below(children, supervisor) if entry.started < since}
    found: list[ProcessEntry] = []
    waiting = list(children.get(supervisor, ()))
    while waiting:
        entry = waiting.pop()
        below = children.get(entry.pid, [])
        if entry.pid not in kept and is_kept(entry.pid):
            continue  # with all that it started: an MCP server has helpers of its own
        is_daemon = entry.pid not in kept and _is_daemon(entry, table, supervisor)
        # What a daemon runs in a terminal is a command; the rest of what it started is part of it.
        waiting += [child for child in below if child.terminal or not is_daemon]
        if entry.pid not in kept and not is_daemon and not _is_idle_shell(entry, below):
            found.append(entry)
    return [entry for entry in found if not _is_busy_shell(entry, children)]


def read_table() -> dict[int, ProcessEntry]:
    """Empty where there is no `/proc`."""
    try:
        names = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return {}
    return {entry.pid: entry for name in names if (entry := _read_entry(name)) is not None}


def descendants(table: Table, root: int) -> list[int]:
    """The ids of the processes that a process has started, with what these have started."""
    return [entry.pid for entry in _below(_children(table), root)]


def read_arguments(pid: int) -> list[str]:
    try:
        return Path(f"/proc/{pid}/cmdline").read_text("utf-8", "replace").split("\0")[:-1]
    except OSError:
        return []


def read_directory(pid: int) -> Path | None:
    try:
        return Path(os.readlink(f"/proc/{pid}/cwd"))
    except OSError:
        return None


def runs_server(arguments: Sequence[str], server: Mapping[str, object]) -> bool:
    """Whether these are the arguments of this MCP server, perhaps behind a launcher's."""
    given = server.get("args")
    command, args = str(server.get("command") or ""), [str(arg) for arg in given] if isinstance(given, list) else []
    if not command:
        return False
    line = [Path(command).name, *args]
    own = [Path(arg).name if index == len(arguments) - len(line) else arg for index, arg in enumerate(arguments)]
    return own[-len(line) :] == line


def _read_entry(name: str) -> ProcessEntry | None:
    try:
        stat = Path(f"/proc/{name}/stat").read_bytes()
    except OSError:  # it ended after the directory was listed
        return None
    # `pid (command) state ppid pgrp session tty_nr tpgid …`: the command may hold spaces and brackets.
    head, _, rest = stat.rpartition(b") ")
    fields = rest.split()
    numbers = [int(field) for field in fields[1:20]]
    command = head.partition(b"(")[2].decode("utf-8", "replace")
    parent, group, session, terminal, foreground = numbers[:5]
    return ProcessEntry(
        int(name), parent, group, session, terminal, foreground, numbers[18], command, fields[0] in (b"Z", b"X")
    )


def _children(table: Table) -> dict[int, list[ProcessEntry]]:
    children: dict[int, list[ProcessEntry]] = {}
    for entry in table.values():
        if not entry.is_dead:
            children.setdefault(entry.parent, []).append(entry)
    return children


def _below(children: Mapping[int, Sequence[ProcessEntry]], root: int) -> Iterable[ProcessEntry]:
    generation = [root]
    while generation:
        entries = [entry for parent in generation for entry in children.get(parent, ())]
        yield from entries
        generation = [entry.pid for entry in entries]


def _is_daemon(entry: ProcessEntry, table: Table, supervisor: int) -> bool:
    parent = table.get(entry.parent)
    is_adopted = entry.parent == supervisor or (parent is not None and parent.name in REAPERS)
    return is_adopted and entry.session == entry.pid and not entry.terminal


def _is_idle_shell(entry: ProcessEntry, below: Sequence[ProcessEntry]) -> bool:
    is_leader = bool(entry.terminal) and entry.session == entry.pid
    return is_leader and entry.foreground == entry.group and not below


def _is_busy_shell(entry: ProcessEntry, children: Mapping[int, Sequence[ProcessEntry]]) -> bool:
    """A shell that leads a terminal, with a command in the foreground that is in another group: the shell is
    interactive, and goes on after the command. Ctrl-C does not reach it either."""
    is_leader = bool(entry.terminal) and entry.session == entry.pid
    return is_leader and entry.foreground != entry.group and bool(children.get(entry.pid))


def _still_running(leftovers: Sequence[ProcessEntry]) -> list[ProcessEntry]:
    """Those that run, and what they have started meanwhile."""
    if not any(map(_is_running, leftovers)):
        return []
    table = read_table()
    children = _children(table)
    running: dict[int, ProcessEntry] = {}
    for entry in filter(_is_running, leftovers):
        below = children.get(entry.pid, ())
        if entry.pid in table and not _is_idle_shell(table[entry.pid], below):
            running[entry.pid] = entry
        running |= {child.pid: child for child in _below(children, entry.pid)}
    return list(running.values())


def _is_running(entry: ProcessEntry) -> bool:
    """Still the same process, and not dead."""
    now = _read_entry(str(entry.pid))
    return now is not None and now.started == entry.started and not now.is_dead


def _signal(entry: ProcessEntry, number: int) -> None:
    if _is_running(entry):
        with suppress(ProcessLookupError, PermissionError):
            os.kill(entry.pid, number)
