"""Which threads have a live run, and whether another may begin.

In: a turn to be played. Out: its run, with the thread claimed for it; or a refusal. Claims are taken without awaiting,
so two requests cannot both have one. Never: playing a run.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from functools import partial
from uuid import uuid4

import anyio

from gateway.agui import inbound
from gateway.agui.option_secrets import mask_secrets
from gateway.agui.outbound import Outbound
from gateway.errors import Busy, Conflict
from gateway.identity import ThreadKey
from gateway.jsonio import dumps
from gateway.limits import RUNS, Hold, PrincipalLimits
from gateway.registry.agents import Agent
from gateway.runs.log import Log
from gateway.runs.readiness import BeforePrompt
from gateway.runs.run import Run, RunTimeouts
from gateway.settings import Settings
from gateway.store.base import RunRecord, Store
from gateway.turn import Turn

STOPPING = ("GATEWAY_STOPPING", "the gateway is shutting down; send the message again when it is back")
"""Code and message."""
DISCONNECT_WAIT_SECONDS = 0.25
"""How long a second run of a thread waits until the disconnect of the first one's client is noticed."""
UNMERGED_RUNS = 16
"""Live runs of a principal whose deltas are sent as they come."""
MERGE_SECONDS_PER_RUN = 0.001
"""With each run more, for how much longer a delta waits for others. A word by itself takes 0.2 ms of the event loop; a
hundred words that are sent together take little more."""
MAX_MERGE_SECONDS = 0.25
FINAL_WRITE_SECONDS = 2.0
"""How long a run may take to write its end when the gateway itself is cancelled."""


class Admission:
    def __init__(self, settings: Settings, store: Store, limits: PrincipalLimits) -> None:
        self._settings = settings
        self._store = store
        self._limits = limits
        self._claims: dict[ThreadKey, str] = {}
        """Threads with a live run → its id."""
        self._live: dict[tuple[str, str], Run] = {}
        """(principal, run id) → run."""
        self._holds: dict[tuple[str, str], Hold] = {}
        """(principal, run id) → its place among the runs of its principal."""
        self._is_closed = False

    def __len__(self) -> int:
        return len(self._live)

    def __iter__(self) -> Iterator[Run]:
        return iter(list(self._live.values()))

    @property
    def is_closed(self) -> bool:
        return self._is_closed

    def close(self) -> None:
        """From now on no run is admitted."""
        self._is_closed = True

    def find(self, run_id: str, principal: str) -> Run | None:
        return self._live.get((principal, run_id))

    def claim_on(self, thread: ThreadKey) -> str | None:
        """The id of the thread's live run."""
        return self._claims.get(thread)

    def run_on(self, thread: ThreadKey) -> Run | None:
        return self._live.get((thread.principal, self._claims.get(thread, "")))

    async def wait_for_ending_run(self, thread: ThreadKey) -> None:
        """A client that stops a run by closing its connection sends the next run at once: often before the close is
        noticed, always before the agent has stopped. So a run that is ending is waited for; any other is not."""
        if (run := self.run_on(thread)) is None:
            return
        with anyio.move_on_after(DISCONNECT_WAIT_SECONDS):
            await run.ending.wait()
        if run.ending.is_set():
            with anyio.move_on_after(self._settings.cancel_grace + FINAL_WRITE_SECONDS):
                await run.over.wait()

    def claim(self, thread: ThreadKey, turn: Turn, agent: Agent, before_prompt: BeforePrompt | None = None) -> Run:
        """Raises `Busy`, `LimitReached` or `Conflict` where the run may not begin."""
        if self._is_closed:
            raise Busy(STOPPING[1], code=STOPPING[0])
        if (live := self._claims.get(thread)) is not None:
            advice = f"wait for it, follow it (GET /runs/{live}/events) or cancel it (POST /runs/{live}/cancel)"
            raise Conflict(f"the thread has a live run, {live!r}: {advice}", code="RUN_IN_PROGRESS", runId=live)
        if (thread.principal, turn.run_id) in self._live:
            raise Conflict(f"a live run has the id {turn.run_id!r}", code="RUN_ID_IN_USE", runId=turn.run_id)
        if len(self._live) >= self._settings.max_runs:
            raise Busy(f"{self._settings.max_runs} runs are live (max_runs); try again when one has ended")
        self._limits.check(RUNS, thread.principal)
        run = self._new_run(thread, turn, agent, before_prompt)
        self._holds[thread.principal, turn.run_id] = self._limits.acquire(RUNS, thread.principal)
        self._claims[thread] = turn.run_id
        self._live[thread.principal, turn.run_id] = run
        agent.add_run(run.over)
        return run

    def release(self, thread: ThreadKey, run: Run) -> bool:
        """May be called twice, even when the next run has the thread by then. True: the run had it until now."""
        had_thread = self._live.get((thread.principal, run.record.run_id)) is run
        if had_thread:
            del self._live[thread.principal, run.record.run_id]
            self._holds.pop((thread.principal, run.record.run_id)).release()
            del self._claims[thread]
        run.ending.set()
        return had_thread

    def _new_run(self, thread: ThreadKey, turn: Turn, agent: Agent, before_prompt: BeforePrompt | None) -> Run:
        settings = self._settings
        definition = agent.definition
        options = turn.options
        key = uuid4().hex
        # What is stored has no secrets: nothing reads the options of an earlier run, only its messages.
        stored = replace(turn, forwarded_props=mask_secrets(turn.forwarded_props))
        body = dumps(inbound.dump_run_input(stored))
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
            max_interrupts=settings.max_interrupts,
        )
        window_ms = definition.merge_window_ms if options.merge_window_ms is None else options.merge_window_ms
        stall = definition.stall_timeout or settings.stall_timeout
        timeouts = RunTimeouts(
            stall,
            definition.run_timeout or settings.run_timeout,
            settings.cancel_grace,
            agent.usable_driver.question_window,
        )
        log = Log(key, self._store, settings.log_tail_bytes, settings.max_run_log_bytes)
        merge_window = partial(self._merge_window, thread.principal, window_ms / 1000, _spread(key))
        return Run(record, turn, outbound, log, timeouts, merge_window, before_prompt)

    def _merge_window(self, principal: str, own_seconds: float, spread: float) -> float:
        """For how many seconds a delta waits for others to be sent with it. `own_seconds`: as the run asks. With many
        live runs of its principal it is longer, so that these do not slow down the runs of others. `spread`: a factor
        for that, another one for each run."""
        more = self._limits.held(RUNS, principal) - UNMERGED_RUNS
        if more <= 0:
            return own_seconds
        return max(own_seconds, min(MAX_MERGE_SECONDS, more * MERGE_SECONDS_PER_RUN) * spread)


def _spread(key: str) -> float:
    """From 0.5 to 1, by the run's key. Runs with equal windows would all send at the same moment, and everybody else
    would wait for all of them."""
    return 0.5 + int(key[:4], 16) / 0x20000
