"""Wrong tokens, counted by the address that sends them.

In: that an address sent a wrong token, or a right one. Out: nothing, or `LimitReached` (429) once the address has sent
`max_failed_logins` in a minute. Then a right token is refused too, unless its principal was here from this address
before: so guessing is bounded, and no guesser locks out a client that is at work behind the same proxy. The log gets
one line a minute, however many attempts there are. A request without any token is no attempt.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from ipaddress import IPv6Address, ip_address

from gateway.errors import LimitReached
from gateway.limits import Bucket
from gateway.settings import Settings

WINDOW_SECONDS = 60.0
MAX_ADDRESSES = 10_000
"""Of more, those that have been quiet for a minute are forgotten, then the oldest."""
MAX_KNOWN = 10_000
"""Addresses with their principals that are remembered."""
NETWORK_BYTES = 8
"""Of an IPv6 address: one client has all addresses of its network."""

log = logging.getLogger(__name__)


class LoginAttempts:
    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._limit = settings.max_failed_logins
        self._clock = clock
        self._buckets: dict[str, Bucket] = {}
        self._known: dict[tuple[str, str], None] = {}
        self._unlogged = 0
        self._logged_at = -WINDOW_SECONDS

    def accept(self, address: str, principal: str) -> None:
        """The token is right. Raises `LimitReached` if the address has sent too many wrong ones, and this principal has
        not been there before."""
        name = network_of(address)
        if (name, principal) in self._known:
            return
        if self._is_blocked(name):
            raise self._refusal(address)
        if len(self._known) >= MAX_KNOWN:
            del self._known[next(iter(self._known))]
        self._known[name, principal] = None

    def reject(self, address: str) -> None:
        """The token is wrong. Raises `LimitReached` if there were too many before."""
        self._report(address)
        name = network_of(address)
        now = self._clock()
        bucket = self._buckets.get(name)
        if bucket is None:
            self._forget_quiet(now)
            bucket = self._buckets[name] = Bucket(self._limit / WINDOW_SECONDS, self._limit, now, self._limit)
        if bucket.take(now, 1.0):
            raise self._refusal(address)

    def _is_blocked(self, name: str) -> bool:
        bucket = self._buckets.get(name)
        return bucket is not None and bucket.wait(self._clock(), 1.0) > 0.0

    def _forget_quiet(self, now: float) -> None:
        if len(self._buckets) < MAX_ADDRESSES:
            return
        self._buckets = {name: each for name, each in self._buckets.items() if not each.is_full(now)}
        if len(self._buckets) >= MAX_ADDRESSES:
            del self._buckets[next(iter(self._buckets))]

    def _report(self, address: str) -> None:
        self._unlogged += 1
        if self._clock() - self._logged_at >= WINDOW_SECONDS:
            log.warning("%d request(s) with a wrong token, the last from %s", self._unlogged, address)
            self._unlogged = 0
            self._logged_at = self._clock()

    def _refusal(self, address: str) -> LimitReached:
        detail = (
            f"{address} has sent more than {self._limit} wrong tokens in a minute (max_failed_logins). Check the "
            "token, and try again in a minute."
        )
        return LimitReached(detail, "max_failed_logins", self._limit, WINDOW_SECONDS)


def network_of(address: str) -> str:
    """The address itself; of an IPv6 address, its network."""
    try:
        parsed = ip_address(address)
    except ValueError:
        return address
    if not isinstance(parsed, IPv6Address):
        return address
    mapped = parsed.ipv4_mapped
    return str(mapped) if mapped is not None else parsed.packed[:NETWORK_BYTES].hex()
