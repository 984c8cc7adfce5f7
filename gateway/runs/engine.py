"""All runs of this gateway: admitted, started, followed, cancelled, drained.

A thread has one live run at most (`runs.admission`). `runs.playback` plays it. What happens on a thread is published by
`runs.thread_activity`, whose subscribers read it in tasks of their own.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Literal

import anyio
from anyio import CancelScope

from gateway.agui.history import History
from gateway.audit import AuditLog
from gateway.background import Tasks
from gateway.capabilities.agent_facts import CurrentSnapshot
from gateway.errors import Conflict, NotFound, StoreError
from gateway.identity import ThreadKey
from gateway.limits import PrincipalLimits
from gateway.registry.agents import Agent
from gateway.runs.admission import FINAL_WRITE_SECONDS, STOPPING, Admission
from gateway.runs.approval_audit import record_answers
from gateway.runs.daily_budget import DailyBudget
from gateway.runs.facts_cache import FactsCache
from gateway.runs.history import OnRun, read_history
from gateway.runs.interrupts import Interrupts, ResumeResult
from gateway.runs.isolation import Isolation
from gateway.runs.log import Reader, Replay
from gateway.runs.outcomes import LastOutcomes
from gateway.runs.parked_turns import ParkedTurn, ParkedTurns
from gateway.runs.playback import AdmittedRun, Playback, RunServices
from gateway.runs.readiness import Blocker, Precondition, check_precondition, find_blocker
from gateway.runs.recovery import prune_for_ever, recover
from gateway.runs.run import Run, Stop
from gateway.runs.session_pool import SessionPool
from gateway.runs.thread_activity import ThreadActivities
from gateway.runs.thread_sessions import ThreadSessions
from gateway.runs.thread_state import ThreadStates
from gateway.runs.worktrees import ThreadWorktrees
from gateway.settings import Settings
from gateway.store.base import RunRecord, Store, ThreadRecord
from gateway.turn import Turn, title_of


class Engine:
    def __init__(
        self,
        settings: Settings,
        store: Store,
        tasks: Tasks,
        pool: SessionPool,
        facts: FactsCache | None = None,
        isolation: Isolation | None = None,
        worktrees: ThreadWorktrees | None = None,
        limits: PrincipalLimits | None = None,
        audit: AuditLog | None = None,
    ) -> None:
        """`facts`: by which runs notice that their capabilities have changed; None: they do not look."""
        self._audit = audit or AuditLog(store)
        self._settings = settings
        self._store = store
        self._tasks = tasks
        self._pool = pool
        self._budget = DailyBudget(settings, store)
        self._admission = Admission(settings, store, limits or PrincipalLimits(settings))
        outcomes = LastOutcomes()
        parked = ParkedTurns()
        self.activities = ThreadActivities(self._admission, parked, outcomes, pool)
        self._states = ThreadStates(
            settings,
            store,
            tasks,
            parked,
            pool,
            self.activities,
            lambda thread: self._admission.claim_on(thread) is not None,
        )
        isolation = isolation or Isolation(settings)
        self.sessions = ThreadSessions(
            settings,
            store,
            pool,
            self._states,
            outcomes,
            self.activities,
            isolation,
            worktrees or ThreadWorktrees(settings, store),
        )
        self._services = RunServices(
            settings=settings,
            store=store,
            admission=self._admission,
            states=self._states,
            pool=pool,
            sessions=self.sessions,
            outcomes=outcomes,
            activities=self.activities,
            budget=self._budget,
            trust=isolation.trust,
            facts=facts,
        )

    @property
    def live_runs(self) -> int:
        return len(self._admission)

    @property
    def is_draining(self) -> bool:
        return self._admission.is_closed

    def _has_run(self, thread: ThreadKey) -> bool:
        return self._admission.claim_on(thread) is not None

    # -- starting

    async def start(
        self,
        agent: Agent,
        turn: Turn,
        principal: str,
        *,
        precondition: Precondition | None = None,
        checked: CurrentSnapshot | None = None,
    ) -> Run:
        """Admits the run and starts it; from here on its log says what happens. `checked`: the snapshot that the turn
        was checked against. Raises `Conflict` where the precondition does not hold."""
        driver = agent.usable_driver
        thread = ThreadKey(agent.definition.id, turn.thread_id, principal)
        await self._admission.wait_for_ending_run(thread)
        await self._budget.check(principal)
        before_prompt = None if precondition is None else precondition.before_prompt
        run = self._admission.claim(thread, turn, agent, before_prompt)
        parked: ParkedTurn | None = None
        try:
            self._pool.check_room(thread)
            if precondition is not None:
                await self._check_latest_run(thread, precondition.latest_run)
            interrupts = await self._states.load(thread)
            if self._states.parked_run(thread) is None:
                interrupts.lose_turns()
            interrupts.set_title(title_of(turn.messages))
            if precondition is not None:
                check_precondition(precondition, self._states.parked_run(thread), interrupts, time.time())
            resumed = self._states.apply_resume(thread, interrupts, turn)
            # Without awaiting in between: while the store writes, the interrupt may expire and end the turn.
            parked = self._states.unpark(thread) if resumed.continues_turn or resumed.abandons_turn else None
            await self._store_start(thread, run, interrupts, resumed)
        except BaseException:
            if parked is not None:
                await self._park_again(thread, parked)
            self._services.release(thread, run)
            run.set_over()
            raise
        self.activities.publish(thread)
        admitted = AdmittedRun(thread, run, agent, driver, interrupts, resumed, parked, checked)
        run.limit_time(self._tasks)
        self._tasks.start_soon(Playback(self._services, admitted).play)
        return run

    async def _check_latest_run(self, thread: ThreadKey, latest_run: str | None) -> None:
        newest = await self._store.thread_runs(*thread, 1)
        if newest and newest[0].key != latest_run:
            raise Conflict("the thread has gone on meanwhile", code="THREAD_BUSY", runId=newest[0].run_id)

    async def _store_start(self, thread: ThreadKey, run: Run, interrupts: Interrupts, resumed: ResumeResult) -> None:
        """All writes wait for one commit, where nothing has to be read for them."""
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._store.begin, run.record)
                tasks.start_soon(self._states.save, thread, interrupts)
                if resumed.answers:
                    run_id = run.record.run_id
                    where = (self._audit, self._store, thread, run_id, interrupts, resumed.answers)
                    tasks.start_soon(record_answers, *where)
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None

    async def _park_again(self, thread: ThreadKey, parked: ParkedTurn) -> None:
        """The run could not begin: the turn waits as before, and answers that were stored are taken back."""
        self._states.park(thread, parked)
        with CancelScope(shield=True), suppress(StoreError):
            await self._states.save(thread, parked.interrupts)

    # -- following and stopping

    async def follow(self, run_id: str, principal: str, after: int) -> tuple[RunRecord, Reader]:
        """The run's events above `after`: replayed, then followed to the end."""
        if (run := self._admission.find(run_id, principal)) is not None:
            return run.record, run.log.follow(after)
        record = await self._find_record(run_id, principal)
        return record, Replay(record, self._store, after)

    async def cancel(self, run_id: str, principal: str) -> Literal["cancelling", "cancelled", "over"]:
        """Stops a live run, or the turn that an interrupted run left parked."""
        if (run := self._admission.find(run_id, principal)) is not None:
            self._record_cancel(run.record)
            await run.stop(Stop())
            return "cancelling"
        record = await self._find_record(run_id, principal)
        self._record_cancel(record)
        thread = ThreadKey(record.agent, record.thread_id, principal)
        return "cancelled" if await self.cancel_parked(thread, run_id) else "over"

    def _record_cancel(self, run: RunRecord) -> None:
        self._audit.record("run.cancel", run.principal, agent=run.agent, thread=run.thread_id, run=run.run_id)

    async def cancel_parked(self, thread: ThreadKey, run_id: str) -> bool:
        """Cancels the interrupts that a run left open, and its parked turn. False: there are none."""
        if self._admission.claim_on(thread) is not None or not await self._states.cancel(thread, run_id):
            return False
        self.activities.publish(thread)
        return True

    def cancel_runs_of(self, is_gone: Callable[[str], bool]) -> None:
        """Cancels the live runs of principals that do not exist any more."""
        for run in self._admission:
            if is_gone(run.record.principal):
                self._tasks.start_soon(run.stop, Stop())

    async def find_agent(self, run_id: str, principal: str) -> str:
        """The id of the run's agent. Raises `NotFound`."""
        if (run := self._admission.find(run_id, principal)) is not None:
            return run.record.agent
        return (await self._find_record(run_id, principal)).agent

    async def stop(self, run: Run) -> None:
        """For a caller that has the run itself: another run may have its id by now."""
        await run.stop(Stop())

    async def _find_record(self, run_id: str, principal: str) -> RunRecord:
        record = await self._store.run(run_id, principal)
        if record is None:
            raise NotFound(f"there is no run {run_id!r}, or its log is older than is kept", code="UNKNOWN_RUN")
        return record

    # -- the state of a thread

    def live_run(self, thread: ThreadKey) -> Run | None:
        return self._admission.run_on(thread)

    def pending_run(self, thread: ThreadKey) -> str | None:
        """The thread's live run, or the one whose turn is parked."""
        return self._admission.claim_on(thread) or self._states.parked_run(thread)

    async def find_blocker(self, thread: ThreadKey) -> Blocker | None:
        """What keeps the thread from taking a message now."""
        interrupts = await self._states.load(thread)
        live_run = self._admission.claim_on(thread)
        return find_blocker(live_run, self._states.parked_run(thread), interrupts, time.time())

    def read_interrupts(self, record: ThreadRecord) -> Interrupts:
        """The interrupts of a stored thread, as they are now."""
        interrupts = self._states.read(record)
        interrupts.expire(time.time())
        return interrupts

    async def open_interrupts(self, thread: ThreadKey) -> list[dict[str, Any]]:
        interrupts = await self._states.load(thread)
        interrupts.expire(time.time())
        return [entry.interrupt for entry in interrupts.open()]

    async def history(self, thread: ThreadKey, on_run: OnRun | None = None) -> tuple[History, Run | None]:
        """The conversation as a client would have it, and the live run that goes on with it. `on_run`: called for each
        run before that one."""
        live = self.live_run(thread)
        # A run that ends meanwhile is still followed by the caller, so it must not be in the history as well.
        history = await read_history(self._store, *thread, without=live.record.key if live else None, on_run=on_run)
        if live is not None:
            history.add_input(live.turn.messages)
        return history, live

    # -- starting and stopping the gateway

    async def recover(self) -> int:
        return await recover(self._store)

    async def prune_for_ever(self) -> None:
        await prune_for_ever(self._store, self._settings)

    async def drain(self) -> None:
        """Admits no more runs. Live ones may finish within the grace, then they end with `GATEWAY_STOPPING`."""
        self._admission.close()
        runs = list(self._admission)
        with anyio.move_on_after(self._settings.shutdown_grace):
            for run in runs:
                await run.over.wait()
        async with anyio.create_task_group() as tasks:
            for run in runs:
                tasks.start_soon(run.stop, Stop(STOPPING))
        with anyio.move_on_after(self._settings.cancel_grace + FINAL_WRITE_SECONDS):
            for run in runs:
                await run.over.wait()
        await self._states.aclose()
        await self._pool.aclose()
