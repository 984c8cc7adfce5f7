"""The real command, as somebody types it: into a pipe to its end, or at a terminal, key by key.

Waits are for words that must come, with a bound; nothing waits for a time.
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

LIMIT = 60.0
ESCAPES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")
ROWS, COLUMNS = 40, 120
OWN_TERMINAL = (
    "import fcntl, os, sys, termios; fcntl.ioctl(0, termios.TIOCSCTTY, 0); os.execv(sys.argv[1], sys.argv[1:])"
)
"""So that Ctrl-C is a signal there: a terminal sends it to those whose own it is."""


def environ(home: Path, **more: str) -> dict[str, str]:
    """Nothing of the caller's settings; what the gateway keeps, it keeps in `home`."""
    found = {name: value for name, value in os.environ.items() if not name.startswith((ENV_PREFIX, "COLUMNS"))}
    return {**found, "XDG_DATA_HOME": str(home), "NO_COLOR": "1", "TERM": "xterm-256color", **more}


def typed(
    home: Path, *arguments: str, stdin: str = "", env: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """`agui-gateway ARGUMENTS` in a pipe, to its end."""
    return subprocess.run(
        [sys.executable, "-m", "gateway", *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        timeout=LIMIT,
        env=environ(home, **(env or {})),
        cwd=home,
    )


class Terminal:
    """`with Terminal(home, "run", "demo", "approve") as terminal:` ends it with the block."""

    def __init__(self, home: Path, *arguments: str, **env: str) -> None:
        self._screen, self._seen = "", 0
        self._ours, theirs = pty.openpty()
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", ROWS, COLUMNS, 0, 0))
        self.process = subprocess.Popen(
            [sys.executable, "-c", OWN_TERMINAL, sys.executable, "-m", "gateway", *arguments],
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
            env=environ(home, **env),
            cwd=home,
            start_new_session=True,
        )
        os.close(theirs)

    def __enter__(self) -> Terminal:
        return self

    def __exit__(self, *exc: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.process.kill()
        self.process.wait(LIMIT)
        os.close(self._ours)

    def until(self, words: str) -> str:
        """Waits until these words stand there, after those that were waited for before; what came with them."""
        deadline = time.monotonic() + LIMIT
        while words not in self._screen[self._seen :]:
            assert self._more(deadline), f"{words!r} did not come:\n{self._screen}"
        before, self._seen = self._seen, self._screen.index(words, self._seen) + len(words)
        return self._screen[before : self._seen]

    def press(self, keys: str) -> None:
        os.write(self._ours, keys.encode())

    def end(self) -> int:
        """The exit code, when it has come to its end."""
        deadline = time.monotonic() + LIMIT
        while self._more(deadline):
            pass
        return self.process.wait(LIMIT)

    @property
    def screen(self) -> str:
        """All that came, without what only moves and colours."""
        return ESCAPES.sub("", self._screen)

    @property
    def raw(self) -> str:
        return self._screen

    def _more(self, deadline: float) -> bool:
        ready, _, _ = select.select([self._ours], [], [], max(0.0, deadline - time.monotonic()))
        assert ready, f"nothing more came:\n{self._screen}"
        data = b""
        with suppress(OSError):  # EIO: whoever had it open is gone
            data = os.read(self._ours, 65536)
        self._screen += data.decode("utf-8", "replace").replace("\r\n", "\n")
        return bool(data)
