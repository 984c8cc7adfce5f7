"""A turn that says so itself when its thread's snapshot has become another: `CUSTOM` `capabilities.changed`.

In: a live turn, and the same sight that the feed has. Out: the turn's own batches, and before one of them now and then
an event with the new version and a JSON Patch from the last one that was told, the first time from what was so before
the turn. Text is not looked at: a batch costs a look at its types and at the clock.
"""

from __future__ import annotations

import logging
import re
from time import monotonic
from typing import Any

import anyio

from gateway.capabilities.feed import SnapshotSource
from gateway.capabilities.versions import Key, RenderedSnapshot
from gateway.drivers import LiveTurn
from gateway.errors import GatewayError
from gateway.events import ClientToolsCalled, Custom, Event, InterruptRequested, TurnEnded, TurnFailed
from gateway.runs.thread_state import ThreadKey
from gateway.runs.turn_wrapper import TurnWrapper

log = logging.getLogger(__name__)

NAME = "capabilities.changed"
LOOK_EVERY = 0.25
"""For what changes without a word. What an agent tells of its session comes as `Custom`, and is looked at then."""
LIMIT = 0.05
"""An agent whose own word on what it can do takes longer is not asked in its runs."""
LAST = (TurnEnded, TurnFailed, InterruptRequested, ClientToolsCalled)
QUIET = re.compile(r"custom\.session\.(?:usage|info)\.|custom\.gateway\.tools\.")
"""Facts of a session that change all the time, have events of their own, and are no abilities."""


class CapabilityChanges:
    """What is known before a turn begins."""

    def __init__(self, capability_source: SnapshotSource, key: Key, facts: Any, shown: RenderedSnapshot) -> None:
        self._capability_source, self._key, self._facts, self._shown = capability_source, key, facts, shown

    async def news(self) -> list[Event]:
        facts = await _facts(self._capability_source, self._key)
        if facts == self._facts:
            return []
        shown = await self._capability_source.render(self._key)
        known, self._facts, self._shown = self._shown, facts, shown
        if shown.version == known.version:
            return []
        return [Custom(NAME, {"version": shown.version, "patch": shown.patch_from(known)})]


async def notice(capability_source: SnapshotSource | None, thread: ThreadKey) -> CapabilityChanges | None:
    """None: nobody looks, or it takes too long."""
    if capability_source is None:
        return None
    key = Key(thread.agent, thread.thread_id, thread.principal)
    with anyio.move_on_after(LIMIT):
        return CapabilityChanges(
            capability_source, key, await _facts(capability_source, key), await capability_source.render(key)
        )
    return None


async def _facts(capability_source: SnapshotSource, key: Key) -> Any:
    own = capability_source.read_key_facts(key) or {}
    return await capability_source.read_agent_facts(key.agent), {
        path: value for path, value in own.items() if not QUIET.match(path)
    }


def telling(live: LiveTurn, before: CapabilityChanges | None) -> LiveTurn:
    return live if before is None else CapabilityAnnouncer(live, before)


class CapabilityAnnouncer(TurnWrapper):
    """The turn, as its run has it."""

    def __init__(self, live: LiveTurn, noticing: CapabilityChanges) -> None:
        super().__init__(live)
        self._noticing: CapabilityChanges | None = noticing
        self._again = 0.0
        self._batch: list[Event] = []
        """Taken from the turn and not handed on yet: whoever waits may be cancelled, and come again."""

    async def next(self) -> list[Event]:
        self._batch = self._batch or await self._live.next()
        news = await self._news() if self._due() else []
        batch, self._batch = self._batch, []
        return [*news, *batch] if news else batch

    def _due(self) -> bool:
        batch = self._batch
        if not batch or self._noticing is None:
            return False
        return monotonic() > self._again or isinstance(batch[-1], LAST) or Custom in map(type, batch)

    async def _news(self) -> list[Event]:
        assert self._noticing is not None
        self._again = monotonic() + LOOK_EVERY
        try:
            with anyio.move_on_after(LIMIT):
                return await self._noticing.news()
        except GatewayError as exc:
            log.info("the agent of a live run cannot be looked at any more: %s", exc.detail)
        self._noticing = None  # it takes too long, or the agent was removed
        return []
