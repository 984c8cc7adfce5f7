"""Runs the real command: in a pipe until it ends, or in a pseudo terminal, key by key.

Every wait is for text that must appear, with a timeout; nothing sleeps.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import select
import struct
import subprocess
import sys
import termios
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType

from gateway.settings import ENV_PREFIX

TIMEOUT_SECONDS = 60.0
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
ROWS, COLUMNS = 40, 120
OWN_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)
"""Makes the pseudo terminal the controlling one, so that Ctrl-C is a signal."""


def environment(home: Path, **more: str) -> dict[str, str]:
    """The environment without settings of the gateway. Its data is stored beside `home`, where the agents work."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith((ENV_PREFIX, "COLUMNS"))}
    return {**inherited, **user_folders(home), "NO_COLOR": "1", "TERM": "xterm-256color", **more}


def user_folders(home: Path) -> dict[str, str]:
    """The user's folders for data and configuration."""
    return {f"XDG_{kind.upper()}_HOME": str(home.with_name(f"{home.name}-{kind}")) for kind in ("data", "config")}


def run_command(
    home: Path, *arguments: str, stdin: str = "", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """`agui-gateway ARGUMENTS` in a pipe, until it ends."""
    return subprocess.run(
        [sys.executable, "-m", "gateway", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
        env=environment(home, **(env or {})),
        cwd=home,
    )


class Terminal:
    """`with Terminal(home, "run", "demo", "approve") as terminal:` ends it with the block."""

    def __init__(self, home: Path, *arguments: str, **env: str) -> None:
        self._screen = ""
        self._position = 0
        self._parent, child = pty.openpty()
        fcntl.ioctl(child, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-c", OWN_TERMINAL, sys.executable, "-m", "gateway", *arguments],
            stdin=child,
            stdout=child,
            stderr=child,
            env=environment(home, **env),
            cwd=home,
            start_new_session=True,
        )
        os.close(child)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *exc: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.process.kill()
        self.process.wait(TIMEOUT_SECONDS)
        os.close(self._parent)

    def until(self, text: str) -> str:
        """Waits for this text after the one that was waited for before; returns the output up to its end."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while text not in self._screen[self._position :]:
            assert self._more(deadline), f"{text!r} did not appear:\n{self._screen}"
        start = self._position
        self._position = self._screen.index(text, start) + len(text)
        return self._screen[start : self._position]

    def press(self, keys: str) -> None:
        os.write(self._parent, keys.encode())

    def end(self) -> int:
        """Waits for the end; returns the exit code."""
        deadline = time.monotonic() + TIMEOUT_SECONDS
        while self._more(deadline):
            pass
        return self.process.wait(TIMEOUT_SECONDS)

    @property
    def screen(self) -> str:
        """The whole output without escape sequences."""
        return ESCAPES.sub("", self._screen)

    @property
    def raw(self) -> str:
        return self._screen

    def _more(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._parent], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"no more output:\n{self._screen}"
        data = b""
        with suppress(OSError):  # EIO: the command has closed it
            data = os.read(self._parent, 65536)
        self._screen += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)
