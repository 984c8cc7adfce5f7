"""A coroutine held so that it can be let go: one that catches its cancellation and goes on must not live for ever.

In: a coroutine function. Out: an awaitable that does what its coroutine does, until `close_driver_sessions`; from then
on the next exception that reaches it (a cancellation) leaves at once, and the coroutine is dropped where it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from typing import Any


class Abandoned(BaseException):
    """What a coroutine that is let go is ended with. Not `GeneratorExit`: on Python 3.11 that does not reach into an
    async generator that the coroutine waits for."""


class Abandonable:
    def __init__(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        self._work = work
        self._held = True

    def close_driver_sessions(self) -> None:
        self._held = False

    def __await__(self) -> Generator[Any, Any, None]:
        coroutine = self._work()
        step: Callable[[Any], Any] = coroutine.send
        value: Any = None
        while True:
            try:
                waits_for = step(value)
            except StopIteration:
                return
            try:
                step, value = coroutine.send, (yield waits_for)
            except BaseException as exc:
                if not self._held or isinstance(exc, GeneratorExit):
                    drop(coroutine)
                    raise
                step, value = coroutine.throw, exc


def drop(coroutine: Coroutine[Any, Any, None]) -> None:
    """Whatever it does to its own end, nobody waits for it any more."""
    with suppress(BaseException):
        coroutine.throw(Abandoned())
    with suppress(Exception):
        coroutine.close()
