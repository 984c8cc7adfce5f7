"""Background tasks whose failure ends only themselves.

In: a task group. Out: an object that starts tasks in it, as the group itself does, and logs what a task raises. A plain
group would cancel every other task, and with it all agents and all runs, because one task failed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Coroutine
from typing import Any, Protocol, TypeVarTuple

log = logging.getLogger(__name__)

Ts = TypeVarTuple("Ts")
TaskFunction = Callable[..., Coroutine[Any, Any, Any]]


class Tasks(Protocol):
    """What code needs that only starts tasks. Every task group of anyio is one."""

    def start_soon(
        self, func: Callable[[*Ts], Coroutine[Any, Any, Any]], *args: *Ts, name: object = None
    ) -> object: ...

    async def start(self, func: TaskFunction, *args: object, name: object = None) -> Any: ...


class ContainedTasks:
    """A task group whose tasks fail alone. Cancelling the group still ends them all."""

    def __init__(self, tasks: Tasks) -> None:
        self._tasks = tasks

    def start_soon(self, func: Callable[[*Ts], Coroutine[Any, Any, Any]], *args: *Ts, name: object = None) -> None:
        self._tasks.start_soon(_run_contained, func, args, name=name or _name(func))

    async def start(self, func: TaskFunction, *args: object, name: object = None) -> Any:
        """What the task raises before it reports that it has started is raised here."""
        return await self._tasks.start(_run_contained_once_started, func, args, name=name or _name(func))


async def _run_contained(func: TaskFunction, args: tuple[Any, ...]) -> None:
    try:
        await func(*args)
    except Exception:  # other tasks do not depend on it
        log.exception("a background task of the gateway failed: %s", _name(func))


async def _run_contained_once_started(func: TaskFunction, args: tuple[Any, ...], *, task_status: Any) -> None:
    status = _RecordedStatus(task_status)
    try:
        await func(*args, task_status=status)
    except Exception:
        if not status.has_started:
            raise
        log.exception("a background task of the gateway failed: %s", _name(func))


class _RecordedStatus:
    """A task status that remembers whether the task has reported its start."""

    def __init__(self, status: Any) -> None:
        self._status = status
        self.has_started = False

    def started(self, value: Any = None) -> None:
        self._status.started(value)
        self.has_started = True


def _name(func: TaskFunction) -> str:
    return getattr(func, "__qualname__", None) or repr(func)
