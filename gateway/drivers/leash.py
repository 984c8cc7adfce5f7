"""A coroutine held so that it can be let go: one that catches its cancellation and goes on must not live for ever.

In: any coroutine. Out: an awaitable that behaves as the coroutine does, until `let_go`; from then on the next exception
that reaches it (a cancellation) leaves at once, and the coroutine is dropped where it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from typing import Any


class Leash:
    def __init__(self, coroutine: Coroutine[Any, Any, None]) -> None:
        self._coroutine = coroutine
        self._held = True

    def let_go(self) -> None:
        self._held = False

    def __await__(self) -> Generator[Any, Any, None]:
        step: Callable[[Any], Any] = self._coroutine.send
        value: Any = None
        while True:
            try:
                waits_for = step(value)
            except StopIteration:
                return
            try:
                step, value = self._coroutine.send, (yield waits_for)
            except BaseException as exc:
                if not self._held or isinstance(exc, GeneratorExit):
                    self._drop()
                    raise
                step, value = self._coroutine.throw, exc

    def _drop(self) -> None:
        # Whatever it says to its own end, nobody waits for it any more.
        with suppress(Exception):
            self._coroutine.close()
