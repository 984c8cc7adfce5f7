"""The agent's parent process: a program of its own, so that no process is left behind if the gateway dies.

    python -I -S supervisor.py CONTROL_FD [OPTION=VALUE…] -- COMMAND [ARGUMENT…]

In: stdin, stdout and stderr, which it passes to the agent and closes (it relays nothing); a control socket, where the
gateway writes `I` or `T` (SIGINT or SIGTERM to the agent's group) or `K` (SIGKILL to everything). The end of the
socket, or a SIGTERM to the supervisor, means that the agent has to end. Out, on the same socket, a line of JSON each:
`{"pid": 7}` or `{"error": "…", "errno": 2}` at the start, `{"limit": "memory"}` when the agent has reached a limit,
`{"exit": 0}` or `{"signal": 9}` at the agent's end. After that it ends what the agent left running, daemons in sessions
of their own included, and then itself.

Options: `rlimit=NUMBER:SOFT:HARD`, a resource limit of the agent. `cgroup=DIRECTORY`, a cgroup (version 2) of the
agent's own, and `leave=DIRECTORY`, the supervisor's own one. `processes=COUNT`, watched here. `sandbox=FD,FD`: the
command is a sandbox around the agent and gets these files. The program inside it (`drivers/sandbox/forwarder.py`) has
the agent's stdin and stdout as files 200 and 201, and reports on file 202, a line each: `S`, the agent was started;
`E2`, it was not, by this errno; `Lprocesses`, it has reached this limit; `X0` or `X-9`, its end.

Never: the gateway's modules, or any module that is slow to import. It runs before every start of an agent.
"""

from __future__ import annotations

import ctypes
import os
import resource
import select
import sys
import time

TYPE_CHECKING = False  # `typing` itself would be the slowest import here
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
else:  # `signal` without its enums, which cost 8 ms of processor time at every start; all else here costs 4
    import _signal as signal

TERM_GRACE_SECONDS = 2.0  # after SIGTERM to the group, when the gateway is gone: time to write a transcript to its end
STRAY_GRACE_SECONDS = 0.5  # after SIGTERM to processes the agent left behind: the agent's end was their first notice
KILL_TIMEOUT_SECONDS = 2.0  # after SIGKILL: a process that stays longer hangs in the kernel, and waiting does not help
POLL_INTERVAL_SECONDS = 0.02  # between two reads of the process table: not every death of a descendant raises SIGCHLD

PR_SET_CHILD_SUBREAPER = 36
END_SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
WATCH_INTERVAL_SECONDS = 1.0  # between two counts of the agent's processes, where there is a limit
STDIN_FD, STDOUT_FD, STATUS_FD = 200, 201, 202  # in a sandbox, which itself must not keep the agent's pipes open


class Supervisor:
    def __init__(self, control: int, options: dict[str, str], limits: list[str]) -> None:
        self._control = control
        self._rlimits = limits
        self._cgroup = options.get("cgroup", "")
        self._own_cgroup = options.get("leave", "")
        self._max_processes = int(options.get("processes", "0"))
        self._is_sandbox = "sandbox" in options
        self._files = [int(fd) for fd in options.get("sandbox", "").split(",") if fd]
        self._status = -1
        self._exit_code: int | None = None
        """As the program inside the sandbox reported it."""
        self._signals = _signals()
        self._adopts_orphans = _adopt_orphans()
        self._agent = 0
        self._is_alive = False
        self._is_childless = False

    def run(self, command: list[str]) -> None:
        try:
            self._agent = self._spawn(command)
        except OSError as exc:
            self._report(f'{{"error": "{exc.strerror}", "errno": {exc.errno}}}')
            return
        self._is_alive = True
        _close_streams()
        if not self._is_sandbox or self._has_started():
            self._report(f'{{"pid": {self._agent}}}')
            self._watch_agent()
        self._terminate_agent()
        self._end_strays()
        self._remove_cgroup()

    def _spawn(self, command: list[str]) -> int:
        for text in self._rlimits:
            number, soft, hard = map(int, text.split(":"))
            _set_limit(number, soft, hard)
        _write_file(self._cgroup, "cgroup.procs", "0")
        try:
            # A session of its own: signals reach it with all its children, and a terminal's Ctrl-C does not.
            # Python ignores SIGPIPE and SIGXFSZ; the agent must not inherit that.
            if self._is_sandbox:
                return self._spawn_sandbox(command)
            return os.posix_spawnp(
                command[0], command, os.environ, setsid=True, setsigdef=[signal.SIGPIPE, signal.SIGXFSZ]
            )
        finally:
            _write_file(self._own_cgroup, "cgroup.procs", "0")

    def _spawn_sandbox(self, command: list[str]) -> int:
        """The sandbox ignores the signals that are for the agent: its death would be the agent's, without grace."""
        self._status, writable = os.pipe()
        for number in END_SIGNALS:
            signal.signal(number, signal.SIG_IGN)
        try:
            return os.posix_spawnp(
                command[0],
                command,
                os.environ,
                setsid=True,
                file_actions=[
                    (os.POSIX_SPAWN_DUP2, 0, STDIN_FD),
                    (os.POSIX_SPAWN_DUP2, 1, STDOUT_FD),
                    (os.POSIX_SPAWN_DUP2, writable, STATUS_FD),
                    (os.POSIX_SPAWN_OPEN, 0, os.devnull, os.O_RDONLY, 0),
                    (os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0),
                ],
            )
        finally:
            for number in END_SIGNALS:
                signal.signal(number, _note_signal)
            for fd in (writable, *self._files):
                os.close(fd)

    def _has_started(self) -> bool:
        """Waits for the report from inside the sandbox. If the agent was not started, the reason is reported."""
        poll = select.poll()
        for fd in (self._status, self._control):
            poll.register(fd, select.POLLIN)
        poll.poll()
        os.set_blocking(self._status, False)
        lines = _read(self._status).decode("ascii", "replace").splitlines()
        if lines[:1] == ["S"]:
            self._read_status(lines)
            return True
        number = int(lines[0][1:]) if lines and lines[0].startswith("E") else 0
        text = os.strerror(number) if number else "the sandbox could not be set up"
        self._report(f'{{"error": "{text}", "errno": {number}}}')
        return False

    def _read_status(self, lines: list[str]) -> None:
        for line in lines:
            if line.startswith("L"):
                self._report(f'{{"limit": "{line[1:]}"}}')
            elif line.startswith("X"):
                self._exit_code = int(line[1:])

    # -- the agent's life

    def _watch_agent(self) -> None:
        """Until the agent has ended, or the gateway wants it to end."""
        while self._is_alive:
            if self._max_processes and _has_more_processes(self._max_processes):
                self._report('{"limit": "processes"}')
                self._kill_all()
            for order in self._wait(None):
                if order == "I":
                    self._signal_group(signal.SIGINT)
                elif order == "T":
                    self._signal_group(signal.SIGTERM)
                elif order == "K":
                    self._kill_all()
                else:
                    return

    def _terminate_agent(self) -> None:
        if self._is_alive:
            self._signal_group(signal.SIGTERM)
            self._wait_until(lambda: not self._is_alive, TERM_GRACE_SECONDS)

    def _end_strays(self) -> None:
        """End everything that is left, the agent included."""
        if not self._is_alive:
            for pid in self._strays():
                _send(os.kill, pid, signal.SIGTERM)
            self._wait_until(lambda: not self._strays(), STRAY_GRACE_SECONDS)
        self._wait_until(lambda: not self._kill_all(), KILL_TIMEOUT_SECONDS)

    # -- signals

    def _signal_group(self, number: int) -> None:
        # The process id is the agent's until it is reaped; afterwards another process may have it.
        if self._is_alive:
            _send(os.killpg, self._agent, number)

    def _kill_all(self) -> bool:
        """SIGKILL to every process that is left. True: there was one."""
        _write_file(self._cgroup, "cgroup.kill", "1")
        self._signal_group(signal.SIGKILL)
        strays = self._strays()
        for pid in strays:
            _send(os.kill, pid, signal.SIGKILL)
        return self._is_alive or bool(strays)

    def _strays(self) -> list[int]:
        """Living descendants. A process whose parent died is a child of this one, so without children there are
        none."""
        if self._adopts_orphans:
            return [] if self._is_childless else _descendants(os.getpid())
        # Where orphans become children of process 1, only the agent's group can be found; kill takes it as a negative
        # id.
        return [-self._agent] if _send(os.killpg, self._agent, 0) else []

    # -- waiting

    def _wait_until(self, is_done: Callable[[], bool], limit: float) -> None:
        deadline = time.monotonic() + limit
        while not is_done() and time.monotonic() < deadline:
            self._wait(POLL_INTERVAL_SECONDS)

    def _wait(self, seconds: float | None) -> str:
        """Until something happens. The gateway's orders; `.` for the end of its socket or a signal to end."""
        poll = select.poll()
        poll.register(self._signals, select.POLLIN)
        if seconds is None:  # with a limit, the socket has ended already and would always be readable
            poll.register(self._control, select.POLLIN)
        limit = WATCH_INTERVAL_SECONDS if seconds is None and self._max_processes else seconds
        readable = {fd for fd, _ in poll.poll(None if limit is None else limit * 1000)}
        orders = ""
        if self._control in readable:
            orders = _read(self._control).decode("ascii", "replace") or "."
        if self._signals in readable and any(number in END_SIGNALS for number in _read(self._signals)):
            orders += "."
        self._reap()
        return orders

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self._is_childless = True
                return
            if pid == 0:
                return
            if pid == self._agent:
                self._is_alive = False
                code = self._true_code(os.waitstatus_to_exitcode(status))
                self._report_limits()
                self._report(f'{{"exit": {code}}}' if code >= 0 else f'{{"signal": {-code}}}')

    def _true_code(self, code: int) -> int:
        """The agent's. `code` is the sandbox's, which turns a signal into 128 and its number."""
        if not self._is_sandbox:
            return code
        self._read_status(_read(self._status).decode("ascii", "replace").splitlines())
        if self._exit_code is not None:
            return self._exit_code
        return 128 - code if code > 128 else code

    def _report_limits(self) -> None:
        """What the kernel did to the agent in its cgroup."""
        for file, key, name in (("memory.events", "oom_kill", "memory"), ("pids.events", "max", "processes")):
            for line in _read_file(self._cgroup, file).splitlines():
                if line.partition(" ")[0] == key and line.partition(" ")[2] != "0":
                    self._report(f'{{"limit": "{name}"}}')

    def _remove_cgroup(self) -> None:
        if self._cgroup:
            try:
                os.rmdir(self._cgroup)
            except OSError:  # a process hangs in the kernel
                return

    def _report(self, line: str) -> None:
        try:
            os.write(self._control, line.encode() + b"\n")
        except OSError:  # the gateway is gone
            return


def _signals() -> int:
    """A pipe from which signals are read as bytes; they interrupt no system call."""
    readable, writable = os.pipe()
    os.set_blocking(readable, False)
    os.set_blocking(writable, False)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, *END_SIGNALS):
        signal.signal(number, _note_signal)
    return readable


def _note_signal(number: int, frame: object) -> None:
    """Its number is in the pipe."""


def _set_limit(number: int, soft: int, hard: int) -> None:
    """A limit that is lower already stays: raising it is not this program's business, nor within its rights."""
    ceiling = resource.getrlimit(number)[1]
    if ceiling != resource.RLIM_INFINITY:
        soft, hard = min(soft, ceiling), min(hard, ceiling)
    resource.setrlimit(number, (soft, hard))


def _write_file(folder: str, name: str, text: str) -> None:
    """Nothing is written where there is no cgroup, or it is gone."""
    if folder:
        try:
            with open(f"{folder}/{name}", "w") as file:
                file.write(text)
        except OSError:
            return


def _read_file(folder: str, name: str) -> str:
    try:
        with open(f"{folder}/{name}") as file:
            return file.read()
    except OSError:
        return ""


def _adopt_orphans() -> bool:
    """Become the parent of orphaned descendants, instead of process 1 (Linux only). False: not possible here."""
    if sys.platform != "linux":
        return False
    return ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 and os.path.exists("/proc/self/stat")


def _descendants(root: int) -> list[int]:
    """The living ones, from the process table."""
    children: dict[int, list[int]] = {}
    dead = set()
    for name in os.listdir("/proc"):
        if name.isdigit() and (stat := _stat(name)):
            # `pid (command) state ppid …`: the command may hold spaces and brackets.
            state, parent = stat[stat.rindex(b")") + 2 :].split(b" ", 2)[:2]
            children.setdefault(int(parent), []).append(int(name))
            if state in b"ZX":
                dead.add(int(name))
    pids, generation = [], [root]
    while generation:
        generation = [child for parent in generation for child in children.get(parent, ())]
        pids += generation
    return [pid for pid in pids if pid not in dead]


def _has_more_processes(limit: int) -> bool:
    """Whether this process has more descendants than that. The table is read only if the machine has so many at all."""
    total = _read_file("/proc", "loadavg").split()[3:4]
    if total and int(total[0].partition("/")[2]) <= limit:
        return False
    return len(_descendants(os.getpid())) > limit


def _stat(name: str) -> bytes:
    try:
        with open(f"/proc/{name}/stat", "rb") as file:
            return file.read()
    except OSError:  # it ended after the directory was listed
        return b""


def _send(kill: Callable[[int, int], None], pid: int, number: int) -> bool:
    try:
        kill(pid, number)
    except (ProcessLookupError, PermissionError):  # gone, or another user's process
        return False
    return True


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 4096)
    except (BlockingIOError, ConnectionResetError):
        return b""


def _close_streams() -> None:
    """Close this program's copies of the pipes: with them open the gateway would not see the agent close its own."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    os.close(nothing)


def main(arguments: list[str]) -> None:
    control = int(arguments[0])
    os.set_inheritable(control, False)
    end = arguments.index("--")
    options = [option.split("=", 1) for option in arguments[1:end]]
    limits = [value for name, value in options if name == "rlimit"]
    Supervisor(control, dict(options), limits).run(arguments[end + 1 :])


if __name__ == "__main__":
    main(sys.argv[1:])
    os._exit(0)  # the interpreter's own clean-up takes milliseconds and frees nothing that the kernel does not
