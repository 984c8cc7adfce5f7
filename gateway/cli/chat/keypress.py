"""One key, read as it is pressed."""

from __future__ import annotations

import os
import sys
import termios
import tty
from collections.abc import Callable, Iterator
from contextlib import contextmanager

ESCAPE = "\x1b"
END = "\x04"
"""Ctrl-D, and what a terminal that is gone says."""


@contextmanager
def single_keys() -> Iterator[Callable[[], str]]:
    """Gives a function that waits for a key. What was typed before is thrown away: it was no answer to what is asked
    now. Ctrl-C stays a signal."""
    terminal = sys.stdin.fileno()
    before = termios.tcgetattr(terminal)
    tty.setcbreak(terminal, termios.TCSAFLUSH)
    try:
        yield lambda: _key(terminal)
    finally:
        termios.tcsetattr(terminal, termios.TCSADRAIN, before)


def _key(terminal: int) -> str:
    """Empty for what is no single key: an arrow, or something pasted, in which a letter would not be an answer."""
    pressed = os.read(terminal, 1024).decode("utf-8", "replace")
    if not pressed:
        return END
    return pressed if len(pressed) == 1 else ""
