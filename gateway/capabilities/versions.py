"""The last versions of a snapshot, and what somebody who knows one of them must be told.

In: what is shown now. Out: the newest state as an event, whole and as a JSON Patch from the one that is known; made
once for all who know the same. Nothing is queued: only the newest state counts.
"""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import NamedTuple

import orjson

from gateway.errors import GatewayError
from gateway.json_patch import Patch, diff

RING = 16
"""Versions that are remembered, for watchers that come back."""


class Key(NamedTuple):
    """What is watched: all that a snapshot depends on, and the form in which it is shown."""

    agent: str
    thread: str | None = None
    principal: str | None = None
    """Whose thread it is; None without a thread: then all see the same."""
    model: str | None = None
    view: str = "agui"
    explain: bool = False
    """With who said each leaf."""


@dataclass(frozen=True, slots=True)
class RenderedSnapshot:
    """What is to be seen at one moment."""

    body: bytes
    """JSON."""
    version: str
    explain: bytes | None = None
    """Who said each leaf, as JSON; None: that was not asked for."""

    def patch_from(self, known: RenderedSnapshot) -> Patch:
        return diff(orjson.loads(known.body), orjson.loads(self.body))


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """One event for watchers."""

    number: int
    name: str
    """`snapshot`, `change`, or at the end `gone`."""
    data: bytes
    encoded: dict[str, bytes] = field(default_factory=dict)
    """Wire format → bytes; filled by the first who needs them."""


class Versions:
    """Of one key."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._ring: deque[tuple[int, RenderedSnapshot]] = deque(maxlen=RING)
        self._told: dict[int | None, FeedEvent] = {}

    def publish(self, shown: RenderedSnapshot) -> bool:
        """False: nothing is new."""
        if self._ring and _same(self._ring[-1][1], shown):
            return False
        self._ring.append((self._next_number(), shown))
        self._told = {}
        return True

    def after(self, number: int | None) -> FeedEvent | None:
        """The newest, for somebody whose last one had this number; None: that is the newest. A number that is too old,
        or none of ours, counts as none."""
        newest, shown = self._ring[-1]
        if number == newest:
            return None
        known = next((past for its, past in self._ring if its == number), None)
        since = None if known is None else number
        if since not in self._told:
            self._told[since] = _told(newest, shown, known)
        return self._told[since]

    def farewell(self, reason: GatewayError) -> FeedEvent:
        return FeedEvent(self._next_number(), "removed", orjson.dumps(reason.problem()))

    def _next_number(self) -> int:
        """By the clock, in milliseconds, so that numbers grow beyond a restart too: none ever means two versions."""
        last = self._ring[-1][0] if self._ring else 0
        return max(last + 1, int(self._clock() * 1000))


def _same(one: RenderedSnapshot, other: RenderedSnapshot) -> bool:
    """The version is a digest of the body."""
    return one.version == other.version and one.explain == other.explain


def _told(number: int, shown: RenderedSnapshot, known: RenderedSnapshot | None) -> FeedEvent:
    version, whole = orjson.dumps(shown.version), b'"capabilities":%b' % shown.body
    if shown.explain is not None:
        whole += b',"explain":%b' % shown.explain
    if known is None:
        return FeedEvent(number, "snapshot", b'{"version":%b,%b}' % (version, whole))
    patch = orjson.dumps(shown.patch_from(known))
    return FeedEvent(number, "change", b'{"version":%b,"patch":%b,%b}' % (version, patch, whole))
