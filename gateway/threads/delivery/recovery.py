"""Whether a message arrived: what a run's log says of it."""

from __future__ import annotations

from enum import Enum

from gateway.errors import StoreError
from gateway.events import Wire
from gateway.jsonio import loads
from gateway.runs.history import RUNS_READ
from gateway.runs.log import READ_BYTES
from gateway.runs.run import Run
from gateway.store.base import RunRecord, Store
from gateway.store.deliveries import DeliveryRecord

OURS = frozenset(("RUN_STARTED", "CUSTOM", "RUN_ERROR", "RUN_FINISHED"))
"""What the gateway itself may have said before the agent did."""


class Arrived(Enum):
    YES = "yes"
    NO = "no"
    UNSURE = "unsure"
    """The gateway died in the very moment when the agent was given it, and the agent had said nothing yet."""


class AlreadyInRun(Exception):
    """A run of somebody else's has the message in its input already."""

    def __init__(self, run_id: str) -> None:
        super().__init__(run_id)
        self.run_id = run_id


async def arrived(store: Store, delivery: DeliveryRecord) -> Arrived:
    """Of a delivery that a gateway left behind when it died."""
    if delivery.run_id is None or (run := await store.run(delivery.run_id, delivery.principal)) is None:
        return Arrived.NO
    brought = _has(run, delivery.message_id)
    for event in await _events(store, run):
        heard = event["type"] == "TEXT_MESSAGE_START" and event["messageId"] == delivery.message_id
        if heard or (brought and event["type"] not in OURS):
            return Arrived.YES
    return Arrived.UNSURE if brought and delivery.handed else Arrived.NO


async def brought_by(store: Store, delivery: DeliveryRecord) -> str | None:
    """The run that had the message in its input, however it was meant. One that died with its gateway does not count:
    what of it the agent was given is known from the delivery."""
    for run in reversed(await store.thread_runs(*delivery.thread, RUNS_READ)):
        if run.status != "lost" and _has(run, delivery.message_id):
            return run.run_id
    return None


def _has(run: RunRecord, message_id: str) -> bool:
    return any(message["id"] == message_id for message in loads(run.input).get("messages", []))


async def _events(store: Store, run: RunRecord) -> list[Wire]:
    events: list[Wire] = []
    number = 0
    while pieces := await store.read(run.key, number, READ_BYTES):
        events += [loads(line) for piece in pieces for line in piece.lines]
        number = pieces[-1].last
    return events


async def last_words(run: Run) -> str:
    """Why a run was over before the agent had its turn."""
    try:
        chunks = await run.log.follow(run.log.last - 1).next()
        last = loads(chunks[-1].lines[-1]) if chunks else {}
    except StoreError as exc:
        return f"the run {run.record.run_id!r} is over, and its log cannot be read: {exc.detail}"
    if last.get("type") == "RUN_ERROR":
        return f"{last['message']} ({last.get('code', 'no code')})"
    return f"the run {run.record.run_id!r} was cancelled before the agent had it"
