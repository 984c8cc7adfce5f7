"""Ctrl-C while a run goes on: the first asks the agent to stop, in order; the second ends this process at once.

Nothing is left behind either way: an agent's processes end with the one that started them.
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
    """`cancel`: asks the gateway to stop the run of this id. It may wait, so it is called in a thread."""

    def __init__(self, cancel: Callable[[str], None]) -> None:
        self._cancel = cancel
        self.run_id: str | None = None
        """The run under way; None: there is none, and a signal ends what this process waits for."""
        self.pressed = False

    @contextmanager
    def watching(self) -> Iterator[None]:
        before = {number: signal.signal(number, self._signal) for number in SIGNALS}
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _signal(self, number: int, frame: FrameType | None) -> None:
        if self.pressed:
            os._exit(CANCELLED)
        self.pressed = True
        if self.run_id is None:
            raise KeyboardInterrupt
        Thread(target=self._cancel, args=(self.run_id,), daemon=True).start()
