"""Whether a message reached the agent: what the log of its run shows."""

from __future__ import annotations

from enum import Enum

from gateway.errors import StoreError
from gateway.events import Wire
from gateway.jsonio import loads
from gateway.runs.history import MAX_RUNS_READ
from gateway.runs.log import READ_BYTES
from gateway.runs.run import Run
from gateway.store.base import RunRecord, Store
from gateway.store.deliveries import DeliveryRecord

GATEWAY_EVENTS = frozenset(("RUN_STARTED", "CUSTOM", "RUN_ERROR", "RUN_FINISHED"))
"""Events that the gateway itself may have written before the agent wrote any."""


class Arrival(Enum):
    YES = "yes"
    NO = "no"
    UNSURE = "unsure"
    """The gateway died while the agent was given the message, and the agent had written nothing yet."""


class AlreadyInRun(Exception):
    """The message is in the input of a run that another client started."""

    def __init__(self, run_id: str) -> None:
        super().__init__(run_id)
        self.run_id = run_id


async def find_arrival(store: Store, delivery: DeliveryRecord) -> Arrival:
    """Of a delivery that a gateway left unfinished when it died."""
    if delivery.run_id is None or (run := await store.run(delivery.run_id, delivery.principal)) is None:
        return Arrival.NO
    is_input = _has_message(run, delivery.message_id)
    for event in await _read_events(store, run):
        was_accepted = event["type"] == "TEXT_MESSAGE_START" and event["messageId"] == delivery.message_id
        if was_accepted or (is_input and event["type"] not in GATEWAY_EVENTS):
            return Arrival.YES
    return Arrival.UNSURE if is_input and delivery.handed else Arrival.NO


async def find_run_with(store: Store, delivery: DeliveryRecord) -> str | None:
    """The run that has the message in its input. A run that died with its gateway does not count: what the agent was
    given of it is known from the delivery."""
    for run in reversed(await store.thread_runs(*delivery.thread, MAX_RUNS_READ)):
        if run.status != "lost" and _has_message(run, delivery.message_id):
            return run.run_id
    return None


def _has_message(run: RunRecord, message_id: str) -> bool:
    return any(message["id"] == message_id for message in loads(run.input).get("messages", []))


async def _read_events(store: Store, run: RunRecord) -> list[Wire]:
    events: list[Wire] = []
    number = 0
    while pieces := await store.read(run.key, number, READ_BYTES):
        events += [loads(line) for piece in pieces for line in piece.lines]
        number = pieces[-1].last
    return events


async def read_end(run: Run) -> str:
    """Why a run was over before the agent was given its turn."""
    try:
        chunks = await run.log.follow(run.log.last - 1).next()
        last = loads(chunks[-1].lines[-1]) if chunks else {}
    except StoreError as exc:
        return f"the run {run.record.run_id!r} is over, and its log cannot be read: {exc.detail}"
    if last.get("type") == "RUN_ERROR":
        return f"{last['message']} ({last.get('code', 'no code')})"
    return f"the run {run.record.run_id!r} was cancelled before the agent had it"
