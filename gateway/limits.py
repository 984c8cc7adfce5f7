"""Limits of one principal: how much of the gateway it may have at once, so that others have the rest.

In: a limit, a principal, an amount. Out: a `Hold`, which its owner releases; or `LimitReached` (429), which names the
limit, its value, whose it is and what to do, with the seconds after which to try again. Where all principals together
are at their bound it is `Busy` (503) instead. Counters are taken and released without awaiting. `LIMITS`, at the end,
is the list of them.

A principal's limit is a setting. If the operator has not set it, it is a quarter of the bound for all principals
together. Where the gateway asks for no token there is one principal, `local`: no other one needs a share, so only
limits that the operator has set apply to it, beside the bounds for all.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from types import TracebackType

from gateway.errors import Busy, LimitReached
from gateway.identity import LOCAL
from gateway.settings import Settings

SHARE = 4
"""One of so many equal parts of the bound for all is a principal's limit, unless the operator set another."""
DEFAULT_REQUESTS_PER_SECOND = 200.0
BYTES_PER_REQUEST = 16 * 1024
"""A request counts once more for each so many bytes of its body: what it costs grows with them. Most of that is the
store: the input and the log of a run are written before its client reads the end, and all runs share one writer."""
MAX_IDLE_BUCKETS = 10_000
"""Principals whose buckets are kept; a full bucket can be forgotten."""
CAPACITY_RETRY_SECONDS = 5.0
"""After which to try again where a place gets free when something ends: the moment cannot be predicted."""


@dataclass(frozen=True, slots=True)
class Limit:
    """One limit of a principal."""

    setting: str
    total: str
    """The setting with the bound for all principals together."""
    noun: str
    """What is counted: `live runs`."""
    advice: str
    is_total_checked_here: bool = False
    """The bound for all is checked by `acquire`. Otherwise the part that owns the things checks it."""


class Hold:
    """An amount that a principal has, until it is released. May be released twice."""

    __slots__ = ("_amount", "_limit", "_limits", "_principal")

    def __init__(self, limits: PrincipalLimits, limit: Limit, principal: str) -> None:
        self._limits = limits
        self._limit = limit
        self._principal = principal
        self._amount = 0

    def add(self, amount: int) -> None:
        """Raises `LimitReached` or `Busy`; what was held before is still held then."""
        self._limits._take(self._limit, self._principal, amount)
        self._amount += amount

    def release(self) -> None:
        amount, self._amount = self._amount, 0
        if amount:
            self._limits._give_back(self._limit, self._principal, amount)

    def __enter__(self) -> Hold:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, exc: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.release()


@dataclass(slots=True)
class Bucket:
    """A token bucket: `rate` tokens a second come in, up to `burst`."""

    rate: float
    burst: float
    at: float
    tokens: float = field(default=0.0)

    def take(self, now: float, amount: float) -> float:
        """0.0, and the tokens are taken; or the seconds until there are enough. An amount above `burst` waits for a
        full bucket, and leaves a debt."""
        if seconds := self.wait(now, amount):
            return seconds
        self.tokens -= amount
        return 0.0

    def wait(self, now: float, amount: float) -> float:
        """The seconds until there are enough; 0.0: there are."""
        self.tokens = min(self.burst, self.tokens + (now - self.at) * self.rate)
        self.at = now
        return max(0.0, min(amount, self.burst) - self.tokens) / self.rate

    def is_full(self, now: float) -> bool:
        return self.tokens + (now - self.at) * self.rate >= self.burst


class PrincipalLimits:
    """The counters of all principals, and their rates."""

    def __init__(self, settings: Settings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._held: dict[tuple[Limit, str], int] = {}
        self._totals: dict[Limit, int] = {}
        self._buckets: dict[str, Bucket] = {}

    # -- amounts

    def value(self, limit: Limit, principal: str) -> int | None:
        """None: only the bound for all principals together holds."""
        own: int | None = getattr(self._settings, limit.setting)
        if own is not None or principal == LOCAL:
            return own
        total: int = getattr(self._settings, limit.total)
        return max(1, total // SHARE)

    def held(self, limit: Limit, principal: str) -> int:
        return self._held.get((limit, principal), 0)

    def hold(self, limit: Limit, principal: str) -> Hold:
        """Nothing yet: to be added to."""
        return Hold(self, limit, principal)

    def acquire(self, limit: Limit, principal: str, amount: int = 1) -> Hold:
        """Raises `LimitReached`, or `Busy` where all principals together are at their bound."""
        hold = Hold(self, limit, principal)
        hold.add(amount)
        return hold

    def check(self, limit: Limit, principal: str, amount: int = 1) -> None:
        """Raises what `acquire` would."""
        self.check_count(limit, principal, self.held(limit, principal), amount)
        if limit.is_total_checked_here:
            total: int = getattr(self._settings, limit.total)
            if self._totals.get(limit, 0) + amount > total:
                raise Busy(f"all clients together have {total} {limit.noun} ({limit.total}); try again later")

    def check_count(self, limit: Limit, principal: str, count: int, amount: int = 1) -> None:
        """For things that their owner counts. Raises `LimitReached`."""
        value = self.value(limit, principal)
        if value is not None and count + amount > value:
            detail = f"{principal!r} has its {value} {limit.noun} already ({limit.setting}). {limit.advice}"
            raise LimitReached(detail, limit.setting, value, CAPACITY_RETRY_SECONDS)

    def _take(self, limit: Limit, principal: str, amount: int) -> None:
        self.check(limit, principal, amount)
        key = limit, principal
        self._held[key] = self._held.get(key, 0) + amount
        self._totals[limit] = self._totals.get(limit, 0) + amount

    def _give_back(self, limit: Limit, principal: str, amount: int) -> None:
        key = limit, principal
        self._totals[limit] -= amount
        self._held[key] -= amount
        if not self._held[key]:
            del self._held[key]

    # -- rates

    def spend_request(self, principal: str, body_bytes: int | None = None) -> None:
        """One request, or one message of a WebSocket; or so many bytes of its body. Raises `LimitReached`."""
        rate = self._settings.max_requests_per_second
        if rate is None:
            if principal == LOCAL:
                return
            rate = DEFAULT_REQUESTS_PER_SECOND
        amount = 1.0 if body_bytes is None else body_bytes / BYTES_PER_REQUEST
        now = self._clock()
        bucket = self._buckets.get(principal)
        if bucket is None:
            bucket = self._add_bucket(principal, rate, now)
        if seconds := bucket.take(now, amount):
            detail = (
                f"{principal!r} sends more than {rate:g} requests a second (max_requests_per_second; a body counts "
                f"once more for each {BYTES_PER_REQUEST // 1024} KiB). Send them more slowly."
            )
            raise LimitReached(detail, "max_requests_per_second", rate, seconds)

    def _add_bucket(self, principal: str, rate: float, now: float) -> Bucket:
        if len(self._buckets) >= MAX_IDLE_BUCKETS:
            self._buckets = {name: each for name, each in self._buckets.items() if not each.is_full(now)}
        burst = float(self._settings.max_request_burst)
        bucket = self._buckets[principal] = Bucket(rate, burst, now, burst)
        return bucket


RUNS = Limit(
    "max_runs_per_principal",
    "max_runs",
    "live runs",
    "Wait until one has ended, or cancel one (POST /runs/{run}/cancel).",
)
SESSIONS = Limit(
    "max_sessions_per_principal",
    "max_sessions",
    "sessions of agents in use",
    "Wait until a run has ended, or answer an open interrupt.",
    is_total_checked_here=True,
)
SOCKETS = Limit(
    "max_sockets_per_principal",
    "max_sockets",
    "open WebSockets",
    "Close one: a WebSocket carries any number of runs.",
    is_total_checked_here=True,
)
THREAD_FEEDS = Limit(
    "max_thread_feeds_per_principal",
    "max_thread_feeds",
    "open feeds of thread events",
    "Close one, and read it again later with Last-Event-ID: no event is missed.",
    is_total_checked_here=True,
)
WATCHERS = Limit(
    "max_watchers_per_principal",
    "max_watchers",
    "open capability feeds",
    "Close one, or ask without text/event-stream.",
)
MCP_SERVERS = Limit(
    "max_mcp_servers_per_principal",
    "max_mcp_servers",
    "MCP servers whose tools are listed",
    "A later run retries.",
)
QUEUED = Limit(
    "max_queued_per_principal",
    "max_queued",
    "queued messages",
    "Post it again when some were delivered; the events of the threads report each.",
)
BODY_BYTES = Limit(
    "max_body_bytes_per_principal",
    "max_body_bytes",
    "bytes of request bodies in flight",
    "Send large bodies one after the other.",
    is_total_checked_here=True,
)

LIMITS = (RUNS, SESSIONS, SOCKETS, THREAD_FEEDS, WATCHERS, MCP_SERVERS, QUEUED, BODY_BYTES)
"""All counted limits."""
