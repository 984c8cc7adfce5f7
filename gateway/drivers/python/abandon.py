"""A coroutine that can be abandoned: one that catches its cancellation and goes on must not live for ever.

In: a coroutine function. Out: an awaitable that does what its coroutine does until `abandon` is called; from then on
the next exception that reaches it (a cancellation) leaves at once, and the coroutine is dropped where it stands.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Generator
from contextlib import suppress
from typing import Any


class Abandoned(BaseException):
    """Raised inside an abandoned coroutine to end it. Not `GeneratorExit`: on Python 3.11 that does not reach into an
    async generator that the coroutine waits for."""


class Abandonable:
    def __init__(self, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """To be awaited once. `work` is forgotten then: its owner has this object, and both would be a cycle."""
        self._work: Callable[[], Coroutine[Any, Any, None]] | None = work
        self._is_abandoned = False

    def abandon(self) -> None:
        self._is_abandoned = True

    def __await__(self) -> Generator[Any, Any, None]:
        assert self._work is not None
        coroutine = self._work()
        self._work = None
        resume: Callable[[Any], Any] = coroutine.send
        value: Any = None
        while True:
            try:
                future = resume(value)
            except StopIteration:
                return
            try:
                resume, value = coroutine.send, (yield future)
            except BaseException as exc:
                if self._is_abandoned or isinstance(exc, GeneratorExit):
                    end_coroutine(coroutine)
                    raise
                resume, value = coroutine.throw, exc


def end_coroutine(coroutine: Coroutine[Any, Any, None]) -> None:
    """What it does against its end is ignored."""
    with suppress(BaseException):
        coroutine.throw(Abandoned())
    with suppress(Exception):
        coroutine.close()
