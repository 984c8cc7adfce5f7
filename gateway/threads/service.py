"""Threads, beside their runs: listed, shown, set, forked, closed, deleted."""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping
from typing import Any
from uuid import uuid4

from gateway.audit import AuditLog
from gateway.capability_paths import ACP, flatten, unflatten
from gateway.drivers import Controls
from gateway.errors import AgentFault, BadInput, Conflict, NotCapable, NotFound
from gateway.events import Layer
from gateway.identity import Caller, ThreadKey
from gateway.jsonio import dumps
from gateway.registry.agents import Agent
from gateway.runs.approval_audit import list_decisions
from gateway.runs.approval_modes import SettingChange
from gateway.runs.engine import Engine
from gateway.runs.interrupts import Interrupts
from gateway.runs.session_access import LIST_METHOD, SessionAccess
from gateway.store.base import RunRecord, Store, ThreadRecord
from gateway.threads.delivery.dispatcher import Dispatcher
from gateway.threads.events import ThreadEvents
from gateway.threads.run_follower import RunFollower
from gateway.threads.worktrees import KeptWork, WorktreeService
from gateway.turn import title_of

log = logging.getLogger(__name__)

MAX_LISTED_THREADS = 200
MAX_LISTED_RUNS = 20
"""Runs that a thread names: the newest that are over."""

BODIES = {"mode": '{"mode": "…"}', "model": '{"model": "…"}', "config": '{"id": "…", "value": …}'}
"""What can be set → the body that sets it."""


class ThreadService:
    def __init__(
        self,
        engine: Engine,
        store: Store,
        events: ThreadEvents,
        follower: RunFollower,
        dispatcher: Dispatcher,
        worktrees: WorktreeService,
        access: SessionAccess,
        audit: AuditLog,
    ) -> None:
        self._worktrees = worktrees
        self._engine = engine
        self._store = store
        self._events = events
        self._follower = follower
        self._dispatcher = dispatcher
        self._access = access
        self._audit = audit

    async def list_threads(self, agent: Agent, principal: str) -> list[dict[str, Any]]:
        records = await self._store.threads(agent.definition.id, principal, MAX_LISTED_THREADS)
        return [self._summarize(record) for record in records]

    async def show(self, thread: ThreadKey) -> dict[str, Any]:
        """What is known of the thread, its conversation included."""
        record = await self._find(thread)
        runs: dict[str, dict[str, Any]] = {}
        history, live = await self._engine.history(thread, lambda run, messages: _add_run(runs, run, messages))
        session = self._engine.sessions.get(thread)
        interrupts = self._engine.read_interrupts(record)
        layer = interrupts.settings.closed_layer if session is None else session.session_layer
        last_run = next(reversed(runs), "") if live is None else live.record.run_id
        return self._summarize(record) | {
            "runId": live.record.run_id if live else None,
            "runs": list(runs.values())[-MAX_LISTED_RUNS:],
            "messages": history.messages,
            "state": history.state,
            "interrupts": await self._engine.open_interrupts(thread),
            "expiredInterrupts": interrupts.unanswered(last_run),
            "decisions": list_decisions(interrupts),
            "session": {**_session_json(layer), "id": record.session, "open": session is not None},
        }

    async def close(self, thread: ThreadKey) -> bool:
        """Closes the agent's session; the next use of the thread resumes it."""
        record = await self._find(thread)
        self._require_idle(thread)
        was_open = await self._engine.sessions.close(thread)
        await self._follower.report_release(thread, record.session if was_open else None)
        return was_open

    async def delete(self, agent: Agent, thread: ThreadKey, caller: Caller) -> KeptWork | None:
        """The thread and its logs, its worktree, and the session at the agent, where it can delete one and the thread's
        principal owns it. Queued messages fail. Returns what is kept of its worktree."""
        if await self._store.thread(*thread) is None and self._dispatcher.has_queued(thread):
            await self._delete_stored(thread)
            return None
        record = await self._find(thread)
        self._require_idle(thread)
        is_own = record.session is not None and await self._access.owns(agent.definition, thread, record.session)
        if is_own and await _may_delete_sessions(agent):
            try:
                await (await self._open_controls(agent, thread, caller)).delete()
            except (NotCapable, Conflict):
                pass  # then the agent keeps its own copy; or the session is open in another thread
            except AgentFault as exc:  # a thread of an agent that is gone can be deleted, too
                log.warning("thread %s: its session could not be deleted at the agent: %s", thread.thread_id, exc)
        await self._engine.sessions.forget(thread)
        kept = await self._worktrees.remove(thread)
        await self._delete_stored(thread)
        return kept

    async def _delete_stored(self, thread: ThreadKey) -> None:
        self._audit.record("thread.delete", thread.principal, agent=thread.agent, thread=thread.thread_id)
        await self._follower.wait_until_reported(thread)  # else an event from before would be stored after the deletion
        await self._dispatcher.fail_queued(thread, lambda: self._store.delete_thread(*thread))
        self._follower.forget(thread)
        self._engine.activities.publish(thread)

    async def fork(self, agent: Agent, thread: ThreadKey, new_id: str, caller: Caller) -> str:
        """A second thread that begins where this one is. Returns the id of its session."""
        await self._find(thread)
        self._require_idle(thread)
        forked = ThreadKey(thread.agent, new_id, thread.principal)
        if await self._store.thread(*forked) is not None:
            raise Conflict(f"there is a thread {new_id!r} already", code="THREAD_EXISTS")
        session_id = await (await self._open_controls(agent, thread, caller)).fork()
        await self._worktrees.fork(thread, forked)
        history, _ = await self._engine.history(thread)
        await self._store_first_run(forked, history.messages)
        settings = self._engine.read_interrupts(await self._find(thread)).settings
        interrupts = Interrupts(session=session_id, title=title_of(history.messages), settings=settings)
        await self._store.save_thread(
            ThreadRecord(*forked, updated=time.time(), session=session_id, interrupts=interrupts.dumps())
        )
        parent = (await self._find(thread)).session
        event = {"type": "session.forked", "sessionId": session_id, "parentSessionId": parent, "threadId": new_id}
        await self._events.write(thread, [{key: value for key, value in event.items() if value is not None}])
        detail = {"threadId": new_id, "session": session_id}
        self._audit.record("thread.fork", thread.principal, agent=thread.agent, thread=thread.thread_id, detail=detail)
        return session_id

    async def set(
        self, agent: Agent, thread: ThreadKey, setting: str, body: Mapping[str, Any], caller: Caller
    ) -> dict[str, Any]:
        """`setting`: `mode`, `model` or `config`. Returns what the session is set to afterwards."""
        self._require_idle(thread)
        match setting, body:
            case "mode", {"mode": str(mode)}:
                change = SettingChange(mode=mode)
                await (await self._open_controls(agent, thread, caller, change)).set_mode(mode)
            case "model", {"model": str(model)}:
                await (await self._open_controls(agent, thread, caller)).set_model(model)
            case "config", {"id": str(option), "value": bool() | str() as value}:
                change = SettingChange(option=option, value=value)
                await (await self._open_controls(agent, thread, caller, change)).set_config(option, value)
            case _:
                raise BadInput(f"the body must be {BODIES[setting]}", pointer="")
        named = {body["id"]: body["value"]} if setting == "config" else body[setting]
        await self._engine.sessions.store_settings(thread, {setting: named})
        self._audit.record("thread.set", thread.principal, agent=thread.agent, thread=thread.thread_id, detail=body)
        session = self._engine.sessions.get(thread)
        return {} if session is None else _session_json(session.session_layer)

    async def call(
        self, agent: Agent, thread: ThreadKey, method: str, params: Mapping[str, Any], caller: Caller
    ) -> Any:
        """Any further method of the agent's own protocol. All but the list of one's own sessions reach beyond the
        thread, and need the scope `admin`."""
        if method != LIST_METHOD:
            caller.require("admin")
        await self._access.check_params(thread, params, caller)
        result = await (await self._open_controls(agent, thread, caller)).call(method, params)
        detail = {"method": method, "params": params}
        self._audit.record("thread.call", thread.principal, agent=thread.agent, thread=thread.thread_id, detail=detail)
        return await self._access.filter_list(thread, result, caller) if method == LIST_METHOD else result

    async def _find(self, thread: ThreadKey) -> ThreadRecord:
        record = await self._store.thread(*thread)
        if record is None:
            raise NotFound(f"{thread.agent!r} has no thread {thread.thread_id!r}", code="UNKNOWN_THREAD")
        return record

    def _require_idle(self, thread: ThreadKey) -> None:
        if (run := self._engine.pending_run(thread)) is not None:
            raise Conflict(
                f"the thread has a run under way, {run!r}: cancel it first", code="RUN_IN_PROGRESS", runId=run
            )

    async def _open_controls(
        self, agent: Agent, thread: ThreadKey, caller: Caller, change: SettingChange | None = None
    ) -> Controls:
        await self._access.check_thread(agent.definition, thread, caller)
        with agent.in_use():
            driver = agent.usable_driver
            session = await self._engine.sessions.open_between_runs(thread, agent.definition, driver, change)
        if session.controls is None:
            detail = f"{thread.agent!r} has no sessions of its own: there is nothing to set, fork or delete"
            raise NotCapable(detail, capability="custom.session", source=f"driver ({agent.definition.driver})")
        return session.controls

    async def _store_first_run(self, thread: ThreadKey, messages: list[dict[str, Any]]) -> None:
        """A thread's history is read from the input of its runs, so a fork starts with a run that has only input."""
        key = uuid4().hex
        run_id = f"fork-{uuid4().hex[:8]}"
        run_input = dumps({"threadId": thread.thread_id, "runId": run_id, "messages": messages})
        record = RunRecord(key, run_id, thread.thread_id, thread.agent, thread.principal, "1.0", run_input, time.time())
        await self._store.begin(record)
        await self._store.end(key, "finished", time.time())

    def _summarize(self, record: ThreadRecord) -> dict[str, Any]:
        thread = ThreadKey(record.agent, record.thread_id, record.principal)
        interrupts = self._engine.read_interrupts(record)
        summary = {
            "threadId": record.thread_id,
            "updated": record.updated,
            "pendingRunId": self._engine.pending_run(thread),
            "sessionId": record.session,
            "status": self._status(thread, interrupts),
        }
        return summary if interrupts.title is None else {**summary, "title": interrupts.title}

    def _status(self, thread: ThreadKey, interrupts: Interrupts) -> str:
        """`pendingRunId` names a run that is live and one that waits; the status says which of both it is."""
        if self._engine.live_run(thread) is not None:
            return "running"
        if interrupts.open():
            return "blocked"
        return "waiting" if self._engine.pending_run(thread) is not None else "idle"


async def _may_delete_sessions(agent: Agent) -> bool:
    """False: the agent is known to keep its sessions, so none is opened to be deleted."""
    layer = {} if agent.driver is None else await agent.driver.handshake_layer()
    return flatten(layer).get(f"{ACP}.deleteSession") is not False


def _add_run(runs: dict[str, dict[str, Any]], run: RunRecord, messages: list[dict[str, Any]]) -> None:
    """`messageId`: the last message of the run's input; what the run did came after it. Of two runs with the same id,
    only the events of the newer one can be read."""
    last = messages[-1]["id"] if messages else None
    runs.pop(run.run_id, None)
    runs[run.run_id] = {"runId": run.run_id, "status": run.status, "events": run.events, "messageId": last}


def _session_json(layer: Layer) -> dict[str, Any]:
    tree: dict[str, Any] = unflatten(layer)
    values: dict[str, Any] = tree.get("custom", {}).get("session", {})
    return values
