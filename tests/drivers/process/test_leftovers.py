"""Which processes of an agent are commands of a cancelled turn, and how they end: with real shells and terminals."""

from __future__ import annotations

import os
import pty
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gateway.drivers.process.leftovers import (
    ProcessEntry,
    current_ticks,
    end_leftovers,
    find_leftovers,
    read_table,
    runs_server,
)
from tests.drivers.process_watch import alive, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

SUPERVISOR, AGENT, SINCE = 10, 11, 100


def entry(pid: int, parent: int, started: int = SINCE, *, session: int = AGENT, **fields: int) -> ProcessEntry:
    numbers: dict[str, Any] = {"group": session, "terminal": 0, "foreground": -1, **fields}
    return ProcessEntry(pid, parent, session=session, started=started, name="x", **numbers)


def found(*entries: ProcessEntry, kept: frozenset[int] = frozenset()) -> set[int]:
    supervisor, agent = entry(SUPERVISOR, 1, 1, session=10), entry(AGENT, SUPERVISOR, 2)
    table = {one.pid: one for one in (supervisor, agent, *entries)}
    return {one.pid for one in find_leftovers(table, SUPERVISOR, SINCE, kept.__contains__)}


def test_a_command_of_the_turn_and_what_it_started_is_found() -> None:
    assert found(entry(20, AGENT), entry(21, 20), entry(22, SUPERVISOR)) == {20, 21, 22}


def test_what_was_there_before_is_not_but_its_new_children_are() -> None:
    assert found(entry(20, AGENT, 50), entry(21, 20)) == {21}


def test_an_mcp_server_is_not_found_nor_its_helpers() -> None:
    assert found(entry(20, AGENT), entry(21, 20), entry(22, AGENT), kept=frozenset({20})) == {22}


def test_a_daemon_is_not_found_but_the_command_in_its_terminal_is() -> None:
    """A terminal multiplexer: its server, the shell of its terminal, and the command in the foreground."""
    server = entry(20, SUPERVISOR, session=20)
    helper = entry(21, 20, session=20)
    shell = entry(22, 20, session=22, group=22, terminal=7, foreground=23)
    command = entry(23, 22, session=22, group=23, terminal=7, foreground=23)
    assert found(server, helper, shell, command) == {23}


def test_an_idle_shell_is_not_found() -> None:
    assert found(entry(22, AGENT, session=22, group=22, terminal=7, foreground=22)) == set()


def test_a_command_that_leads_a_terminal_of_its_own_is_found() -> None:
    leader = entry(22, AGENT, session=22, group=22, terminal=7, foreground=22)
    assert found(leader, entry(23, 22, session=22, group=22, terminal=7, foreground=22)) == {22, 23}


def test_the_arguments_of_an_mcp_server_are_known_behind_a_launcher() -> None:
    server = {"command": "/usr/bin/python3", "args": ["-m", "tools"]}
    assert runs_server(["python3", "-m", "tools"], server)
    assert runs_server(["/bin/launcher", "--", "/usr/bin/python3", "-m", "tools"], server)
    assert not runs_server(["python3", "-m", "other"], server)
    assert not runs_server(["python3"], {"url": "http://x"})


# -- with real processes


@pytest.fixture
def terminal() -> Iterator[tuple[int, int]]:
    """(process id of an interactive shell that leads a terminal, the terminal's other end)"""
    pid, master = pty.fork()
    if pid == 0:
        os.execvp("bash", ["bash", "--norc", "--noprofile", "-i"])
    yield pid, master
    with suppress(ProcessLookupError):
        os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    os.close(master)


def test_a_command_line_in_an_interactive_shell_ends_as_by_ctrl_c(terminal: tuple[int, int], tmp_path: Path) -> None:
    shell, master = terminal
    began, late, after = tmp_path / "began", tmp_path / "late", tmp_path / "after"
    since = current_ticks()
    os.write(master, f"touch {began}; sleep 600; touch {late}\n".encode())
    until(began.exists)
    until(lambda: any(one.parent == shell and one.name == "sleep" for one in read_table().values()))
    assert end_leftovers(os.getpid(), since, lambda pid: pid == os.getpid()) >= 1
    os.write(master, f"touch {after}\n".encode())
    until(after.exists)
    assert alive(shell), "the shell takes the next command"
    assert not late.exists(), "and did not go on with the line"


def test_a_shells_command_ends_before_its_next_part() -> None:
    since = current_ticks()
    process = subprocess.Popen(["/bin/sh", "-c", "sleep 600; sleep 600"])
    until(lambda: any(one.parent == process.pid for one in read_table().values()))
    end_leftovers(os.getpid(), since, lambda pid: False)
    assert process.wait(10) == -signal.SIGTERM
    until(lambda: not any(one.parent == process.pid for one in read_table().values()))
