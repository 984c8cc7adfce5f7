"""A thread's conversation, folded from the logs of its runs: what a page that was just opened shows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from gateway.agui.history import History
from gateway.jsonio import loads
from gateway.runs.log import READ_BYTES
from gateway.runs.run import Run
from gateway.store.base import RunRecord, Store

MAX_RUNS_READ = 50
"""Every run's input carries the conversation up to it, so older runs than these add nothing but their own state."""


OnRun = Callable[[RunRecord, list[dict[str, Any]]], None]
"""Called with a run and the messages of its input."""


async def read_history(
    store: Store, agent: str, thread_id: str, principal: str, *, without: str | None = None, on_run: OnRun | None = None
) -> History:
    """The conversation up to the newest run that is over. `without`: the key of a run to leave out. `on_run`: called
    for each run in it, oldest first: inputs are long, and are read only once."""
    history = History()
    for record in await store.thread_runs(agent, thread_id, principal, MAX_RUNS_READ):
        if record.status != "live" and record.key != without:
            messages = loads(record.input).get("messages", [])
            history.add_input(messages)
            await _feed(history, store, record)
            if on_run is not None:
                on_run(record, messages)
    return history


async def has_new_message(store: Store, thread: tuple[str, str, str], run: Run) -> bool:
    """Whether the input ends in a user message that no earlier run of the thread was given."""
    messages = run.turn.messages
    if not messages or messages[-1]["role"] != "user":
        return False
    for record in await store.thread_runs(*thread, 2):
        if record.key != run.record.key:
            known = {message["id"] for message in loads(record.input).get("messages", [])}
            return messages[-1]["id"] not in known
    return True


async def _feed(history: History, store: Store, record: RunRecord) -> None:
    number = 0
    while pieces := await store.read(record.key, number, READ_BYTES):
        for piece in pieces:
            for line in piece.lines:
                history.feed(loads(line))
            number = piece.last
