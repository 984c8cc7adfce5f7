"""Waiting for something slow, as long as the client does.

In: a request and what is waited for. Out: what came of it, or the news that nobody is there to be told. A route that
answers at once does without.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
from anyio import CancelScope
from starlette.requests import ClientDisconnect, Request

Result = TypeVar("Result")


async def while_there(request: Request, wait: Callable[[], Awaitable[Result]]) -> Result:
    """Raises `ClientDisconnect` when the client has left; what was waited for is then cancelled."""
    found: list[Result] = []
    failures: list[Exception] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_listen, request, tasks.cancel_scope)
        try:
            found.append(await wait())
        except Exception as exc:  # as it is, and not as one of a group
            failures.append(exc)
        tasks.cancel_scope.cancel()
    if failures:
        raise failures[0]
    if not found:
        raise ClientDisconnect
    return found[0]


async def _listen(request: Request, scope: CancelScope) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
