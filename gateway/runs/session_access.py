"""Whose session is whose: which sessions of an agent a caller may continue, copy, list or name.

In: a caller, and the sessions that its request names or that its thread has. Out: nothing, or a refusal before anything
is sent to the agent. A session belongs to the principal whose thread had it first. A session of another principal, and
one that the gateway does not know, needs the scope `admin`; both are refused with the same words, so that a refusal
reveals nothing. An administrator who takes a session over does not become its owner. A session is open in one thread at
a time.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from gateway.catalog.definition import AgentDefinition
from gateway.errors import Forbidden
from gateway.identity import Caller, ThreadKey
from gateway.runs.session_pool import SessionPool
from gateway.store.base import Store
from gateway.turn import Options

LIST_METHOD = "session/list"
MAX_PARAMS_DEPTH = 20
MAX_KNOWN_SESSIONS = 10_000
POINTERS = {
    "session_id": "/forwardedProps/gateway/sessionId",
    "fork_session_id": "/forwardedProps/gateway/forkSessionId",
}


class SessionAccess:
    def __init__(self, store: Store, pool: SessionPool) -> None:
        self._store = store
        self._pool = pool
        self._known: dict[tuple[str, str], str] = {}
        """(agent, session id) → its owner, who never changes."""

    async def check_run(
        self, definition: AgentDefinition, thread: ThreadKey, options: Options, caller: Caller
    ) -> str | None:
        """Before a run. Returns the session that the caller may use though it is not the owner; None: there is none.
        Raises `Forbidden` or `Conflict`."""
        if options.session_id is None and options.fork_session_id is None:
            return await self.check_thread(definition, thread, caller)
        option = "fork_session_id" if options.session_id is None else "session_id"
        session_id: str = getattr(options, option)
        is_own = await self._is_own(thread, session_id)
        if not is_own:
            _require_admin(caller, thread.agent, session_id, POINTERS[option])
        if option == "session_id" and definition.is_local_process:
            self._pool.require_free(thread, session_id)
        return None if is_own else session_id

    async def check_thread(self, definition: AgentDefinition, thread: ThreadKey, caller: Caller) -> str | None:
        """Before the session that the thread has is used; the same result as of `check_run`."""
        if not definition.is_local_process:
            return None
        if (session := self._pool.get(thread)) is not None:
            session_id = session.id
        else:
            record = await self._store.thread(*thread)
            session_id = None if record is None else record.session
        if session_id is None:
            return None
        # A session whose id is not stored yet is the thread's own: it was opened for it.
        is_own = await self._is_own(thread, session_id, unknown=True)
        if not is_own:
            _require_admin(caller, thread.agent, session_id, None)
        self._pool.require_free(thread, session_id)
        return None if is_own else session_id

    async def owns(self, definition: AgentDefinition, thread: ThreadKey, session_id: str) -> bool:
        """The session is that of the thread's principal: it may be deleted at the agent."""
        return not definition.is_local_process or await self._is_own(thread, session_id)

    async def check_params(self, thread: ThreadKey, params: Mapping[str, Any], caller: Caller) -> None:
        """Before a method of the agent's own protocol is called: the sessions that its parameters name."""
        sessions = sorted(set(_find_sessions(params, MAX_PARAMS_DEPTH)))
        owners = await self._store.session_owners.owners(thread.agent, sessions)
        for session_id in sessions:
            if owners.get(session_id) != thread.principal:
                _require_admin(caller, thread.agent, session_id, "/params")

    async def filter_list(self, thread: ThreadKey, result: Any, caller: Caller) -> Any:
        """The agent's list of its sessions, without those of other principals; an administrator gets all."""
        if "admin" in caller.scopes:
            return result
        listed = result.get("sessions") if isinstance(result, dict) else None
        entries = [entry for entry in listed if isinstance(entry, dict)] if isinstance(listed, list) else []
        sessions = [entry["sessionId"] for entry in entries if isinstance(entry.get("sessionId"), str)]
        owners = await self._store.session_owners.owners(thread.agent, sessions)
        own = [entry for entry in entries if owners.get(str(entry.get("sessionId"))) == thread.principal]
        # Nothing else of the answer: an agent may tell more of other sessions in fields that are not known here.
        cursor = result.get("nextCursor") if isinstance(result, dict) else None
        return {"sessions": own, "nextCursor": cursor} if isinstance(cursor, str) else {"sessions": own}

    async def _is_own(self, thread: ThreadKey, session_id: str, *, unknown: bool = False) -> bool:
        """`unknown`: the answer for a session that has no owner."""
        name = thread.agent, session_id
        owner = self._known.get(name)
        if owner is None:
            owner = (await self._store.session_owners.owners(thread.agent, [session_id])).get(session_id)
        if owner is None:
            return unknown
        if len(self._known) >= MAX_KNOWN_SESSIONS:
            self._known.clear()
        self._known[name] = owner
        return owner == thread.principal


def _require_admin(caller: Caller, agent: str, session_id: str, pointer: str | None) -> None:
    if "admin" not in caller.scopes:
        raise Forbidden(
            f"{caller.principal!r} has opened no session {session_id!r} with {agent!r}: name one of your own, leave it "
            "out to begin a new one, or send a token with the scope `admin`",
            code="SESSION_FOREIGN",
            pointer=pointer,
        )


def _find_sessions(value: Any, depth: int) -> Iterator[str]:
    """Whatever is named as a session id, at any depth: `sessionId`, `parentSessionId`, `session_id`."""
    if depth <= 0:
        return
    if isinstance(value, Mapping):
        for key, each in value.items():
            is_id = str(key).replace("_", "").lower().endswith(("sessionid", "sessionids"))
            if is_id and isinstance(each, str):
                yield each
            elif is_id and isinstance(each, list):
                yield from (item for item in each if isinstance(item, str))
            yield from _find_sessions(each, depth - 1)
    elif isinstance(value, list):
        for each in value:
            yield from _find_sessions(each, depth - 1)
