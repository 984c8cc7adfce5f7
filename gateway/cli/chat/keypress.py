"""Reads single keys as they are pressed."""

from __future__ import annotations

import os
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager

ESCAPE = "\x1b"
END = "\x04"
"""Ctrl-D, or the terminal is gone."""


@contextmanager
def single_keys() -> Iterator[Callable[[], str]]:
    """Gives a function that waits for a key. Earlier input is discarded: it was no answer to this question. Ctrl-C
    stays a signal."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal, termios.TCSAFLUSH)
    try:
        yield lambda: _read_key(terminal)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _read_key(terminal: int) -> str:
    """Empty for anything but a single key, such as an arrow or pasted text: a letter in it would not be an answer."""
    pressed = os.read(terminal, 1024).decode("utf-8", "replace")
    if not pressed:
        return END
    return pressed if len(pressed) == 1 else ""
