"""How much a server may send: a flood ends the connection, not the gateway."""

from __future__ import annotations

import time
from collections.abc import Callable

from gateway.drivers.mcp_client.server_config import ServerUnusable

BURST_BYTES = 8 * 1024 * 1024
"""At once: a list of many tools with long schemas."""
RATE_BYTES_PER_SECOND = 64 * 1024
"""After the burst: a server that only lists its tools has little to send."""
LINE_COST_BYTES = 256
"""What a line costs beside its bytes: many small messages are more work than a large one."""
MAX_MESSAGE_BYTES = 2 * 1024 * 1024
"""To parse a message of this size takes the gateway a tenth of a second."""


class ByteBudget:
    """Of one connection."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._remaining = float(BURST_BYTES)
        self._updated_at = clock()

    def spend(self, data: bytes) -> None:
        """Raises `ServerUnusable` when the budget is used up."""
        now = self._clock()
        self._remaining = min(BURST_BYTES, self._remaining + (now - self._updated_at) * RATE_BYTES_PER_SECOND)
        self._remaining -= len(data) + LINE_COST_BYTES * data.count(b"\n")
        self._updated_at = now
        if self._remaining < 0:
            raise ServerUnusable(
                f"it floods the gateway with more than {BURST_BYTES // 2**20} MiB; its tools are not listed"
            )
