"""A thread's conversation, folded from the logs of its runs: what a page that was just opened needs to see."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import orjson

from gateway.agui.history import History
from gateway.runs.log import READ_BYTES
from gateway.runs.run import Run
from gateway.store.base import RunRecord, Store

RUNS_READ = 50
"""Every run's input carries the conversation up to it, so older runs than these add nothing but their own state."""


Seen = Callable[[RunRecord, list[dict[str, Any]]], None]
"""A run, and the messages that it was given."""


async def read_history(
    store: Store, agent: str, thread_id: str, principal: str, *, but: str | None = None, seen: Seen | None = None
) -> History:
    """The conversation up to the newest run that is over, without the run `but`. `seen` is told of each that is in it,
    oldest first: their inputs are long, and are read only once."""
    history = History()
    for record in await store.thread_runs(agent, thread_id, principal, RUNS_READ):
        if record.status != "live" and record.key != but:
            given = orjson.loads(record.input).get("messages", [])
            history.add_input(given)
            await _feed(history, store, record)
            if seen is not None:
                seen(record, given)
    return history


async def has_news(store: Store, thread: tuple[str, str, str], run: Run) -> bool:
    """Does the input end in a user message that no earlier run of the thread was given?"""
    messages = run.turn.messages
    if not messages or messages[-1]["role"] != "user":
        return False
    for record in await store.thread_runs(*thread, 2):
        if record.key != run.record.key:
            known = {message["id"] for message in orjson.loads(record.input).get("messages", [])}
            return messages[-1]["id"] not in known
    return True


async def _feed(history: History, store: Store, record: RunRecord) -> None:
    number = 0
    while pieces := await store.read(record.key, number, READ_BYTES):
        for piece in pieces:
            for line in piece.lines:
                history.feed(orjson.loads(line))
            number = piece.last
