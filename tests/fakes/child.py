"""An agent's process that behaves badly on purpose: `child.py MODE [ARGUMENT…]`. Most modes echo lines beside.

Nothing here speaks a protocol.
"""

from __future__ import annotations

import os
import signal
import sys
import threading
from collections.abc import Callable
from typing import NoReturn


def echo() -> None:
    for line in sys.stdin.buffer:
        say(line)


def say(data: bytes) -> None:
    sys.stdout.buffer.write(data)
    sys.stdout.buffer.flush()


def for_ever() -> NoReturn:
    while True:
        signal.pause()


def no_eof() -> None:
    """Lives on when its stdin has ended."""
    echo()
    for_ever()


def stubborn() -> None:
    """Goes on, and ignores SIGTERM."""
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    say(b"ready\n")
    no_eof()


def terminated() -> None:
    """Takes SIGTERM as a reason to leave in order."""
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(7))
    say(b"ready\n")
    for_ever()


def tool() -> None:
    """Has a child in its group that ends by SIGTERM, and ignores SIGTERM itself."""
    if os.fork() == 0:
        for_ever()
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    say(b"ready\n")
    os.wait()
    say(b"the tool is over\n")
    echo()


def flood(size: str) -> None:
    """Writes so much to stderr while it echoes."""

    def pour() -> None:
        line = b"x" * 1023 + b"\n"
        for _ in range(int(size) // len(line)):
            os.write(2, line)
        os.write(2, b"the flood is over\n")
        say(b"the flood is over\n")

    threading.Thread(target=pour).start()
    echo()


def long_line(size: str) -> None:
    say(b"y" * int(size) + b"\n")


def dies(code: str, *texts: str) -> None:
    os.write(2, " ".join(texts).encode() + b"\n")
    os._exit(int(code))


def flushes(size: str) -> None:
    """Has much to say when its stdin has ended, and leaves only when all of it is read."""
    echo()
    say(b"z" * int(size))


def daemon(kind: str = "") -> None:
    """Starts a process in a session of its own, its parent dead, that holds the agent's stdout."""
    readable, writable = os.pipe()
    if os.fork() == 0:
        os.setsid()
        if os.fork() == 0:
            if kind == "stubborn":
                signal.signal(signal.SIGTERM, signal.SIG_IGN)
            if kind == "polite":
                signal.signal(signal.SIGTERM, lambda number, frame: os._exit(os.write(1, b"goodbye\n")))
            os.write(writable, str(os.getpid()).encode())
            for_ever()
        os._exit(0)
    os.wait()
    say(os.read(readable, 20) + b"\n")
    if kind not in ("leaves", "polite"):
        echo()


def mute() -> None:
    """Closes its stdout and lives."""
    os.close(1)
    no_eof()


def unread() -> None:
    """Reads nothing before SIGUSR1."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGUSR1})
    say(b"ready\n")
    signal.sigwait({signal.SIGUSR1})
    echo()


def environment() -> None:
    say(b"".join(os.fsencode(f"{name}={value}\n") for name, value in sorted(os.environ.items())))


MODES: dict[str, Callable[..., None]] = {
    "echo": echo,
    "no-eof": no_eof,
    "stubborn": stubborn,
    "terminated": terminated,
    "tool": tool,
    "flood": flood,
    "long-line": long_line,
    "dies": dies,
    "flushes": flushes,
    "daemon": daemon,
    "mute": mute,
    "unread": unread,
    "environment": environment,
}

if __name__ == "__main__":
    MODES[sys.argv[1]](*sys.argv[2:])
