"""The agent's parent: a program of its own, so that nothing is left behind whatever happens to the gateway.

    python -I -S warden.py CONTROL_FD -- COMMAND [ARGUMENT…]

In: stdin, stdout and stderr, which it hands to the agent and lets go of (it relays nothing); a control socket, where
the gateway writes `I` or `T` (SIGINT or SIGTERM to the agent's group) or `K` (SIGKILL to everything). The socket's end,
or a SIGTERM to the warden, means that nobody wants the agent any more. Out, on the same socket, a line of JSON each:
`{"pid": 7}` or `{"error": "…", "errno": 2}` at the start, `{"exit": 0}` or `{"signal": 9}` at the agent's end. After
that it ends what the agent left running, daemons in sessions of their own among them, and then itself.

Never: the gateway's modules, or any that starts slowly. It stands before every start of an agent.
"""

from __future__ import annotations

import ctypes
import os
import select
import sys
import time

TYPE_CHECKING = False  # `typing` itself would be the slowest import of all
if TYPE_CHECKING:
    import signal
    from collections.abc import Callable
else:  # `signal` without its enums, which cost 8 ms of processor time at every start; all else here costs 4
    import _signal as signal

TERM_GRACE = 2.0  # after SIGTERM to the group, when the gateway is gone: time to write a transcript to its end
STRAY_GRACE = 0.5  # after SIGTERM to what the agent left behind: its own end was the first notice
KILL_LIMIT = 2.0  # after SIGKILL: what stays longer hangs in the kernel, and waiting would not help it
LOOK_AGAIN = 0.02  # between two looks at the process table: not every death below us raises a signal here

PR_SET_CHILD_SUBREAPER = 36
LETTING_GO = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


class Supervisor:
    def __init__(self, control: int) -> None:
        self._control = control
        self._signals = _signals()
        self._adopts = _adopt_orphans()
        self._agent = 0
        self._alive = False
        self._childless = False

    def run(self, command: list[str]) -> None:
        try:
            # A session of its own: signals reach it with all its children, and a terminal's Ctrl-C does not.
            # Python ignores SIGPIPE and SIGXFSZ; the agent must not inherit that.
            self._agent = os.posix_spawnp(
                command[0], command, os.environ, setsid=True, setsigdef=[signal.SIGPIPE, signal.SIGXFSZ]
            )
        except OSError as exc:
            self._tell(f'{{"error": "{exc.strerror}", "errno": {exc.errno}}}')
            return
        self._alive = True
        self._tell(f'{{"pid": {self._agent}}}')
        _let_go_of_streams()
        self._watch()
        self._dismiss()
        self._sweep()

    # -- the agent's life

    def _watch(self) -> None:
        """Until the agent is dead or unwanted."""
        while self._alive:
            for told in self._wait(None):
                if told == "I":
                    self._signal_group(signal.SIGINT)
                elif told == "T":
                    self._signal_group(signal.SIGTERM)
                elif told == "K":
                    self._kill_all()
                else:
                    return

    def _dismiss(self) -> None:
        if self._alive:
            self._signal_group(signal.SIGTERM)
            self._until(lambda: not self._alive, TERM_GRACE)

    def _sweep(self) -> None:
        """End everything that is left, the agent too."""
        if not self._alive:
            for pid in self._strays():
                _send(os.kill, pid, signal.SIGTERM)
            self._until(lambda: not self._strays(), STRAY_GRACE)
        self._until(lambda: not self._kill_all(), KILL_LIMIT)

    # -- signals

    def _signal_group(self, number: int) -> None:
        # Its number is ours to use until it is reaped; afterwards it may be anybody's.
        if self._alive:
            _send(os.killpg, self._agent, number)

    def _kill_all(self) -> bool:
        """SIGKILL to whatever there is; whether there was anything."""
        self._signal_group(signal.SIGKILL)
        strays = self._strays()
        for pid in strays:
            _send(os.kill, pid, signal.SIGKILL)
        return self._alive or bool(strays)

    def _strays(self) -> list[int]:
        """Whatever is below us. A process whose parent died is our child, so without children there is nothing."""
        if self._adopts:
            return [] if self._childless else _descendants(os.getpid())
        # Where orphans go to process 1, only the agent's group can be found; kill takes it as a negative number.
        return [-self._agent] if _send(os.killpg, self._agent, 0) else []

    # -- waiting

    def _until(self, done: Callable[[], bool], limit: float) -> None:
        deadline = time.monotonic() + limit
        while not done() and time.monotonic() < deadline:
            self._wait(LOOK_AGAIN)

    def _wait(self, seconds: float | None) -> str:
        """Until something happens. What the gateway says, with `.` for its end or a signal to go."""
        poll = select.poll()
        poll.register(self._signals, select.POLLIN)
        if seconds is None:  # with a limit the end has come already: a socket past its end is readable for ever
            poll.register(self._control, select.POLLIN)
        readable = {fd for fd, _ in poll.poll(None if seconds is None else seconds * 1000)}
        told = ""
        if self._control in readable:
            told = _read(self._control).decode("ascii", "replace") or "."
        if self._signals in readable and any(number in LETTING_GO for number in _read(self._signals)):
            told += "."
        self._reap()
        return told

    def _reap(self) -> None:
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                self._childless = True
                return
            if pid == 0:
                return
            if pid == self._agent:
                self._alive = False
                code = os.waitstatus_to_exitcode(status)
                self._tell(f'{{"exit": {code}}}' if code >= 0 else f'{{"signal": {-code}}}')

    def _tell(self, line: str) -> None:
        try:
            os.write(self._control, line.encode() + b"\n")
        except OSError:  # nobody is there to hear it
            return


def _signals() -> int:
    """A pipe from which signals are read as bytes; they interrupt nothing."""
    readable, writable = os.pipe()
    os.set_blocking(readable, False)
    os.set_blocking(writable, False)
    signal.set_wakeup_fd(writable, warn_on_full_buffer=False)
    for number in (signal.SIGCHLD, *LETTING_GO):
        signal.signal(number, lambda number, frame: None)
    return readable


def _adopt_orphans() -> bool:
    """Whether processes below us whose parent dies become our children (Linux) instead of process 1's."""
    if sys.platform != "linux":
        return False
    return ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0 and os.path.exists("/proc/self/stat")


def _descendants(root: int) -> list[int]:
    """The living ones, by the process table."""
    children: dict[int, list[int]] = {}
    dead = set()
    for name in os.listdir("/proc"):
        if name.isdigit() and (stat := _stat(name)):
            # `pid (command) state ppid …`: the command may hold spaces and brackets.
            state, parent = stat[stat.rindex(b")") + 2 :].split(b" ", 2)[:2]
            children.setdefault(int(parent), []).append(int(name))
            if state in b"ZX":
                dead.add(int(name))
    found, fresh = [], [root]
    while fresh:
        fresh = [child for parent in fresh for child in children.get(parent, ())]
        found += fresh
    return [pid for pid in found if pid not in dead]


def _stat(name: str) -> bytes:
    try:
        with open(f"/proc/{name}/stat", "rb") as file:
            return file.read()
    except OSError:  # it ended between the listing and the look
        return b""


def _send(kill: Callable[[int, int], None], pid: int, number: int) -> bool:
    try:
        kill(pid, number)
    except (ProcessLookupError, PermissionError):  # gone, or another user's: then not ours to end
        return False
    return True


def _read(fd: int) -> bytes:
    try:
        return os.read(fd, 4096)
    except (BlockingIOError, ConnectionResetError):
        return b""


def _let_go_of_streams() -> None:
    """The pipes are between gateway and agent only: a copy here would hide the agent's end from the gateway."""
    nothing = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(nothing, fd)
    os.close(nothing)


if __name__ == "__main__":
    socket = int(sys.argv[1])
    os.set_inheritable(socket, False)
    Supervisor(socket).run(sys.argv[3:])
    os._exit(0)  # the interpreter's own tidying up takes milliseconds and frees nothing that the kernel does not
