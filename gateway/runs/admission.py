"""Which threads have a live run: who may begin one, and who has.

In: a turn that is to be played. Out: its run, and the thread claimed for it, or a refusal. Claims are taken without
awaiting, so two requests cannot both have one; nothing here plays a run or knows what became of it.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from uuid import uuid4

import anyio

from gateway.agui import inbound
from gateway.agui.outbound import Outbound
from gateway.errors import Busy, Conflict
from gateway.jsonio import dumps
from gateway.registry.agents import Agent
from gateway.runs.log import Log
from gateway.runs.run import Run, RunTimeouts
from gateway.runs.thread_state import ThreadKey
from gateway.settings import Settings
from gateway.store.base import RunRecord, Store
from gateway.turn import Turn

STOPPING = ("GATEWAY_STOPPING", "the gateway is shutting down; send the message again when it is back")
HAND_OVER = 0.25
"""How long a second run of a thread waits for the first one's client to be seen leaving, before it is refused."""
LAST_WORDS = 2.0
"""How long a run may take to write its end when the gateway itself is being torn down."""


class Admission:
    def __init__(self, settings: Settings, store: Store) -> None:
        self._settings, self._store = settings, store
        self._claims: dict[ThreadKey, str] = {}
        """Threads with a live run → its id."""
        self._live: dict[tuple[str, str], Run] = {}
        """(principal, run id) → run."""
        self.draining = False

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[Run]:
        return iter(list(self._live.values()))

    def named(self, run_id: str, principal: str) -> Run | None:
        return self._live.get((principal, run_id))

    def claim_on(self, thread: ThreadKey) -> str | None:
        """The id of the thread's live run."""
        return self._claims.get(thread)

    def run_on(self, thread: ThreadKey) -> Run | None:
        return self._live.get((thread.principal, self._claims.get(thread, "")))

    async def hand_over(self, thread: ThreadKey) -> None:
        """A client that stops a run by closing its connection sends the next one at once: often before the close is
        seen, always before the agent has stopped. So a run that is ending is waited for; any other is not."""
        if (run := self.run_on(thread)) is None:
            return
        with anyio.move_on_after(HAND_OVER):
            await run.ending.wait()
        if run.ending.is_set():
            with anyio.move_on_after(self._settings.cancel_grace + LAST_WORDS):
                await run.over.wait()

    def claim(self, thread: ThreadKey, turn: Turn, agent: Agent) -> Run:
        if self.draining:
            raise Busy(STOPPING[1], code=STOPPING[0])
        if (live := self._claims.get(thread)) is not None:
            way_out = f"wait for it, follow it (GET /runs/{live}/events) or cancel it (POST /runs/{live}/cancel)"
            raise Conflict(f"the thread has a live run, {live!r}: {way_out}", code="RUN_IN_PROGRESS", runId=live)
        if (thread.principal, turn.run_id) in self._live:
            raise Conflict(f"a live run has the id {turn.run_id!r}", code="RUN_ID_IN_USE", runId=turn.run_id)
        if len(self._live) >= self._settings.max_runs:
            raise Busy(f"{self._settings.max_runs} runs are live (max_runs); try again when one has ended")
        run = self._new_run(thread, turn, agent)
        self._claims[thread] = turn.run_id
        self._live[thread.principal, turn.run_id] = run
        agent.busy_until(run.over)
        return run

    def release(self, thread: ThreadKey, run: Run) -> bool:
        """Twice does no harm, though the next run may have the thread by then. True: it had it until now."""
        mine = self._live.get((thread.principal, run.record.run_id)) is run
        if mine:
            del self._live[thread.principal, run.record.run_id]
            del self._claims[thread]
        run.ending.set()
        return mine

    def _new_run(self, thread: ThreadKey, turn: Turn, agent: Agent) -> Run:
        settings, definition, options = self._settings, agent.definition, turn.options
        key = uuid4().hex
        body = dumps(inbound.dump_run_input(turn))
        record = RunRecord(
            key, turn.run_id, turn.thread_id, thread.agent, thread.principal, turn.protocol_version, body, time.time()
        )
        outbound = Outbound(
            turn.thread_id,
            turn.run_id,
            key[:12],
            merging=definition.merge if options.merge is None else options.merge,
            client_tools=[tool["name"] for tool in turn.tools],
            max_event_bytes=settings.max_event_bytes,
        )
        window = definition.merge_window_ms if options.merge_window_ms is None else options.merge_window_ms
        stall = definition.stall_timeout or settings.stall_timeout
        pace = RunTimeouts(stall, settings.cancel_grace, window / 1000, agent.ready.question_window)
        return Run(
            record, turn, outbound, Log(key, self._store, settings.log_tail_bytes, settings.max_run_log_bytes), pace
        )
