"""All runs of this gateway: admits, starts, follows, cancels, drains, recovers.

A thread has one live run at most (`runs.admission`). Whoever must know that a thread is busy, or free again, is told.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from typing import Any, Literal

import anyio
from anyio import CancelScope

from gateway.agui.history import History
from gateway.background import Tasks
from gateway.capabilities.feed import SnapshotSource
from gateway.drivers import Driver, LiveTurn, Opening, Session
from gateway.errors import Conflict, GatewayError, NotFound, StoreError
from gateway.events import ClientToolCall, MessagesSnapshot, TurnEnded, TurnFailed, Wire
from gateway.registry.agents import Agent, Touch
from gateway.runs.admission import LAST_WORDS, STOPPING, Admission
from gateway.runs.capability_events import notice, telling
from gateway.runs.history import Seen, has_news, read_history
from gateway.runs.interrupts import Interrupts, ResumeResult
from gateway.runs.log import Reader, Replay
from gateway.runs.outcomes import LastOutcomes, Left
from gateway.runs.parked_turns import Parked, parked_by, without_result
from gateway.runs.phase import Phase
from gateway.runs.readiness import Blocker, Precondition, find_blocker, hold
from gateway.runs.recovery import prune_for_ever, recover
from gateway.runs.run import Run, Stop
from gateway.runs.session_pool import SessionPool
from gateway.runs.thread_state import ThreadKey, ThreadStates
from gateway.runs.workspaces import Workspaces
from gateway.settings import Settings
from gateway.store.base import RunRecord, Status, Store
from gateway.turn import Turn, title_of

log = logging.getLogger(__name__)


class Engine:
    def __init__(self, settings: Settings, store: Store, tasks: Tasks, touch: Touch = lambda agent: None) -> None:
        """`touch`: is told of every agent with whom a session is another now."""
        self._settings, self._store, self._tasks = settings, store, tasks
        self._sessions = SessionPool(settings, touch, tasks)
        self._threads = ThreadStates(settings, store, tasks, self._give_back)
        self._workspaces = Workspaces(settings.workspace)
        tasks.start_soon(self._sessions.close_idle_for_ever)
        self._runs = Admission(settings, store)
        self._endings = LastOutcomes()
        self.capability_source: SnapshotSource | None = None
        """By which runs notice that what they can do has changed; None: they do not look."""
        self.thread_changed: Callable[[ThreadKey], None] = lambda thread: None
        """Is told of every thread that may be busy now, or free, or waiting. Must not wait."""

    @property
    def live_runs(self) -> int:
        return len(self._runs)

    @property
    def draining(self) -> bool:
        return self._runs.draining

    # -- starting

    async def start(self, agent: Agent, turn: Turn, principal: str, calm: Precondition | None = None) -> Run:
        """Admits the run and starts it; from here on everything is told by its log. `calm`: or else `Conflict`."""
        driver = agent.ready
        thread = ThreadKey(agent.definition.id, turn.thread_id, principal)
        await self._runs.hand_over(thread)
        run = self._runs.claim(thread, turn, agent)
        parked: Parked | None = None
        try:
            if calm is not None:
                await self._expect(thread, calm.latest)
                run.handing = calm.handing
            book = await self._threads.book(thread)
            book.title = book.title or title_of(turn.messages)
            if calm is not None:
                hold(self._threads.parked_run(thread), book, time.time(), calm)
            settled = self._threads.settle(thread, book, turn)
            # At once: while the store writes, the question may expire, and the turn would be gone.
            parked = self._threads.unpark(thread) if settled.parked or settled.given_up else None
            await self._note(thread, run, book)
        except BaseException:
            if parked is not None:
                await self._take_back(thread, parked)
            self._release(thread, run)
            run.over.set()
            raise
        self.thread_changed(thread)
        self._tasks.start_soon(self._play, thread, run, driver, book, settled, parked)
        return run

    async def _expect(self, thread: ThreadKey, latest: str | None) -> None:
        newest = await self._store.thread_runs(*thread, 1)
        if newest and newest[0].key != latest:
            raise Conflict("the thread has gone on meanwhile", code="THREAD_BUSY", runId=newest[0].run_id)

    async def _note(self, thread: ThreadKey, run: Run, book: Interrupts) -> None:
        """Both wait for one commit."""
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._store.begin, run.record)
                tasks.start_soon(self._threads.save, thread, book)
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None

    async def _take_back(self, thread: ThreadKey, parked: Parked) -> None:
        """The run could not begin: the turn waits as before, and the answers, if they were noted, were not given."""
        self._threads.park(thread, parked)
        with CancelScope(shield=True), suppress(StoreError):
            await self._threads.save(thread, parked.book)

    def _release(self, thread: ThreadKey, run: Run) -> None:
        if self._runs.release(thread, run):
            self.thread_changed(thread)

    async def _give_back(self, thread: ThreadKey) -> None:
        """After a turn that ended between two runs."""
        await self._sessions.give_back(thread)
        self.thread_changed(thread)

    # -- playing

    async def _play(
        self,
        thread: ThreadKey,
        run: Run,
        driver: Driver,
        book: Interrupts,
        settled: ResumeResult,
        parked: Parked | None,
    ) -> None:
        """The run's task. A failure of the gateway itself is logged, and told to the client as that."""
        try:
            await self._play_turn(thread, run, driver, book, settled, parked)
        except GatewayError as exc:
            await self._seal(thread, run, run.outbound.failed(exc.detail, exc.code), "failed")
        except Exception:
            log.exception("run %s failed inside the gateway", run.record.run_id)
            last = run.outbound.failed("the gateway itself failed; its log says how", "INTERNAL_ERROR")
            await self._seal(thread, run, last, "failed")
        except BaseException:  # cancelled from outside: the whole gateway is going down
            with CancelScope(shield=True), anyio.move_on_after(LAST_WORDS):
                await self._seal(thread, run, run.outbound.failed(STOPPING[1], STOPPING[0]), "failed")
            raise
        finally:
            self._release(thread, run)
            run.over.set()

    async def _play_turn(
        self,
        thread: ThreadKey,
        run: Run,
        driver: Driver,
        book: Interrupts,
        settled: ResumeResult,
        parked: Parked | None,
    ) -> None:
        live = parked.live if parked else None
        try:
            await run.begin(parked.suspended if parked and settled.parked else None)
            if settled.error is not None:
                code, message = settled.error
                return await self._seal(thread, run, run.outbound.failed(message, code), "failed")
            if parked is not None and settled.given_up:
                live = None
                await self._go_on_without(thread, run, parked, settled.waits)
            elif settled.waits or (settled.again and (book.open() or not await has_news(self._store, thread, run))):
                return await self._tell_again(thread, run, book, settled.waits)
            if live is None:
                with run.opening:  # an agent that takes its time to start can be stopped meanwhile
                    live = await self._begin_turn(thread, run, driver, book)
            if live is None:
                run.give_up()
            else:
                self.thread_changed(thread)
                await run.drive(live, settled.answers if parked else {})
            if live is not None and run.phase is Phase.PARKED:
                await self._park(thread, run, live, book)
                live = None  # it waits now, and must not be closed; had that failed, it must
                return None
        finally:
            if live is not None:
                with CancelScope(shield=True):
                    await live.aclose()
                    await self._sessions.give_back(thread)
        return await self._conclude(thread, run, book)

    async def _begin_turn(self, thread: ThreadKey, run: Run, driver: Driver, book: Interrupts) -> LiveTurn:
        # An agent elsewhere passes as it is: where it can, it says itself that its capabilities have changed.
        before = await notice(self.capability_source, thread) if driver.local else None
        session = await self._open(thread, run.turn, driver, book)
        try:
            if run.handing is not None:
                await run.handing()
            return telling(await session.start(run.turn), before)
        except BaseException:
            with CancelScope(shield=True):
                await self._sessions.give_back(thread)
            raise

    async def open_session(self, thread: ThreadKey, turn: Turn, driver: Driver) -> Session:
        """For what is done between runs."""
        session = await self._open(thread, turn, driver, await self._threads.book(thread))
        await self._sessions.give_back(thread)
        if self._endings.opened(thread):
            self.thread_changed(thread)
        return session

    def session(self, thread: ThreadKey) -> Session | None:
        return self._sessions.get(thread)

    async def keep_session(self, thread: ThreadKey) -> None:
        """After it was set to something, by which it may have another id to come back to."""
        await self._keep(thread, await self._threads.book(thread))

    def was_resumed(self, thread: ThreadKey) -> bool:
        """The thread's session is one that was there before it was opened here."""
        return self._sessions.was_resumed(thread)

    def left(self, thread: ThreadKey) -> Left:
        """How it is where nothing is under way."""
        return self._endings.of(thread)

    async def release_session(self, thread: ThreadKey) -> bool:
        """Until somebody uses the thread. False: there was none open."""
        closed = await self._sessions.close(thread)
        self._endings.released(thread)
        return closed

    async def forget_session(self, thread: ThreadKey) -> None:
        """The thread is about to be deleted."""
        await self._sessions.close(thread)
        self._endings.forget(thread)

    async def close_driver_sessions(self, driver: Driver) -> None:
        """Of its sessions, each when its turn is over; their threads are brought back in another driver."""
        await self._sessions.close_driver_sessions(driver)

    async def _open(self, thread: ThreadKey, turn: Turn, driver: Driver, book: Interrupts) -> Session:
        """The thread's session, brought back if it must be."""
        opening = self._opening(thread, turn, book.session, driver.local)
        if book.session is not None and not self._sessions.fits(thread, driver, opening):
            opening = replace(opening, known=(await read_history(self._store, *thread)).known_ids())
        session = await self._sessions.take(thread, driver, opening)
        await self._keep(thread, book)
        return session

    async def _keep(self, thread: ThreadKey, book: Interrupts) -> None:
        """The id to come back to, once the agent has told it: some do so only in a turn."""
        session = self._sessions.get(thread)
        if session is not None and session.id != book.session:
            book.session = session.id
            with CancelScope(shield=True):  # the session is taken: whoever gives up now would keep it for ever
                await self._threads.save(thread, book)

    def _opening(self, thread: ThreadKey, turn: Turn, session_id: str | None, local: bool) -> Opening:
        options = turn.options
        if not local:
            return Opening(thread.abroad, session_id=session_id, options=options)
        return Opening(
            turn.thread_id,
            cwd=self._workspaces.resolve(options.cwd),
            additional_directories=self._workspaces.resolve_all(options.additional_directories or ()),
            mcp_servers=options.mcp_servers or (),
            session_id=options.session_id or options.fork_session_id or session_id,
            fork=options.fork_session_id is not None,
            options=options,
            tools=tuple(turn.tools),
        )

    async def _conclude(self, thread: ThreadKey, run: Run, book: Interrupts) -> None:
        outbound, stop, ended = run.outbound, run.stopping, run.outbound.ended
        await self._keep(thread, book)
        if run.phase is Phase.CANCELLED and stop is not None and stop.error is not None:
            await self._seal(thread, run, outbound.failed(stop.error[1], stop.error[0]), "failed")
        elif run.phase is Phase.CANCELLED or (isinstance(ended, TurnEnded) and ended.stop_reason == "cancelled"):
            await self._seal(thread, run, outbound.finished(cancelled=True), "cancelled")
        elif isinstance(ended, TurnFailed):
            await self._seal(thread, run, outbound.failed(ended.message, ended.code), "failed")
        elif isinstance(ended, TurnEnded) and ended.interrupts:
            interrupts = outbound.check_interrupts(ended.interrupts)
            book.ask(interrupts, run.record.run_id, parked=False)
            await self._threads.save(thread, book)
            await self._seal(thread, run, outbound.finished(interrupts), "interrupted")
        else:
            await self._seal(thread, run, outbound.finished(), "finished")

    async def _park(self, thread: ThreadKey, run: Run, live: LiveTurn, book: Interrupts) -> None:
        interrupts, parked = parked_by(run, live, book, time.time(), self._settings.interrupt_ttl)
        book.ask(interrupts, run.record.run_id, parked=True)
        if (session := self._sessions.get(thread)) is not None:
            book.session = session.id
        await self._threads.save(thread, book)
        self._threads.park(thread, parked)
        last = run.outbound.finished(interrupts, pending=parked.calls)
        await self._seal(thread, run, last, "interrupted" if interrupts else "finished")

    async def _seal(self, thread: ThreadKey, run: Run, last: list[Wire], status: Status) -> None:
        """The client may send the next run the moment it sees the end, so the thread is free before that."""
        if run.log.over:
            return
        show = await run.log.seal(last, status)
        self._endings.ended(thread, last[-1], parked=self._threads.parked_run(thread) is not None)
        self._release(thread, run)
        show()

    async def _go_on_without(
        self, thread: ThreadKey, run: Run, parked: Parked, calls: Sequence[ClientToolCall]
    ) -> None:
        """What the turn waited for does not come. A call without a result would stay in the conversation for ever."""
        await self._threads.give_up(thread, parked)
        await run.log.append(run.outbound.feed(without_result(calls)))

    async def _tell_again(self, thread: ThreadKey, run: Run, book: Interrupts, calls: Sequence[ClientToolCall]) -> None:
        """All was answered before, or not enough now: the client gets what it may have missed, and what is open."""
        history = await read_history(self._store, *thread)
        history.add_input(run.turn.messages)  # what the client has, and a snapshot leaves out, it would drop
        await run.log.append(run.outbound.feed([MessagesSnapshot(history.messages)]))
        interrupts = [entry.interrupt for entry in book.open()]
        last = run.outbound.finished(interrupts, pending=calls)
        await self._seal(thread, run, last, "interrupted" if interrupts else "finished")

    # -- looking and stopping

    async def follow(self, run_id: str, principal: str, after: int) -> tuple[RunRecord, Reader]:
        """The run's events above `after`: replayed, then followed to the end."""
        if (run := self._runs.named(run_id, principal)) is not None:
            return run.record, run.log.follow(after)
        record = await self._find(run_id, principal)
        return record, Replay(record, self._store, after)

    async def cancel(self, run_id: str, principal: str) -> Literal["cancelling", "cancelled", "over"]:
        """Stops a live run, or the turn that an interrupted run left waiting."""
        if (run := self._runs.named(run_id, principal)) is not None:
            await run.stop(Stop())
            return "cancelling"
        record = await self._find(run_id, principal)
        thread = ThreadKey(record.agent, record.thread_id, principal)
        return "cancelled" if await self.give_up(thread, run_id) else "over"

    async def give_up(self, thread: ThreadKey, run_id: str) -> bool:
        """The questions that a run left open, and the turn that waits. False if there are none."""
        if self._runs.claim_on(thread) is not None or not await self._threads.cancel(thread, run_id):
            return False
        self.thread_changed(thread)
        return True

    async def stop(self, run: Run) -> None:
        """For whoever holds the run itself: its id may be another's by now."""
        await run.stop(Stop())

    def live_run(self, thread: ThreadKey) -> Run | None:
        return self._runs.run_on(thread)

    def waiting_run(self, thread: ThreadKey) -> str | None:
        """The thread's live run, or the one whose turn waits for an answer."""
        return self._runs.claim_on(thread) or self._threads.parked_run(thread)

    async def find_blocker(self, thread: ThreadKey) -> Blocker | None:
        """What keeps the thread from taking a message now."""
        book = await self._threads.book(thread)
        return find_blocker(self._runs.claim_on(thread), self._threads.parked_run(thread), book, time.time())

    async def open_interrupts(self, thread: ThreadKey) -> list[dict[str, Any]]:
        book = await self._threads.book(thread)
        book.expire(time.time())
        return [entry.interrupt for entry in book.open()]

    async def history(self, thread: ThreadKey, seen: Seen | None = None) -> tuple[History, Run | None]:
        """The conversation as a client would hold it, and the run that goes on with it. `seen`: of those before it."""
        live = self.live_run(thread)
        # A run that ends meanwhile is still followed, so it must not be told as well.
        history = await read_history(self._store, *thread, but=live.record.key if live else None, seen=seen)
        if live is not None:
            history.add_input(live.turn.messages)
        return history, live

    async def _find(self, run_id: str, principal: str) -> RunRecord:
        record = await self._store.run(run_id, principal)
        if record is None:
            raise NotFound(f"there is no run {run_id!r}, or its log is older than is kept", code="UNKNOWN_RUN")
        return record

    # -- the gateway's own life

    async def drain(self) -> None:
        """No new runs; live ones may finish within the grace, then are ended with `GATEWAY_STOPPING`."""
        self._runs.draining = True
        runs = list(self._runs)
        with anyio.move_on_after(self._settings.shutdown_grace):
            for run in runs:
                await run.over.wait()
        async with anyio.create_task_group() as tasks:
            for run in runs:
                tasks.start_soon(run.stop, Stop(STOPPING))
        with anyio.move_on_after(self._settings.cancel_grace + LAST_WORDS):
            for run in runs:
                await run.over.wait()
        await self._threads.aclose()
        await self._sessions.aclose()

    async def recover(self) -> int:
        return await recover(self._store)

    async def prune_for_ever(self) -> None:
        await prune_for_ever(self._store, self._settings)
