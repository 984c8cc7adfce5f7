"""The streams that are being sent, so that they end when the server stops and the gateway has not ended them.

In: the cancel scope of each stream. Out: its end, some time after the server began to shut down. sse-starlette notices
the server's shutdown, also in a process of others. Its own streams wait for that in a task each; here one task waits
for all.
"""

from __future__ import annotations

import anyio
from anyio import CancelScope
from sse_starlette import EventSourceResponse


class LiveStreams:
    def __init__(self, grace_seconds: float) -> None:
        """`grace_seconds`: how long streams may go on after the server began to shut down."""
        self._grace_seconds = grace_seconds
        self._scopes: set[CancelScope] = set()

    def add(self, scope: CancelScope) -> None:
        self._scopes.add(scope)

    def remove(self, scope: CancelScope) -> None:
        self._scopes.discard(scope)

    async def end_at_shutdown(self) -> None:
        await EventSourceResponse._listen_for_exit_signal()
        await anyio.sleep(self._grace_seconds)
        for scope in list(self._scopes):
            scope.cancel()
