"""The agent's parent process: a program of its own, so that no process is left behind if the gateway dies.

    python -I -S supervisor.py CONTROL_FD -- COMMAND [ARGUMENT…]

In: stdin, stdout and stderr, which it passes to the agent and closes (it relays nothing); a control socket, where the
gateway writes `I` or `T` (SIGINT or SIGTERM to the agent's group) or `K` (SIGKILL to everything). The end of the
socket, or a SIGTERM to the supervisor, means that the agent has to end. Out, on the same socket, a line of JSON each:
`{"pid": 7}` or `{"error": "…", "errno": 2}` at the start, `{"exit": 0}` or `{"signal": 9}` at the agent's end. After
that it ends what the agent left running, daemons in sessions of their own included, and then itself.

Never: the gateway's modules, or any module that is slow to import. It runs before every start of an agent.
"""

from __future__ import annotations

import ctypes
import os
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


class Supervisor:
    def __init__(self, control: int) -> None:
        self._control = control
        self._signals = _signals()
        self._adopts_orphans = _adopt_orphans()
        self._agent = 0
        self._is_alive = False
        self._is_childless = False

    def run(self, command: list[str]) -> None:
        try:
            # A session of its own: signals reach it with all its children, and a terminal's Ctrl-C does not.
            # Python ignores SIGPIPE and SIGXFSZ; the agent must not inherit that.
            self._agent = os.posix_spawnp(
                command[0], command, os.environ, setsid=True, setsigdef=[signal.SIGPIPE, signal.SIGXFSZ]
            )
        except OSError as exc:
            self._report(f'{{"error": "{exc.strerror}", "errno": {exc.errno}}}')
            return
        self._is_alive = True
        self._report(f'{{"pid": {self._agent}}}')
        _close_streams()
        self._watch_agent()
        self._terminate_agent()
        self._end_strays()

    # -- the agent's life

    def _watch_agent(self) -> None:
        """Until the agent has ended, or the gateway wants it to end."""
        while self._is_alive:
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
        readable = {fd for fd, _ in poll.poll(None if seconds is None else seconds * 1000)}
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
                code = os.waitstatus_to_exitcode(status)
                self._report(f'{{"exit": {code}}}' if code >= 0 else f'{{"signal": {-code}}}')

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
        signal.signal(number, lambda number, frame: None)
    return readable


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


if __name__ == "__main__":
    socket = int(sys.argv[1])
    os.set_inheritable(socket, False)
    Supervisor(socket).run(sys.argv[3:])
    os._exit(0)  # the interpreter's own clean-up takes milliseconds and frees nothing that the kernel does not
