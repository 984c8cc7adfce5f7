"""The warden, as a program: what it reports, what it does when told, and what it leaves behind (nothing)."""

from __future__ import annotations

import ast
import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from gateway.drivers.process import supervisor_client
from tests.drivers.process_watch import LIMIT, alive, child, until


class Warden:
    """One at work, with the gateway's ends of everything."""

    def __init__(self, command: list[str]) -> None:
        self.control, theirs = socket.socketpair()
        self.control.settimeout(LIMIT)
        with theirs:
            self.process = subprocess.Popen(
                [sys.executable, "-I", "-S", str(supervisor_client.SUPERVISOR), str(theirs.fileno()), "--", *command],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(theirs.fileno(),),
                start_new_session=True,
            )
        self._reports = self.control.makefile("rb")
        assert self.process.stdin is not None and self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout

    def report(self) -> dict[str, Any] | None:
        """The next, or None when there will be no more."""
        line = self._reports.readline()
        return json.loads(line) if line else None

    def started(self) -> int:
        """The agent's process number."""
        report = self.report()
        assert report is not None
        return int(report["pid"])

    def close_driver_sessions(self) -> None:
        """What happens when the gateway dies. The file and the socket both hold the one end."""
        self._reports.close()
        self.control.close()

    def close(self) -> None:
        self.close_driver_sessions()
        with suppress(BrokenPipeError):
            self.stdin.close()
        self.process.wait(LIMIT)
        self.stdout.close()
        assert self.process.stderr is not None
        self.process.stderr.close()


@pytest.fixture
def wardens() -> Iterator[list[Warden]]:
    made: list[Warden] = []
    yield made
    for supervisor in made:
        supervisor.close()


def start(wardens: list[Warden], *command: str) -> Warden:
    wardens.append(Warden(list(command)))
    return wardens[-1]


def test_it_reports_the_start_and_the_exit_code(wardens: list[Warden]) -> None:
    supervisor = start(wardens, *child("dies", 3))
    assert supervisor.started() > 0
    assert [supervisor.report(), supervisor.report()] == [{"exit": 3}, None]
    assert supervisor.process.wait(LIMIT) == 0


def test_it_reports_the_signal_that_ended_the_agent(wardens: list[Warden]) -> None:
    supervisor = start(wardens, "cat")
    os.kill(supervisor.started(), signal.SIGSEGV)
    assert [supervisor.report(), supervisor.report()] == [{"signal": signal.SIGSEGV}, None]


@pytest.mark.parametrize(
    ("command", "number"), [("no-such-command", 2), ("/no/such/file", 2), ("/etc/passwd", 13), ("/etc/passwd/x", 20)]
)
def test_it_reports_a_command_that_cannot_be_run(wardens: list[Warden], command: str, number: int) -> None:
    supervisor = start(wardens, command)
    assert [supervisor.report(), supervisor.report()] == [{"error": os.strerror(number), "errno": number}, None]


def test_a_script_without_its_first_line_is_not_given_to_a_shell(wardens: list[Warden], tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("touch ran\n")
    script.chmod(0o755)
    report = start(wardens, str(script)).report()
    assert report is not None and "error" in report
    assert not (tmp_path / "ran").exists()


def test_arguments_reach_the_agent_as_they_are(wardens: list[Warden]) -> None:
    supervisor = start(wardens, "printf", "%s|", "--", "two words", "", "$HOME", "ü")
    assert supervisor.stdout.read() == "--|two words||$HOME|ü|".encode()


def test_the_pipes_are_the_agents_alone(wardens: list[Warden]) -> None:
    supervisor = start(wardens, *child("mute"))
    pid = supervisor.started()
    assert supervisor.stdout.read() == b""  # the end, though agent and warden live
    assert alive(pid) and alive(supervisor.process.pid)


def test_the_agent_may_die_of_a_broken_pipe_as_programs_expect(wardens: list[Warden]) -> None:
    status = Path(f"/proc/{start(wardens, 'cat').started()}/status").read_text()
    ignored = next(line.split()[1] for line in status.splitlines() if line.startswith("SigIgn"))
    assert not int(ignored, 16) & 1 << (signal.SIGPIPE - 1)


def test_the_agent_gets_no_other_file(wardens: list[Warden]) -> None:
    supervisor = start(wardens, "cat")
    pid = supervisor.started()
    supervisor.stdin.write(b"\n")
    supervisor.stdin.flush()
    assert supervisor.stdout.readline() == b"\n"  # it has loaded its libraries
    assert sorted(path.name for path in Path(f"/proc/{pid}/fd").iterdir()) == ["0", "1", "2"]


def test_the_agent_leads_a_session_of_its_own(wardens: list[Warden]) -> None:
    supervisor = start(wardens, "cat")
    pid = supervisor.started()
    assert (os.getsid(pid), os.getpgid(pid)) == (pid, pid)
    assert os.getsid(supervisor.process.pid) == supervisor.process.pid


def test_T_is_sigterm_to_the_agent(wardens: list[Warden]) -> None:
    supervisor = start(wardens, *child("terminated"))
    supervisor.started()
    assert supervisor.stdout.readline() == b"ready\n"
    supervisor.control.send(b"T")
    assert [supervisor.report(), supervisor.report()] == [{"exit": 7}, None]


def test_T_reaches_the_whole_group(wardens: list[Warden]) -> None:
    supervisor = start(wardens, *child("tool"))
    supervisor.started()
    assert supervisor.stdout.readline() == b"ready\n"
    supervisor.control.send(b"T")
    assert supervisor.stdout.readline() == b"the tool is over\n"


def test_K_ends_what_heeds_nothing(wardens: list[Warden]) -> None:
    supervisor = start(wardens, *child("stubborn"))
    supervisor.started()
    assert supervisor.stdout.readline() == b"ready\n"
    supervisor.control.send(b"K")
    assert [supervisor.report(), supervisor.report()] == [{"signal": signal.SIGKILL}, None]


@pytest.mark.parametrize("kind", ["", "stubborn"])
def test_K_ends_a_process_that_left_the_group(wardens: list[Warden], kind: str) -> None:
    supervisor = start(wardens, *child("daemon", kind))
    supervisor.started()
    stray = int(supervisor.stdout.readline())
    assert alive(stray)
    supervisor.control.send(b"K")
    assert [supervisor.report(), supervisor.report()] == [{"signal": signal.SIGKILL}, None]
    assert not alive(stray)


def test_what_the_agent_leaves_behind_ends_with_it(wardens: list[Warden]) -> None:
    supervisor = start(wardens, *child("daemon", "leaves"))
    supervisor.started()
    stray = int(supervisor.stdout.readline())
    assert [supervisor.report(), supervisor.report()] == [{"exit": 0}, None]
    assert not alive(stray)


def test_what_the_agent_leaves_behind_may_leave_in_order(wardens: list[Warden]) -> None:
    supervisor = start(wardens, *child("daemon", "polite"))
    supervisor.started()
    assert supervisor.stdout.read().endswith(b"\ngoodbye\n")


@pytest.mark.parametrize("number", [None, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_end_of_the_gateway_ends_everything_in_order(wardens: list[Warden], number: int | None) -> None:
    supervisor = start(wardens, *child("daemon"))
    agent = supervisor.started()
    stray = int(supervisor.stdout.readline())
    if number is None:
        supervisor.close_driver_sessions()
    else:
        supervisor.process.send_signal(number)
        assert [supervisor.report(), supervisor.report()] == [{"signal": signal.SIGTERM}, None]
    assert supervisor.process.wait(LIMIT) == 0
    assert not alive(agent) and not alive(stray)


def test_an_agent_that_heeds_nothing_does_not_outlive_the_gateway(wardens: list[Warden]) -> None:
    supervisor = start(wardens, *child("stubborn"))
    agent = supervisor.started()
    assert supervisor.stdout.readline() == b"ready\n"
    supervisor.close_driver_sessions()
    assert supervisor.process.wait(LIMIT) == 0
    assert not alive(agent)


def test_the_gateways_end_counts_before_the_agent_has_started(wardens: list[Warden]) -> None:
    supervisor = start(wardens, *child("stubborn"))
    supervisor.close_driver_sessions()
    assert supervisor.process.wait(LIMIT) == 0
    assert supervisor.stdout.read() in (b"", b"ready\n")  # its end: nobody holds the pipe any more


def test_orphans_that_end_by_themselves_are_reaped(wardens: list[Warden]) -> None:
    supervisor = start(wardens, "sh", "-c", "(sleep 0 & echo $!) ; exec cat")
    supervisor.started()
    orphan = int(supervisor.stdout.readline())
    until(lambda: not Path(f"/proc/{orphan}").exists())


def test_it_imports_nothing_that_starts_slowly() -> None:
    body = ast.parse(supervisor_client.SUPERVISOR.read_text()).body
    names = {alias.name for node in body if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in body if isinstance(node, ast.ImportFrom)}
    assert names == {"__future__", "ctypes", "os", "select", "sys", "time"}
