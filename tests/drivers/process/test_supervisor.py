"""The supervisor, as a program: its reports, its orders, and that no process outlives it."""

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


class RunningSupervisor:
    """A supervisor process, with the gateway's ends of its socket and pipes."""

    def __init__(self, command: list[str]) -> None:
        self.control, supervisor_end = socket.socketpair()
        self.control.settimeout(LIMIT)
        with supervisor_end:
            self.process = subprocess.Popen(
                [
                    sys.executable,
                    "-I",
                    "-S",
                    str(supervisor_client.SUPERVISOR),
                    str(supervisor_end.fileno()),
                    "--",
                    *command,
                ],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                pass_fds=(supervisor_end.fileno(),),
                start_new_session=True,
            )
        self._reports = self.control.makefile("rb")
        assert self.process.stdin is not None and self.process.stdout is not None
        self.stdin, self.stdout = self.process.stdin, self.process.stdout

    def read_report(self) -> dict[str, Any] | None:
        """The next one; None at the end."""
        line = self._reports.readline()
        return json.loads(line) if line else None

    def read_pid(self) -> int:
        """The agent's process id, from the first report."""
        read_report = self.read_report()
        assert read_report is not None
        return int(read_report["pid"])

    def disconnect(self) -> None:
        """What happens when the gateway dies. The file and the socket both keep the same end open."""
        self._reports.close()
        self.control.close()

    def close(self) -> None:
        self.disconnect()
        with suppress(BrokenPipeError):
            self.stdin.close()
        self.process.wait(LIMIT)
        self.stdout.close()
        assert self.process.stderr is not None
        self.process.stderr.close()


@pytest.fixture
def supervisors() -> Iterator[list[RunningSupervisor]]:
    running: list[RunningSupervisor] = []
    yield running
    for supervisor in running:
        supervisor.close()


def start(supervisors: list[RunningSupervisor], *command: str) -> RunningSupervisor:
    supervisors.append(RunningSupervisor(list(command)))
    return supervisors[-1]


def test_it_reports_the_start_and_the_exit_code(supervisors: list[RunningSupervisor]) -> None:
    supervisor = start(supervisors, *child("dies", 3))
    assert supervisor.read_pid() > 0
    assert [supervisor.read_report(), supervisor.read_report()] == [{"exit": 3}, None]
    assert supervisor.process.wait(LIMIT) == 0


def test_it_reports_the_signal_that_ended_the_agent(supervisors: list[RunningSupervisor]) -> None:
    supervisor = start(supervisors, "cat")
    os.kill(supervisor.read_pid(), signal.SIGSEGV)
    assert [supervisor.read_report(), supervisor.read_report()] == [{"signal": signal.SIGSEGV}, None]


@pytest.mark.parametrize(
    ("command", "number"), [("no-such-command", 2), ("/no/such/file", 2), ("/etc/passwd", 13), ("/etc/passwd/x", 20)]
)
def test_it_reports_a_command_that_cannot_be_run(
    supervisors: list[RunningSupervisor], command: str, number: int
) -> None:
    supervisor = start(supervisors, command)
    assert [supervisor.read_report(), supervisor.read_report()] == [
        {"error": os.strerror(number), "errno": number},
        None,
    ]


def test_a_script_without_a_shebang_is_not_run_by_a_shell(supervisors: list[RunningSupervisor], tmp_path: Path) -> None:
    script = tmp_path / "script"
    script.write_text("touch ran\n")
    script.chmod(0o755)
    read_report = start(supervisors, str(script)).read_report()
    assert read_report is not None and "error" in read_report
    assert not (tmp_path / "ran").exists()


def test_arguments_reach_the_agent_as_they_are(supervisors: list[RunningSupervisor]) -> None:
    supervisor = start(supervisors, "printf", "%s|", "--", "two words", "", "$HOME", "ü")
    assert supervisor.stdout.read() == "--|two words||$HOME|ü|".encode()


def test_the_pipes_are_the_agents_alone(supervisors: list[RunningSupervisor]) -> None:
    supervisor = start(supervisors, *child("mute"))
    pid = supervisor.read_pid()
    assert supervisor.stdout.read() == b""  # the end, though agent and supervisor run
    assert alive(pid) and alive(supervisor.process.pid)


def test_the_agent_may_die_of_a_broken_pipe_as_programs_expect(supervisors: list[RunningSupervisor]) -> None:
    status = Path(f"/proc/{start(supervisors, 'cat').read_pid()}/status").read_text()
    ignored = next(line.split()[1] for line in status.splitlines() if line.startswith("SigIgn"))
    assert not int(ignored, 16) & 1 << (signal.SIGPIPE - 1)


def test_the_agent_gets_no_other_file(supervisors: list[RunningSupervisor]) -> None:
    supervisor = start(supervisors, "cat")
    pid = supervisor.read_pid()
    supervisor.stdin.write(b"\n")
    supervisor.stdin.flush()
    assert supervisor.stdout.readline() == b"\n"  # it has loaded its libraries
    assert sorted(path.name for path in Path(f"/proc/{pid}/fd").iterdir()) == ["0", "1", "2"]


def test_the_agent_leads_a_session_of_its_own(supervisors: list[RunningSupervisor]) -> None:
    supervisor = start(supervisors, "cat")
    pid = supervisor.read_pid()
    assert (os.getsid(pid), os.getpgid(pid)) == (pid, pid)
    assert os.getsid(supervisor.process.pid) == supervisor.process.pid


def test_T_is_sigterm_to_the_agent(supervisors: list[RunningSupervisor]) -> None:
    supervisor = start(supervisors, *child("terminated"))
    supervisor.read_pid()
    assert supervisor.stdout.readline() == b"ready\n"
    supervisor.control.send(b"T")
    assert [supervisor.read_report(), supervisor.read_report()] == [{"exit": 7}, None]


def test_T_reaches_the_whole_group(supervisors: list[RunningSupervisor]) -> None:
    supervisor = start(supervisors, *child("tool"))
    supervisor.read_pid()
    assert supervisor.stdout.readline() == b"ready\n"
    supervisor.control.send(b"T")
    assert supervisor.stdout.readline() == b"the tool is over\n"


def test_K_ends_an_agent_that_ignores_signals(supervisors: list[RunningSupervisor]) -> None:
    supervisor = start(supervisors, *child("stubborn"))
    supervisor.read_pid()
    assert supervisor.stdout.readline() == b"ready\n"
    supervisor.control.send(b"K")
    assert [supervisor.read_report(), supervisor.read_report()] == [{"signal": signal.SIGKILL}, None]


@pytest.mark.parametrize("kind", ["", "stubborn"])
def test_K_ends_a_process_that_left_the_group(supervisors: list[RunningSupervisor], kind: str) -> None:
    supervisor = start(supervisors, *child("daemon", kind))
    supervisor.read_pid()
    stray = int(supervisor.stdout.readline())
    assert alive(stray)
    supervisor.control.send(b"K")
    assert [supervisor.read_report(), supervisor.read_report()] == [{"signal": signal.SIGKILL}, None]
    assert not alive(stray)


def test_processes_of_the_agent_end_with_it(supervisors: list[RunningSupervisor]) -> None:
    supervisor = start(supervisors, *child("daemon", "leaves"))
    supervisor.read_pid()
    stray = int(supervisor.stdout.readline())
    assert [supervisor.read_report(), supervisor.read_report()] == [{"exit": 0}, None]
    assert not alive(stray)


def test_processes_of_the_agent_get_sigterm_first(supervisors: list[RunningSupervisor]) -> None:
    supervisor = start(supervisors, *child("daemon", "polite"))
    supervisor.read_pid()
    assert supervisor.stdout.read().endswith(b"\ngoodbye\n")


@pytest.mark.parametrize("number", [None, signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_the_end_of_the_gateway_ends_everything_in_order(
    supervisors: list[RunningSupervisor], number: int | None
) -> None:
    supervisor = start(supervisors, *child("daemon"))
    agent = supervisor.read_pid()
    stray = int(supervisor.stdout.readline())
    if number is None:
        supervisor.disconnect()
    else:
        supervisor.process.send_signal(number)
        assert [supervisor.read_report(), supervisor.read_report()] == [{"signal": signal.SIGTERM}, None]
    assert supervisor.process.wait(LIMIT) == 0
    assert not alive(agent) and not alive(stray)


def test_an_agent_that_ignores_signals_does_not_outlive_the_gateway(supervisors: list[RunningSupervisor]) -> None:
    supervisor = start(supervisors, *child("stubborn"))
    agent = supervisor.read_pid()
    assert supervisor.stdout.readline() == b"ready\n"
    supervisor.disconnect()
    assert supervisor.process.wait(LIMIT) == 0
    assert not alive(agent)


def test_the_gateways_end_counts_before_the_agent_has_started(supervisors: list[RunningSupervisor]) -> None:
    supervisor = start(supervisors, *child("stubborn"))
    supervisor.disconnect()
    assert supervisor.process.wait(LIMIT) == 0
    assert supervisor.stdout.read() in (b"", b"ready\n")  # its end: no process has the pipe open any more


def test_orphans_that_end_are_reaped(supervisors: list[RunningSupervisor]) -> None:
    supervisor = start(supervisors, "sh", "-c", "(sleep 0 & echo $!) ; exec cat")
    supervisor.read_pid()
    orphan = int(supervisor.stdout.readline())
    until(lambda: not Path(f"/proc/{orphan}").exists())


def test_it_imports_no_slow_module() -> None:
    body = ast.parse(supervisor_client.SUPERVISOR.read_text()).body
    names = {alias.name for node in body if isinstance(node, ast.Import) for alias in node.names}
    names |= {node.module or "" for node in body if isinstance(node, ast.ImportFrom)}
    assert names == {"__future__", "ctypes", "os", "resource", "select", "sys", "time"}
