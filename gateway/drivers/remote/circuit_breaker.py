"""A circuit breaker: an agent that failed several times in a row gets no requests for a while."""

from __future__ import annotations

import time

from gateway.catalog.sections import CircuitBreaker as Limits


class CircuitBreaker:
    def __init__(self, limits: Limits) -> None:
        self._limits = limits
        self._open_until = 0.0
        self.failures = 0
        """In a row."""
        self.reason = ""
        """Why the last request failed."""

    @property
    def open_seconds(self) -> float:
        """How much longer no request is sent; 0 or less: requests are sent."""
        return self._open_until - time.monotonic()

    def add_failure(self, reason: str) -> None:
        self.failures += 1
        self.reason = reason
        if self.failures >= self._limits.failures:
            self._open_until = time.monotonic() + self._limits.cooldown

    def add_success(self) -> None:
        self.failures = 0
        self._open_until = 0.0
