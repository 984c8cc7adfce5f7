"""How much a server may send: a flood ends the connection, not the gateway."""

from __future__ import annotations

import time
from collections.abc import Callable

from gateway.drivers.mcp_client.server_config import Unusable

BURST = 8 * 1024 * 1024
"""Bytes at once: a list of many tools with long schemas."""
RATE = 64 * 1024
"""Bytes a second after that: a server that is asked for its tools has little to say."""
LINE = 256
"""What a line costs beside its bytes: many small messages are more work than a large one."""
MESSAGE = 2 * 1024 * 1024
"""Bytes of one message: to read it keeps the gateway for a tenth of a second."""


class Budget:
    """Of one connection."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock, self._left, self._at = clock, float(BURST), clock()

    def spend(self, data: bytes) -> None:
        """Raises `Unusable` when there is nothing left."""
        now = self._clock()
        self._left = min(BURST, self._left + (now - self._at) * RATE)
        self._left -= len(data) + LINE * data.count(b"\n")
        self._at = now
        if self._left < 0:
            raise Unusable(f"it floods the gateway with more than {BURST // 2**20} MiB; its tools are not asked for")
