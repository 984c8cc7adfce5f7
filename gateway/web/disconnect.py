"""Slow work for a request, cancelled when the client disconnects.

In: a request and an async function. Out: the function's result, or `ClientDisconnect`. A route that answers at once
does not need it.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TypeVar

import anyio
from anyio import CancelScope
from starlette.requests import ClientDisconnect, Request

Result = TypeVar("Result")


async def run_until_disconnect(request: Request, work: Callable[[], Awaitable[Result]]) -> Result:
    """The result of `work`. Raises what it raises, and `ClientDisconnect` when the client left first."""
    results: list[Result] = []
    failures: list[Exception] = []
    async with anyio.create_task_group() as tasks:
        tasks.start_soon(_cancel_on_disconnect, request, tasks.cancel_scope)
        try:
            results.append(await work())
        except Exception as exc:  # Raised below: out of the task group it would come inside an exception group.
            failures.append(exc)
        tasks.cancel_scope.cancel()
    if failures:
        raise failures[0]
    if not results:
        raise ClientDisconnect
    return results[0]


async def _cancel_on_disconnect(request: Request, scope: CancelScope) -> None:
    while (await request.receive())["type"] != "http.disconnect":
        pass
    scope.cancel()
