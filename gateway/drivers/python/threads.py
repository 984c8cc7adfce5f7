"""A blocking function in a thread of its own.

Not one of anyio's worker threads: those are few, shared with the store, and the process waits for them at its end. An
agent that blocks for ever would take the place of others and keep the gateway from stopping.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from contextvars import copy_context
from threading import Thread


async def run_in_thread(work: Callable[[], None]) -> None:
    """Until it is done; raises what the function raised. When the caller is cancelled, the thread is left running."""
    loop = asyncio.get_running_loop()
    done: asyncio.Future[BaseException | None] = loop.create_future()
    context = copy_context()

    def finish(error: BaseException | None) -> None:
        if not done.done():
            done.set_result(error)

    def run() -> None:
        error: BaseException | None = None
        try:
            context.run(work)
        except BaseException as exc:  # raised again on the event loop
            error = exc
        with suppress(RuntimeError):  # the loop is closed: no task waits any more
            loop.call_soon_threadsafe(finish, error)

    Thread(target=run, name="agent", daemon=True).start()
    if (error := await done) is not None:
        raise error
