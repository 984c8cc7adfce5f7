"""Tasks in the background, and how far the failure of one reaches: not beyond itself.

In: a task group. Out: something that starts tasks in it, as the group itself does, and writes what goes wrong in one
into the log. A group by itself would cancel every other task, and with it all agents and all runs, because of one.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVarTuple

log = logging.getLogger(__name__)

Ts = TypeVarTuple("Ts")
Work = Callable[..., Coroutine[Any, Any, Any]]


class Tasks(Protocol):
    """What those need who only begin tasks: every task group of anyio is one."""

    def start_soon(
        self, func: Callable[[*Ts], Coroutine[Any, Any, Any]], *args: *Ts, name: object = None
    ) -> object: ...

    async def start(self, func: Work, *args: object, name: object = None) -> Any: ...


class ContainedTasks:
    """A task group whose tasks fail alone. Cancelling the group ends them all the same."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks

    def start_soon(self, func: Callable[[*Ts], Coroutine[Any, Any, Any]], *args: *Ts, name: object = None) -> None:
        self._tasks.start_soon(_alone, func, args, name=name or _name(func))

    async def start(self, func: Work, *args: object, name: object = None) -> Any:
        """What it raises before it has started is its caller's, as ever."""
        return await self._tasks.start(_alone_once_started, func, args, name=name or _name(func))


async def _alone(func: Work, args: tuple[Any, ...]) -> None:
    try:
        await func(*args)
    except Exception:  # whatever it is: others have nothing to do with it
        log.exception("a task of the gateway's own failed: %s", _name(func))


async def _alone_once_started(func: Work, args: tuple[Any, ...], *, task_status: Any) -> None:
    noticing = _Noticing(task_status)
    try:
        await func(*args, task_status=noticing)
    except Exception:
        if not noticing.started_:
            raise
        log.exception("a task of the gateway's own failed: %s", _name(func))


class _Noticing:
    """A task's status that remembers whether it was told."""

    def __init__(self, status: Any) -> None:
        self._status, self.started_ = status, False

    def started(self, value: Any = None) -> None:
        self._status.started(value)
        self.started_ = True


def _name(func: Work) -> str:
    return getattr(func, "__qualname__", None) or repr(func)
