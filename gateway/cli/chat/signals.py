"""Ctrl-C during a run: the first asks the gateway to cancel the run, the second ends this process at once.

No agent is left behind either way: its processes end with the one that started them.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Thread
from types import FrameType

from gateway.cli.exit import CANCELLED

SIGNALS = (signal.SIGINT, signal.SIGTERM)


class CtrlC:
    """Handles SIGINT and SIGTERM. `cancel`: asks the gateway to cancel a run; called in a thread, because it waits."""

    def __init__(self, cancel: Callable[[str], None]) -> None:
        self._cancel = cancel
        self._run_id: str | None = None
        self.is_pressed = False

    def run_started(self, run_id: str) -> None:
        """From now on a signal cancels this run."""
        self._run_id = run_id

    def run_ended(self) -> None:
        """From now on a signal raises `KeyboardInterrupt`."""
        self._run_id = None

    @contextmanager
    def installed(self) -> Iterator[None]:
        """Restores the earlier handlers at the end."""
        before = {number: signal.signal(number, self._handle) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _handle(self, number: int, frame: FrameType | None) -> None:
        if self.is_pressed:
            os._exit(CANCELLED)
        self.is_pressed = True
        if self._run_id is None:
            raise KeyboardInterrupt
        Thread(target=self._cancel, args=(self._run_id,), daemon=True).start()
