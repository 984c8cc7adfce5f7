"""Runs of the past: those that a gateway left live when it died are ended, and old ones are pruned."""

from __future__ import annotations

import logging
import time
from contextlib import suppress

import anyio

from gateway.agui.ordering import Order, OutOfOrder
from gateway.errors import GatewayError
from gateway.events import Wire
from gateway.jsonio import dumps, loads
from gateway.runs.daily_budget import day_of
from gateway.runs.log import READ_BYTES
from gateway.settings import Settings
from gateway.store.base import Piece, RunRecord, Store

log = logging.getLogger(__name__)

USAGE_SECONDS = 40 * 86400.0
"""How long is kept what principals have used on a day: a month, for an operator who reads the store."""
RESTARTED = ("GATEWAY_RESTARTED", "the gateway was restarted while this run was live; send the message again")


async def recover(store: Store) -> int:
    """Ends the runs that a gateway left live when it died, so that a client that attaches reads the end. Returns how
    many there were."""
    records = await store.live()
    for record in records:
        events = await _final_events(record, store)
        await store.append(record.key, Piece(record.events + 1, [dumps(event) for event in events]))
        await store.end(record.key, "lost", time.time())
    return len(records)


async def _final_events(record: RunRecord, store: Store) -> list[Wire]:
    order = Order()
    number = 0
    while pieces := await store.read(record.key, number, READ_BYTES):
        for piece in pieces:
            for line in piece.lines:
                with suppress(OutOfOrder):  # an older gateway may have written anything; this one must start
                    order.accept(loads(line))
            number = piece.last
    return [*order.close_events(), {"type": "RUN_ERROR", "message": RESTARTED[1], "code": RESTARTED[0]}]


async def prune_for_ever(store: Store, settings: Settings) -> None:
    while True:
        try:
            await store.prune(time.time() - settings.retain_seconds, settings.retain_bytes)
            await store.session_owners.prune(time.time() - settings.retain_seconds)
            await store.audit.prune(time.time() - settings.audit_retain_seconds)
            await store.deliveries.prune(time.time() - settings.retain_seconds, settings.retain_all_thread_events)
            await store.usage.prune(day_of(time.time() - USAGE_SECONDS))
        except GatewayError as exc:
            log.error("old logs could not be pruned: %s", exc)
        await anyio.sleep(settings.prune_interval)
