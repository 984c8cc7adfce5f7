"""A thread's session, between its runs: looked at, set, forked, closed, deleted."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from gateway.capability_paths import unflatten
from gateway.drivers import Controls, Session
from gateway.drivers.python.modes import ModeControls
from gateway.errors import AgentFault, BadInput, Conflict, NotCapable, NotFound
from gateway.events import Layer
from gateway.identity import ThreadKey
from gateway.jsonio import dumps
from gateway.registry.agents import Agent
from gateway.runs.engine import Engine
from gateway.runs.interrupts import Interrupts
from gateway.store.base import RunRecord, Store, ThreadRecord
from gateway.threads.delivery.dispatcher import Dispatcher
from gateway.threads.events import ThreadEvents
from gateway.threads.status import ThreadStatuses
from gateway.turn import Turn, title_of

log = logging.getLogger(__name__)

LISTED = 200
HISTORY_REPLAYED = 20
"""Runs that a thread names: the newest that are over."""


class ThreadService:
    def __init__(
        self, engine: Engine, store: Store, statuses: ThreadStatuses, feeds: ThreadEvents, dispatcher: Dispatcher
    ) -> None:
        self._engine, self._store, self._feeds, self._dispatcher = engine, store, feeds, dispatcher
        self.standing, self.under_way = statuses.of, statuses.under_way

    async def threads(self, agent: Agent, principal: str) -> list[dict[str, Any]]:
        threads = await self._store.threads(agent.definition.id, principal, LISTED)
        return [self._summary(thread) for thread in threads]

    async def show(self, agent: Agent, thread: ThreadKey) -> dict[str, Any]:
        """What is known of it, its conversation included."""
        record = await self._known(thread)
        runs: dict[str, dict[str, Any]] = {}
        history, live = await self._engine.history(thread, lambda run, given: _note(runs, run, given))
        session = self._engine.session(thread)
        return self._summary(record) | {
            "runId": live.record.run_id if live else None,
            "runs": list(runs.values())[-HISTORY_REPLAYED:],
            "messages": history.messages,
            "state": history.state,
            "interrupts": await self._engine.open_interrupts(thread),
            "session": {"id": record.session, "open": session is not None, **_learned(session)},
        }

    async def close(self, thread: ThreadKey) -> bool:
        """Frees the agent's session; the thread brings it back when it is used."""
        record = await self._known(thread)
        self._idle(thread)
        closed = await self._engine.release_session(thread)
        await self._feeds.released(thread, record.session if closed else None)
        return closed

    async def delete(self, agent: Agent, thread: ThreadKey) -> None:
        """The thread and its logs, and the session at the agent where it can delete one. What waits for it fails."""
        if await self._store.thread(*thread) is None and self._dispatcher.waits(thread):
            await self._dispatcher.forget(thread, lambda: self._store.delete_thread(*thread))
            return
        record = await self._known(thread)
        self._idle(thread)
        if record.session is not None:
            try:
                await (await self._controls(agent, thread)).delete()
            except NotCapable:
                pass  # then the agent keeps its own copy, as it does for everyone
            except AgentFault as exc:  # an agent that is gone must not keep its threads from being deleted
                log.warning("thread %s: its session could not be deleted at the agent: %s", thread.thread_id, exc)
        await self._engine.forget_session(thread)
        await self._dispatcher.forget(thread, lambda: self._store.delete_thread(*thread))

    async def fork(self, agent: Agent, thread: ThreadKey, new_id: str) -> str:
        """A second thread that begins where this one is."""
        await self._known(thread)
        self._idle(thread)
        forked = ThreadKey(thread.agent, new_id, thread.principal)
        if await self._store.thread(*forked) is not None:
            raise Conflict(f"there is a thread {new_id!r} already", code="THREAD_EXISTS")
        session_id = await (await self._controls(agent, thread)).fork()
        history, _ = await self._engine.history(thread)
        await self._begin_with(forked, history.messages)
        book = Interrupts(session=session_id, title=title_of(history.messages))
        now = time.time()
        await self._store.save_thread(ThreadRecord(*forked, updated=now, session=session_id, interrupts=book.dumps()))
        parent = (await self._known(thread)).session
        told = {"type": "session.forked", "sessionId": session_id, "parentSessionId": parent, "threadId": new_id}
        await self._feeds.tell(thread, {key: value for key, value in told.items() if value is not None})
        return session_id

    async def set(self, agent: Agent, thread: ThreadKey, what: str, value: Mapping[str, Any]) -> dict[str, Any]:
        """`mode`, `model` or `config`; what the session is then set to."""
        self._idle(thread)
        controls = await self._controls(agent, thread)
        match what, value:
            case "mode", {"mode": str(mode)}:
                await controls.set_mode(mode)
            case "model", {"model": str(model)}:
                await controls.set_model(model)
            case "config", {"id": str(option), "value": bool() | str() as wish}:
                await controls.set_config(option, wish)
            case _:
                wanted = {"mode": '{"mode": "…"}', "model": '{"model": "…"}', "config": '{"id": "…", "value": …}'}
                raise BadInput(f"the body must be {wanted[what]}", pointer="")
        await self._engine.keep_session(thread)
        return _learned(self._engine.session(thread))

    async def remembered(self, agent: Agent, thread: ThreadKey) -> Layer | None:
        """What a session that is not open is set to, where that is known without it: the mode of a function."""
        if not agent.definition.modes:
            return None
        record = await self._store.thread(*thread)
        return ModeControls(agent.definition.modes, None if record is None else record.session).session_layer

    async def call(self, agent: Agent, thread: ThreadKey, method: str, params: Mapping[str, Any]) -> Any:
        """Any further method of the agent's own protocol."""
        return await (await self._controls(agent, thread)).call(method, params)

    async def _known(self, thread: ThreadKey) -> ThreadRecord:
        record = await self._store.thread(*thread)
        if record is None:
            raise NotFound(f"{thread.agent!r} has no thread {thread.thread_id!r}", code="UNKNOWN_THREAD")
        return record

    def _idle(self, thread: ThreadKey) -> None:
        if (run := self._engine.waiting_run(thread)) is not None:
            raise Conflict(
                f"the thread has a run under way, {run!r}: cancel it first", code="RUN_IN_PROGRESS", runId=run
            )

    async def _controls(self, agent: Agent, thread: ThreadKey) -> Controls:
        turn = Turn(thread.thread_id, "")
        with agent.held():
            session = await self._engine.open_session(thread, turn, agent.ready)
        if session.controls is None:
            detail = f"{thread.agent!r} has no sessions of its own: there is nothing to set, fork or delete"
            raise NotCapable(detail, capability="custom.session", source=f"driver ({agent.definition.driver})")
        return session.controls

    async def _begin_with(self, thread: ThreadKey, messages: list[dict[str, Any]]) -> None:
        """A thread's memory is the input of its runs: a fork starts with one that was nothing but that."""
        key, run_id = uuid4().hex, f"fork-{uuid4().hex[:8]}"
        given = {"threadId": thread.thread_id, "runId": run_id, "messages": messages}
        record = RunRecord(
            key, run_id, thread.thread_id, thread.agent, thread.principal, "1.0", dumps(given), time.time()
        )
        await self._store.begin(record)
        await self._store.end(key, "finished", time.time())

    def _summary(self, thread: ThreadRecord) -> dict[str, Any]:
        key = ThreadKey(thread.agent, thread.thread_id, thread.principal)
        run, book = self._engine.waiting_run(key), Interrupts.loads(thread.interrupts)
        told = {
            "threadId": thread.thread_id,
            "updated": thread.updated,
            "pendingRunId": run,
            "sessionId": thread.session,
        }
        told |= {"status": self._status(key, book)}
        return told if book.title is None else {**told, "title": book.title}

    def _status(self, key: ThreadKey, book: Interrupts) -> str:
        """`waiting` names the run in both cases; whether anybody has to do something about it is said here."""
        if self._engine.live_run(key) is not None:
            return "running"
        book.expire(time.time())
        return "waiting" if self._engine.waiting_run(key) is not None or book.open() else "idle"


def _note(runs: dict[str, dict[str, Any]], run: RunRecord, given: list[dict[str, Any]]) -> None:
    """`messageId`: the last message that it was given; what it did came behind that. A client may call two runs the
    same: then only the newer one can be asked for its events."""
    last = given[-1]["id"] if given else None
    runs.pop(run.run_id, None)
    runs[run.run_id] = {"runId": run.run_id, "status": run.status, "events": run.events, "messageId": last}


def _learned(session: Session | None) -> dict[str, Any]:
    told: dict[str, Any] = {} if session is None else unflatten(session.session_layer)
    found: dict[str, Any] = told.get("custom", {}).get("session", {})
    return found
