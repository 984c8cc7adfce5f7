"""The process behind a session, and the dialect that reads it. One session may need several processes over time.

In: messages of the agent, and what the gateway wants of the dialect. Out: events for the session. The dialect knows the
conversation and stays; processes come and go. A process that was started with other options than a run has now is
replaced, and the conversation is resumed in the new one by the agent's own means.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, Protocol
from uuid import uuid4

import anyio
from anyio import to_thread

from gateway.drivers.base import Opening
from gateway.drivers.cli.command import (
    CommandOptions,
    LaunchArguments,
    SaveFile,
    option_arguments,
    session_arguments,
)
from gateway.drivers.cli.connection import Connection
from gateway.drivers.cli.launch import Launcher
from gateway.drivers.confinement import Confinement
from gateway.drivers.skills import folders
from gateway.drivers.trust_flags import dialect_params, flags_of
from gateway.errors import AgentFault
from gateway.events import Event, TurnFailed
from gateway.wire.dialects import Dialect, SessionStart

log = logging.getLogger(__name__)

SESSION_NOT_FOUND = "SESSION_NOT_FOUND"

Tools = tuple[Mapping[str, Any], ...]


class ConnectionPool(Protocol):
    """Where a session gets its process from, and returns it to."""

    async def acquire(self, cwd: Path, arguments: LaunchArguments, confinement: Confinement) -> Connection: ...

    def release(self, connection: Connection) -> None: ...


class EventReceiver(Protocol):
    """The session, as its process sees it."""

    def deliver(self, events: Sequence[Event]) -> None: ...

    def process_ended(self, last_events: Sequence[Event], error: AgentFault) -> None: ...

    async def wait_for_room(self) -> None: ...


class SessionProcess:
    """It is the `Listener` of its connection."""

    def __init__(
        self,
        launcher: Launcher,
        pool: ConnectionPool,
        opening: Opening,
        save_file: SaveFile,
        receiver: EventReceiver,
        on_history_lost: Callable[[], None],
    ) -> None:
        """`save_file`: for options that go by a file. `on_history_lost`: called when the agent does not know the
        conversation any more."""
        self._definition = launcher.definition
        self._cli = launcher.cli
        self._pool = pool
        self._opening = opening
        self._save_file = save_file
        self._receiver = receiver
        self._on_history_lost = on_history_lost
        self.dialect: Dialect = launcher.dialect()
        self.dialect.session_id = None if opening.fork else opening.session_id
        self.tag = uuid4().hex[:8]
        self._fork_id = opening.session_id if opening.fork else None
        """The session that is still to be copied."""
        self._has_history = opening.session_id is not None
        """There is a conversation to resume."""
        self._client_tools: Tools = opening.tools if self.dialect.can_call_client_tools else ()
        self._connection: Connection | None = None
        self._killed: Connection | None = None
        """A connection whose process was killed: it must have ended before the next one begins."""
        self._started_with: tuple[LaunchArguments, tuple[str, ...], Tools] | None = None
        self._changed = anyio.Event()
        self._death = AgentFault("the agent is gone", code="AGENT_DIED")

    @property
    def is_connected(self) -> bool:
        return self._connection is not None

    @property
    def can_replace_session(self) -> bool:
        """If the agent has lost the session, and the client has not named it, and it is not to be copied."""
        return self._has_history and self._fork_id is None and not self._opening.names_session

    @property
    def client_tools(self) -> Tools:
        return self._client_tools

    def offer_tools(self, tools: Sequence[Mapping[str, Any]]) -> bool:
        """True: they have changed, and the agent takes tools only when a session begins."""
        previous, self._client_tools = self._client_tools, tuple(tools) if self.dialect.can_call_client_tools else ()
        return self._takes_tools_at_start and self._client_tools != previous

    @property
    def _takes_tools_at_start(self) -> bool:
        return self._cli.client_tools == "per-session"

    # -- a process for the session

    async def ensure_ready(self, options: CommandOptions, media: LaunchArguments | None = None) -> None:
        """There is a process with these options, and the dialect takes a prompt."""
        arguments = await to_thread.run_sync(option_arguments, self._cli, options, self._save_file)
        skills = folders(options.skills) if self.dialect.skill_scope is not None else ()
        wanted = (arguments, skills, self._client_tools if self._takes_tools_at_start else ())
        if self._can_continue and wanted == self._started_with:
            return
        await self.release()
        try:
            await self._start(arguments, media or LaunchArguments(), skills)
        except AgentFault as exc:
            if exc.code != SESSION_NOT_FOUND or not self.can_replace_session:
                raise
            self.forget()
            await self._start(arguments, media or LaunchArguments(), skills)
        self._started_with = wanted
        if self.dialect.has_lost_history:
            if self._opening.names_session:
                raise AgentFault("the agent does not have the session that the run names", code=SESSION_NOT_FOUND)
            self._on_history_lost()

    @property
    def _can_continue(self) -> bool:
        """The process takes another turn."""
        is_alive = self._connection is not None and self._connection.is_alive
        return is_alive and self.dialect.is_ready and self._cli.process != "turn"

    async def _start(self, arguments: LaunchArguments, media: LaunchArguments, skills: tuple[str, ...]) -> None:
        opening = self._opening
        is_fork = self._fork_id is not None
        session_id = self._fork_id or (self.dialect.session_id if self._has_history else None)
        new_id = str(uuid4())
        session = session_arguments(self._cli, session_id, new_id, fork=is_fork)
        args = (*arguments.args, *session.args, *media.args)
        env, loaded = {**arguments.env, **session.env}, skills if self.dialect.skill_scope == "process" else ()
        launch = LaunchArguments(args, env, arguments.json_env, loaded)
        connection = await self._pool.acquire(opening.cwd, launch, opening.confinement)
        connection.require_free(self)  # before it is this session's: closing that would release the other's
        self._connection = connection
        if new_id in session.args:
            self.dialect.session_id = new_id
        await connection.subscribe(str(opening.cwd))
        flags = flags_of(self._definition, opening.confinement.is_trusted)
        params = dialect_params(self._cli.params, flags, opening.cwd)
        params |= {**connection.params, "connected": connection.is_ready}
        if self._cli.error_text_patterns:
            params["error_text_patterns"] = self._cli.error_text_patterns
        connection.attach(self)
        directories = tuple(str(folder) for folder in opening.additional_directories)
        place = (str(opening.cwd), session_id, is_fork, directories)
        start = SessionStart(*place, opening.mcp_servers, params, self.tag, self._client_tools, skills)
        self.dialect.start_session(start)
        self.flush()
        try:
            await self._wait_until_ready()
        except BaseException:
            await self.release()
            raise
        self._fork_id = None

    async def _wait_until_ready(self) -> None:
        seconds = self._cli.start_timeout
        with anyio.move_on_after(seconds):
            while not self.dialect.is_ready and self.dialect.failure is None:
                await self._wait_for_change()
            if self.dialect.failure is not None:
                raise self.dialect.failure
            return
        raise AgentFault(f"the agent was not ready within {seconds:g} seconds", code="AGENT_STALLED")

    async def _wait_for_change(self) -> None:
        if self._connection is None:
            raise self._death
        await self._changed.wait()

    def forget(self) -> None:
        self.dialect.session_id = None
        self._has_history = False
        self._on_history_lost()

    # -- towards the agent

    def flush(self) -> None:
        if self.dialect.outbox:
            messages, self.dialect.outbox = self.dialect.outbox, []
            if self._connection is not None:
                self._connection.send(messages)

    def prompt_sent(self) -> None:
        """A turn has begun: from now on there is a conversation to resume."""
        self._has_history = True
        self.flush()
        if self._cli.process == "turn" and self._connection is not None:
            self._connection.close_input()

    async def run_action(self, action: str, params: dict[str, Any], limit: float) -> Any:
        """One of the dialect's actions, on a process that is ready. `limit`: seconds."""
        ticket = self.dialect.start_action(action, params)
        self.flush()
        with anyio.move_on_after(limit):
            while ticket not in self.dialect.action_results:
                await self._wait_for_change()
            reply = self.dialect.action_results.pop(ticket)
            if reply.error is not None:
                raise reply.error
            return reply.value
        raise AgentFault(f"the agent did not answer {action!r} within {limit:g} seconds", code="AGENT_STALLED")

    def cancel(self) -> None:
        """Stop the turn: by the dialect, else by a signal."""
        if not self.dialect.is_busy or self._connection is None:
            return
        if self.dialect.cancel():
            self.flush()
        elif self._cli.process == "agent":
            log.info("%s cannot stop a turn: the turn goes on to its end", self._definition.id)
        elif self._cli.cancel == "SIGINT":
            self._connection.process.interrupt()
        else:
            self._connection.process.terminate()

    def abandon(self) -> None:
        """The turn did not end after its cancellation: kill its process, without waiting for it."""
        connection, self._connection = self._connection, None
        self.dialect.is_ready = False
        self.dialect.is_busy = False
        if connection is None:
            return
        connection.detach(self)
        if not self._cli.exclusive:
            connection.mark_full()
        self._pool.release(connection)
        if self._cli.process != "agent":
            connection.process.kill()
            self._killed = connection

    async def release(self) -> None:
        """Leave the process. A process that served only this session has ended then: the next one must not meet it at
        work on the same conversation."""
        connection = self._connection or self._killed
        self._connection = None
        self._killed = None
        if connection is not None:
            connection.detach(self)
            self._pool.release(connection)
            if self._cli.process != "agent":
                await connection.aclose()

    async def aclose(self) -> None:
        connection = self._connection
        if connection is not None and connection.is_alive and self._cli.process == "agent":
            self.dialect.release_session()
            self.flush()
        self._killed = None
        await self.release()

    # -- as its connection sees it

    def receive(self, messages: Sequence[bytes]) -> None:
        events = self.dialect.read(messages)
        self.flush()
        self._receiver.deliver(events)
        self._notify()

    async def wait_for_room(self) -> None:
        await self._receiver.wait_for_room()

    def connection_lost(self, error: AgentFault | None) -> None:
        connection, self._connection = self._connection, None
        if connection is None:
            return
        process = connection.process
        self._death = error or process.died()
        last_events = self.dialect.on_process_exit(process.exit_code, process.stderr_tail())
        if (cause := process.limit_message) is not None:
            last_events = [_add_cause(event, cause) for event in last_events]
        self._receiver.process_ended(last_events, self._death)
        self._pool.release(connection)
        self._notify()

    def _notify(self) -> None:
        self._changed.set()
        self._changed = anyio.Event()


def _add_cause(event: Event, cause: str) -> Event:
    return replace(event, message=f"{event.message} {cause}") if isinstance(event, TurnFailed) else event
