"""A turn that announces when its thread's snapshot has changed: `CUSTOM` `capabilities.changed`.

In: a live turn, and the snapshot that its run was checked against. Out: the turn's own batches, and before some of them
an event with the new version and a JSON Patch from the last one that was announced; the first patch starts from what
held before the turn. Text costs nothing here: a batch costs a look at its types and at the clock.
"""

from __future__ import annotations

import logging
import re
from time import monotonic
from typing import Protocol

import anyio

from gateway.capabilities.agent_facts import CurrentSnapshot, SnapshotBasis
from gateway.capabilities.versions import RenderedSnapshot
from gateway.capabilities.views import render
from gateway.drivers import LiveTurn
from gateway.errors import GatewayError
from gateway.events import ClientToolsCalled, Custom, Event, InterruptRequested, Layer, TurnEnded, TurnFailed
from gateway.identity import ThreadKey
from gateway.registry.agents import Agent
from gateway.runs.facts_cache import FactsCache
from gateway.runs.session_pool import SessionPool
from gateway.runs.turn_wrapper import TurnWrapper

log = logging.getLogger(__name__)

NAME = "capabilities.changed"
CHECK_INTERVAL_SECONDS = 0.25
"""For changes that no event reports. What an agent reports of its session comes as `Custom`, and is checked then."""
READ_TIMEOUT_SECONDS = 0.05
"""An agent whose announcement takes longer is not read during its runs."""
LAST_EVENTS = (TurnEnded, TurnFailed, InterruptRequested, ClientToolsCalled)
VOLATILE_PATHS = re.compile(r"custom\.session\.(?:usage|info)\.|custom\.gateway\.tools\.")
"""Values of a session that change all the time, have events of their own, and are no abilities."""


class SnapshotReader(Protocol):
    """The snapshot of one thread, as its run sees it."""

    async def read_basis(self) -> SnapshotBasis:
        """What the snapshot depends on now. Raises `GatewayError` where the agent cannot be read any more."""

    def render(self, basis: SnapshotBasis) -> RenderedSnapshot: ...


class ThreadSnapshotReader:
    def __init__(
        self, agent: Agent, thread: ThreadKey, facts: FactsCache, sessions: SessionPool, checked: CurrentSnapshot
    ) -> None:
        """`checked`: the snapshot that the run was checked against; it is not computed again while it holds."""
        self._agent = agent
        self._thread = thread
        self._facts = facts
        self._sessions = sessions
        self._checked = checked

    async def read_basis(self) -> SnapshotBasis:
        facts = await self._facts.read(self._agent)
        session = self._sessions.get(self._thread)
        trust = self._facts.read_trust(self._agent, self._thread)
        if session is None:  # not open yet: what was known of it when the run was checked
            layer = {**(self._checked.basis.session_layer or {}), **trust}
            return SnapshotBasis(facts, layer or self._checked.basis.session_layer)
        return SnapshotBasis(facts, {**session.session_layer, **trust})  # a copy: the session goes on writing

    def render(self, basis: SnapshotBasis) -> RenderedSnapshot:
        entry = self._checked.entry if basis == self._checked.basis else basis.compute()
        return render("agui", entry, basis.facts.definition)


class CapabilityChanges:
    """Compares the snapshot now with the one that was announced last."""

    def __init__(self, reader: SnapshotReader, basis: SnapshotBasis) -> None:
        self._reader = reader
        self._basis = basis
        self._announced: RenderedSnapshot | None = None
        """None: nothing was announced yet, and what held before the turn was not needed."""

    async def read_events(self) -> list[Event]:
        basis = await self._reader.read_basis()
        if basis.facts == self._basis.facts and _stable(basis.session_layer) == _stable(self._basis.session_layer):
            return []
        before = self._announced or self._reader.render(self._basis)
        after = self._reader.render(basis)
        self._basis = basis
        self._announced = after
        if after.version == before.version:
            return []
        return [Custom(NAME, {"version": after.version, "patch": after.patch_from(before)})]


def _stable(session_layer: Layer | None) -> Layer:
    return {path: value for path, value in (session_layer or {}).items() if not VOLATILE_PATHS.match(path)}


async def read_before_turn(reader: SnapshotReader | None) -> CapabilityChanges | None:
    """None: there is no reader, or the agent's announcement takes too long."""
    if reader is None:
        return None
    with anyio.move_on_after(READ_TIMEOUT_SECONDS):
        return CapabilityChanges(reader, await reader.read_basis())
    return None


def with_announcements(live: LiveTurn, changes: CapabilityChanges | None) -> LiveTurn:
    return live if changes is None else CapabilityAnnouncer(live, changes)


class CapabilityAnnouncer(TurnWrapper):
    def __init__(self, live: LiveTurn, changes: CapabilityChanges) -> None:
        super().__init__(live)
        self._changes: CapabilityChanges | None = changes
        self._next_check = 0.0
        self._batch: list[Event] = []
        """Taken from the turn and not returned yet: the caller may be cancelled, and call again."""

    async def next(self) -> list[Event]:
        self._batch = self._batch or await self._live.next()
        announcements = await self._read_changes() if self._is_check_due() else []
        batch, self._batch = self._batch, []
        return [*announcements, *batch] if announcements else batch

    def _is_check_due(self) -> bool:
        batch = self._batch
        if not batch or self._changes is None:
            return False
        return monotonic() > self._next_check or isinstance(batch[-1], LAST_EVENTS) or Custom in map(type, batch)

    async def _read_changes(self) -> list[Event]:
        assert self._changes is not None
        self._next_check = monotonic() + CHECK_INTERVAL_SECONDS
        try:
            with anyio.move_on_after(READ_TIMEOUT_SECONDS):
                return await self._changes.read_events()
        except GatewayError as exc:
            log.info("the agent of a live run cannot be read any more: %s", exc.detail)
        self._changes = None  # reading takes too long, or the agent was removed
        return []
