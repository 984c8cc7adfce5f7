"""One admitted run, played to its end: its turn is begun or resumed, driven, then parked, concluded, sealed.

In: a run with its thread, and what its input means for the thread's interrupts. Out: the run's log, complete. Every way
out ends in `_seal`, which frees the thread before a client can see the end and send the next run.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import Any

import anyio
from anyio import CancelScope

from gateway.agui.translate import notice_event
from gateway.capabilities.agent_facts import CurrentSnapshot
from gateway.capabilities.thinking_options import apply_thinking, check_listed, has_thinking
from gateway.drivers import Driver, LiveTurn
from gateway.errors import GatewayError, NotCapable, StoreError
from gateway.events import ClientToolCall, MessagesSnapshot, TurnEnded, TurnFailed, Wire
from gateway.identity import ThreadKey
from gateway.registry.agents import Agent
from gateway.runs.admission import FINAL_WRITE_SECONDS, STOPPING, Admission
from gateway.runs.capability_events import ThreadSnapshotReader, read_before_turn, with_announcements
from gateway.runs.daily_budget import DailyBudget
from gateway.runs.dropped_feedback import find_dropped_feedback
from gateway.runs.facts_cache import FactsCache
from gateway.runs.failure_causes import find_cause
from gateway.runs.history import has_new_message, read_history
from gateway.runs.interrupts import Interrupts, ResumeResult
from gateway.runs.outcomes import LastOutcomes
from gateway.runs.parked_turns import ParkedTurn, park_turn, without_result
from gateway.runs.phase import Phase
from gateway.runs.run import Run
from gateway.runs.session_pool import SessionPool
from gateway.runs.thread_activity import ThreadActivities
from gateway.runs.thread_sessions import ThreadSessions
from gateway.runs.thread_settings import DROPPED, find_setting
from gateway.runs.thread_state import ThreadStates
from gateway.runs.trust import WorkspaceTrust, needs_trust
from gateway.runs.trust_question import ask_about_folders
from gateway.settings import Settings
from gateway.store.base import Status, Store
from gateway.turn import Notice, Turn

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class RunServices:
    """What all runs share."""

    settings: Settings
    store: Store
    admission: Admission
    states: ThreadStates
    pool: SessionPool
    sessions: ThreadSessions
    outcomes: LastOutcomes
    activities: ThreadActivities
    budget: DailyBudget
    trust: WorkspaceTrust
    facts: FactsCache | None
    """By which runs notice that their capabilities have changed; None: they do not look."""

    def release(self, thread: ThreadKey, run: Run) -> None:
        """Frees the thread for its next run."""
        if self.admission.release(thread, run):
            self.activities.publish(thread)


@dataclass(frozen=True, slots=True)
class AdmittedRun:
    """A run that may be played."""

    thread: ThreadKey
    run: Run
    agent: Agent
    driver: Driver
    interrupts: Interrupts
    resumed: ResumeResult
    parked: ParkedTurn | None
    """The turn that this run resumes, or abandons."""
    checked: CurrentSnapshot | None
    """The snapshot that the run was checked against."""


class Playback:
    def __init__(self, services: RunServices, admitted: AdmittedRun) -> None:
        self._services = services
        self._thread = admitted.thread
        self._run = admitted.run
        self._agent = admitted.agent
        self._driver = admitted.driver
        self._interrupts = admitted.interrupts
        self._resumed = admitted.resumed
        self._parked = admitted.parked
        self._checked = admitted.checked

    async def play(self) -> None:
        """The run's task. A failure of the gateway itself is logged, and sent to the client as such."""
        run = self._run
        try:
            await self._play_turn()
        except GatewayError as exc:
            await self._seal(run.outbound.failed(exc.detail, find_cause(exc.code, exc.detail)), "failed")
        except Exception:
            log.exception("run %s failed inside the gateway", run.record.run_id)
            last = run.outbound.failed("the gateway itself failed; its log says how", "INTERNAL_ERROR")
            await self._seal(last, "failed")
        except BaseException:  # cancelled from outside: the whole gateway is going down
            with CancelScope(shield=True), anyio.move_on_after(FINAL_WRITE_SECONDS):
                await self._seal(run.outbound.failed(STOPPING[1], STOPPING[0]), "failed")
            raise
        finally:
            self._services.release(self._thread, run)
            run.set_over()

    async def _play_turn(self) -> None:
        run = self._run
        parked = self._parked
        resumed = self._resumed
        live = parked.live if parked else None
        try:
            await run.write_start(parked.suspended if parked and resumed.continues_turn else None)
            if resumed.error is not None:
                code, message = resumed.error
                return await self._seal(run.outbound.failed(message, code), "failed")
            if parked is not None and resumed.abandons_turn:
                live = None
                await self._abandon(parked, resumed.missing_calls)
            elif await self._is_incomplete():
                return await self._repeat(resumed.missing_calls)
            if live is None:
                with run.opening:  # a client can stop a run whose agent takes long to start
                    live = await self._begin_turn()
            if live is None:
                run.cancel_queued()
            else:
                self._services.activities.publish(self._thread)
                if resumed.answers and self._agent.definition.is_local_process:
                    await self._write_notices(find_dropped_feedback(self._interrupts, run.turn.resume, resumed.answers))
                await run.drive(live, resumed.answers if parked else {})
            if live is not None and run.phase is Phase.PARKED:
                await self._park(live)
                live = None  # it waits now and must not be closed; if parking failed, it must be
                return None
        finally:
            if live is not None:
                with CancelScope(shield=True):
                    await live.aclose()
                    await self._services.sessions.release(self._thread)
        return await self._conclude()

    async def _is_incomplete(self) -> bool:
        """The run brings too little for the parked turn, or nothing that is new."""
        if self._resumed.missing_calls:
            return True
        if not self._resumed.is_repeat:
            return False
        if self._interrupts.open():
            return True
        return not await has_new_message(self._services.store, self._thread, self._run)

    async def _begin_turn(self) -> LiveTurn:
        """The agent's turn; where there is no decision about its folder, first the question about that."""
        undecided = self._undecided_folders()
        if not undecided:
            return await self._start_turn(self._driver, self._interrupts)
        if self._run.before_prompt is not None:
            await self._run.before_prompt()
        definition, close_session = self._agent.definition_in_use, partial(self._services.sessions.close, self._thread)
        trust = self._services.trust
        return await ask_about_folders(trust, definition, self._thread, undecided, self._start_later, close_session)

    def _undecided_folders(self) -> list[Path]:
        if not needs_trust(self._agent.definition_in_use):
            return []
        folders = self._services.sessions.folders(self._thread, self._run.turn.options)
        return self._services.trust.undecided(self._thread, folders)

    async def _start_later(self) -> LiveTurn:
        """In a later run than this one: the thread's interrupts have been answered meanwhile."""
        self._run.before_prompt = None
        interrupts = await self._services.states.load(self._thread)
        return await self._start_turn(self._agent.usable_driver, interrupts)

    async def _start_turn(self, driver: Driver, interrupts: Interrupts) -> LiveTurn:
        # Events of a remote agent pass unchanged: it announces changes of its capabilities itself, if it can.
        changes = await read_before_turn(self._snapshot_reader() if driver.is_local else None)
        sessions = self._services.sessions
        definition = self._agent.definition_in_use
        session = await sessions.acquire(
            self._thread, self._run.turn, definition, driver, interrupts, self._write_notices
        )
        try:
            if self._run.before_prompt is not None:
                await self._run.before_prompt()
            turn = await self._follow_session(driver)
            return with_announcements(await session.start(turn), changes)
        except BaseException as exc:
            with CancelScope(shield=True):
                await sessions.release(self._thread)
            if isinstance(exc, NotCapable) and await sessions.drop_setting(self._thread, find_setting(exc)):
                exc.detail += DROPPED
            raise

    async def _follow_session(self, driver: Driver) -> Turn:
        """The turn, checked and translated for the model that the open session has. Raises `NotCapable`."""
        turn, reader = self._run.turn, self._snapshot_reader()
        if reader is None or not driver.is_local or (turn.options.model is None and not has_thinking(turn.options)):
            return turn
        assert self._checked is not None  # else there is no reader
        basis = replace(await reader.read_basis(), requested_model=self._checked.basis.requested_model)
        check_listed(turn, basis)
        return apply_thinking(turn, basis, basis.compute().snapshot)

    async def _write_notices(self, notices: Sequence[Notice]) -> None:
        if notices:
            await self._run.log.append([notice_event(notice) for notice in notices])

    def _snapshot_reader(self) -> ThreadSnapshotReader | None:
        facts = self._services.facts
        if facts is None or self._checked is None:
            return None
        return ThreadSnapshotReader(self._agent, self._thread, facts, self._services.pool, self._checked)

    async def _conclude(self) -> None:
        run = self._run
        outbound = run.outbound
        stop = run.stop_reason
        end = run.turn_end
        await self._store_session()
        if run.phase is Phase.CANCELLED and stop is not None and stop.error is not None:
            await self._seal(outbound.failed(stop.error[1], stop.error[0]), "failed")
        elif run.phase is Phase.CANCELLED or (isinstance(end, TurnEnded) and end.stop_reason == "cancelled"):
            await self._seal(outbound.finished(cancelled=True), "cancelled")
        elif isinstance(end, TurnFailed):
            await self._seal(outbound.failed(end.message, find_cause(end.code, end.message)), "failed")
        elif isinstance(end, TurnEnded) and end.interrupts:
            interrupts = outbound.check_interrupts(end.interrupts)
            self._interrupts.add(interrupts, run.record.run_id, parked=False)
            await self._services.states.save(self._thread, self._interrupts)
            await self._seal(outbound.finished(interrupts), "interrupted")
        else:
            await self._seal(outbound.finished(), "finished")

    async def _store_session(self) -> None:
        """The id of the thread's session, and what it is set to."""
        services, thread, interrupts = self._services, self._thread, self._interrupts
        is_changed = services.sessions.note_settings(thread, interrupts, self._named_settings())
        await services.sessions.store_id(thread, interrupts, is_changed=is_changed)

    def _named_settings(self) -> dict[str, Any]:
        options = self._run.turn.options
        values = {"mode": options.mode, "model": options.model, "effort": options.effort}
        return {name: value for name, value in values.items() if value is not None}

    async def _park(self, live: LiveTurn) -> None:
        services = self._services
        ttl = services.settings.interrupt_ttl
        interrupts, parked = park_turn(self._run, live, self._interrupts, time.time(), ttl)
        self._interrupts.add(interrupts, self._run.record.run_id, parked=True)
        if (session := services.sessions.get(self._thread)) is not None:
            self._interrupts.set_session(session.id)
            services.sessions.note_settings(self._thread, self._interrupts, self._named_settings())
        await services.states.save(self._thread, self._interrupts)
        services.states.park(self._thread, parked)
        last = self._run.outbound.finished(interrupts, pending=parked.calls)
        await self._seal(last, "interrupted" if interrupts else "finished")

    async def _seal(self, last_events: list[Wire], status: Status) -> None:
        """A client may send the next run the moment it sees the end, so the thread is freed before that."""
        if self._run.log.over:
            return
        self._report(last_events[-1], status)
        await self._record_usage(last_events[-1])
        show = await self._run.log.seal(last_events, status)
        is_parked = self._services.states.parked_run(self._thread) is not None
        self._services.outcomes.run_ended(self._thread, last_events[-1], is_parked=is_parked)
        self._services.release(self._thread, self._run)
        show()

    def _report(self, last_event: Wire, status: Status) -> None:
        """Where each principal has an account of its own, the run of one says nothing of the others."""
        credentials = self._agent.definition.credentials or self._services.settings.credentials
        if status == "finished" and credentials == "shared":
            self._agent.report_success()
        elif last_event.get("code") == "AUTH_REQUIRED":
            self._agent.report_sign_in_needed()

    async def _record_usage(self, last_event: Wire) -> None:
        """Before a client can see the end and send the next run."""
        if not (entries := last_event.get("usage")):
            return
        name = self._run.turn.options.model
        models = self._agent.models
        model = models.default() if name is None else models.find(name)
        try:
            await self._services.budget.add(self._thread.principal, entries, models, model)
        except StoreError as exc:
            log.error("run %s: what it used could not be stored: %s", self._run.record.run_id, exc)

    async def _abandon(self, parked: ParkedTurn, calls: Sequence[ClientToolCall]) -> None:
        """What the turn waited for does not come. A tool call without a result would stay in the conversation."""
        await self._services.states.abandon(self._thread, parked)
        await self._run.log.append(self._run.outbound.feed(without_result(calls)))

    async def _repeat(self, missing_calls: Sequence[ClientToolCall]) -> None:
        """Everything was answered before, or not enough now: sends the client what it may have missed, and what is
        open."""
        history = await read_history(self._services.store, *self._thread)
        history.add_input(self._run.turn.messages)  # a client drops messages that a snapshot leaves out
        await self._run.log.append(self._run.outbound.feed([MessagesSnapshot(history.messages)]))
        interrupts = [entry.interrupt for entry in self._interrupts.open()]
        last = self._run.outbound.finished(interrupts, pending=missing_calls)
        await self._seal(last, "interrupted" if interrupts else "finished")
