"""A thread's conversation, folded from the logs of its runs: what a page that was just opened needs to see."""

from __future__ import annotations

import orjson

from gateway.agui.history import History
from gateway.runs.log import READ_BYTES
from gateway.runs.run import Run
from gateway.store.base import RunRecord, Store

RUNS_READ = 50
"""Every run's input carries the conversation up to it, so older runs than these add nothing but their own state."""


async def read_history(store: Store, agent: str, thread_id: str, principal: str, *, but: str | None = None) -> History:
    """The conversation up to the newest run that is over, without the run `but`."""
    history = History()
    for record in await store.thread_runs(agent, thread_id, principal, RUNS_READ):
        if record.status != "live" and record.key != but:
            history.add_input(orjson.loads(record.input).get("messages", []))
            await _feed(history, store, record)
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
