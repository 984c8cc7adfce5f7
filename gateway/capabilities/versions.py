"""The latest versions of one snapshot, and the event for a watcher that knows one of them.

In: the snapshot as it is now. Out: its newest version as an event: whole, and as a JSON Patch from the version that the
watcher knows; made once for all watchers that know the same version. Never: a queue; only the newest version counts.
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

MAX_VERSIONS = 16
"""Versions that are remembered, for watchers that reconnect."""


class Key(NamedTuple):
    """What is watched: everything that a snapshot depends on, and the view in which it is shown."""

    agent: str
    thread: str | None = None
    principal: str | None = None
    """The thread's principal, or the one that has credentials of its own; None: all principals see the same."""
    model: str | None = None
    view: str = "agui"
    explain: bool = False
    """With the source of each capability."""


@dataclass(frozen=True, slots=True)
class RenderedSnapshot:
    """A snapshot at one moment, in one view."""

    body: bytes
    """JSON."""
    version: str
    explain: bytes | None = None
    """The source of each capability, as JSON; None if the request did not ask for it."""

    def patch_from(self, known: RenderedSnapshot) -> Patch:
        return diff(orjson.loads(known.body), orjson.loads(self.body))


@dataclass(frozen=True, slots=True)
class FeedEvent:
    """One event for watchers."""

    number: int
    name: str
    """`snapshot`, `change`, or at the end `removed`."""
    data: bytes
    encoded: dict[str, bytes] = field(default_factory=dict)
    """Wire format → bytes; the first watcher that needs them fills it in."""


class Versions:
    """Of one key."""

    def __init__(self, clock: Callable[[], float] = time.time) -> None:
        self._clock = clock
        self._versions: deque[tuple[int, RenderedSnapshot]] = deque(maxlen=MAX_VERSIONS)
        self._events: dict[int | None, FeedEvent] = {}
        """Number of the version that a watcher knows → the event for it."""

    def publish(self, rendered: RenderedSnapshot) -> bool:
        """False if it equals the newest version."""
        if self._versions and _is_same(self._versions[-1][1], rendered):
            return False
        self._versions.append((self._next_number(), rendered))
        self._events = {}
        return True

    def after(self, number: int | None) -> FeedEvent | None:
        """The event for a watcher whose last event had this number; None if that is the newest. A number that is too
        old, or that the gateway never used, counts as none."""
        newest, rendered = self._versions[-1]
        if number == newest:
            return None
        known = next((version for known_number, version in self._versions if known_number == number), None)
        known_number = None if known is None else number
        if known_number not in self._events:
            self._events[known_number] = _build_event(newest, rendered, known)
        return self._events[known_number]

    def removed_event(self, reason: GatewayError) -> FeedEvent:
        return FeedEvent(self._next_number(), "removed", orjson.dumps(reason.problem()))

    def _next_number(self) -> int:
        """By the clock, in milliseconds, so that numbers grow after a restart too: no number means two versions."""
        last = self._versions[-1][0] if self._versions else 0
        return max(last + 1, int(self._clock() * 1000))


def _is_same(one: RenderedSnapshot, other: RenderedSnapshot) -> bool:
    """The version is a digest of the body."""
    return one.version == other.version and one.explain == other.explain


def _build_event(number: int, rendered: RenderedSnapshot, known: RenderedSnapshot | None) -> FeedEvent:
    version = orjson.dumps(rendered.version)
    fields = b'"capabilities":%b' % rendered.body
    if rendered.explain is not None:
        fields += b',"explain":%b' % rendered.explain
    if known is None:
        return FeedEvent(number, "snapshot", b'{"version":%b,%b}' % (version, fields))
    patch = orjson.dumps(rendered.patch_from(known))
    return FeedEvent(number, "change", b'{"version":%b,"patch":%b,%b}' % (version, patch, fields))
