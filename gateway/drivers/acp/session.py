"""One ACP session: opened, prompted, cancelled, closed. Its messages are read by `wire.acp`."""

from __future__ import annotations

import logging
import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import anyio
from anyio import to_thread

from gateway.background import Tasks
from gateway.catalog.definition import AgentDefinition
from gateway.drivers.acp.client_methods import ClientMethods
from gateway.drivers.acp.client_tools import ClientTools, ListingHabit, Tools, serves_tools
from gateway.drivers.acp.commands import TurnCommands
from gateway.drivers.acp.connection import Connection
from gateway.drivers.acp.controls import AcpControls
from gateway.drivers.acp.corrections import correct_handshake, prompt_content, source_of
from gateway.drivers.acp.minute_file import MinuteFile
from gateway.drivers.acp.session_setup import SessionSetup, close_session, location_params
from gateway.drivers.acp.steering import Steering
from gateway.drivers.acp.turn import AcpTurn
from gateway.drivers.base import Opening
from gateway.drivers.client_tools import SocketPaths
from gateway.drivers.prompt_builder import PromptBuilder
from gateway.drivers.skills import add_to_prompt, find_skills
from gateway.drivers.trust_flags import flags_of, session_meta
from gateway.drivers.turn_base import TurnSlot
from gateway.errors import AgentFault
from gateway.events import Event, Layer, Warning
from gateway.turn import Turn
from gateway.wire.acp.errors import AUTH_REQUIRED, ERROR_TEXTS, agent_fault
from gateway.wire.acp.fast_path import Texts
from gateway.wire.acp.initialize import Handshake
from gateway.wire.acp.session import SessionReader
from gateway.wire.acp.session_state import SessionState, session_layer
from gateway.wire.jsonrpc import Request, Response

log = logging.getLogger(__name__)

CLOSE_TIMEOUT_SECONDS = 5.0
PROMPT = "session/prompt"


class SessionOwner(Protocol):
    """The agent's driver, as a session sees it."""

    @property
    def listing(self) -> ListingHabit: ...

    async def authenticate(self, connection: Connection, error: AgentFault) -> None:
        """Raises `AgentFault` where the user has to sign in."""

    async def reserve_new_connection(self, opening: Opening) -> Connection:
        """A process of its own, reserved until `Connection.release`."""

    def cancel_reservation(self, connection: Connection) -> None:
        """The session that it was reserved for could not be opened."""

    def session_ended(self, connection: Connection) -> None:
        """The connection has one session fewer."""


class AcpSession:
    reusable = True

    def __init__(
        self,
        connection: Connection,
        definition: AgentDefinition,
        opening: Opening,
        socket_directory: SocketPaths,
        owner: SessionOwner,
        tasks: Tasks,
    ) -> None:
        handshake = correct_handshake(connection.handshake, definition)
        self._connection = connection
        self._definition = definition
        self._source_of = partial(source_of, definition=definition)
        self._handshake: Handshake = handshake
        self._prompt_content = prompt_content(handshake, definition)
        self._opening = opening
        self._minute_file = MinuteFile(definition.acp.minute_file, opening.home)
        self._meta = session_meta(flags_of(definition, opening.confinement.is_trusted), opening.cwd)
        self._owner = owner
        self._tasks = tasks
        self.reader = _new_reader(definition, handshake, opening)
        self._client_methods = ClientMethods(self, opening, definition, tasks)
        serves = serves_tools(definition, handshake)
        self._prompts = PromptBuilder(opening.known, serves_tools=serves)
        self._client_tools = ClientTools(
            self, self._prompts, socket_directory, tasks, settings=definition.acp, habit=owner.listing, serves=serves
        )
        self._commands = TurnCommands(self.reader, opening, tasks, is_enabled=definition.acp.end_commands)
        self._slot: TurnSlot[AcpTurn] = TurnSlot()
        self._is_usable = True
        self._has_history = opening.session_id is not None
        """There is a conversation to resume."""
        self.id = ""

    # -- as runs see it

    @property
    def is_alive(self) -> bool:
        return self._connection.is_alive and self._is_usable

    @property
    def session_layer(self) -> Layer:
        return {**session_layer(self.reader.state), **self._client_tools.layer}

    @property
    def controls(self) -> AcpControls:
        location = location_params(self._opening, self._handshake, self._meta)
        state, is_open = self.reader.state, self._definition.open_models is True
        return AcpControls(self._connection, self._handshake, state, self.id, location, self._source_of, is_open)

    async def start(self, turn: Turn) -> AcpTurn:
        await self._offer_tools(turn)
        await self.controls.apply_options(turn.options, self._definition)
        await self._client_tools.wait_until_listed()
        blocks, warnings = self._prompts.build(turn, self._prompt_content)
        blocks = await _add_skills(blocks, turn, self._opening, self._definition)
        live = AcpTurn(self, turn, blocks)
        self._slot.set(live)
        self._has_history = True
        self.reader.begin_turn(self._prompts.new_key())
        self._commands.note_calls()
        live.put([*warnings, *self._slot.take_late()])
        self._tasks.start_soon(live.play)
        return live

    async def _offer_tools(self, turn: Turn) -> None:
        if not await self._client_tools.offer(turn.tools):
            if self._handshake.resume or self._handshake.load:
                await self._reopen(turn)
            else:
                self._client_tools.warn_deferred()

    async def aclose(self) -> None:
        """Closes it at the agent, where that is possible; the conversation can be resumed."""
        if self._is_usable:
            self._is_usable = False
            await self._free()

    async def _free(self, *, cancel: bool = False) -> None:
        await self._client_methods.aclose()
        await self._close_at_agent(cancel=cancel)
        await self._client_tools.aclose()
        self._owner.session_ended(self._connection)

    async def _close_at_agent(self, *, cancel: bool = False) -> None:
        with anyio.move_on_after(CLOSE_TIMEOUT_SECONDS):
            await close_session(self._connection, self._handshake, self.id, cancel=cancel)
        self._connection.detach(self.id, self)

    # -- opening

    async def establish(self) -> None:
        try:
            await self._open(self._opening, self._opening.tools)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._client_tools.aclose()
            raise
        for warning in await self.controls.restore_config(self._opening.config):
            self._prompts.add_warning(warning)
        if (dropped := _dropped_directories(self._opening, self._handshake, self._definition)) is not None:
            self._prompts.add_warning(dropped)

    async def _open(self, opening: Opening, tools: Tools) -> None:
        with_tools = await self._client_tools.add_server(opening, self._handshake, tools)
        source = partial(source_of, definition=self._definition)
        setup = SessionSetup(self._connection, self._handshake, with_tools, self, source, self._meta, self._minute_file)
        if not await setup.open(self._owner.authenticate):
            self._prompts.forget()

    async def _reopen(self, turn: Turn) -> None:
        """The same conversation, in a session that has the tools of this turn."""
        await self._close_at_agent()
        await self._client_tools.aclose()
        session_id = self.id if self._has_history else None
        if session_id is not None and len(turn.messages) > 1 and await self._minute_file.is_taken(session_id):
            session_id = None  # rather than a wait: the turn has the conversation
            self._prompts.forget()
        opening = replace(self._opening, session_id=session_id, fork=False)
        if self._handshake.close:
            return await self._open(opening, turn.tools)
        # A session that cannot be closed stays open in its process: it is resumed in another process.
        previous = self._connection
        self._connection = await self._owner.reserve_new_connection(self._opening)
        self._owner.session_ended(previous)
        try:
            await self._open(opening, turn.tools)
        except BaseException:
            self._owner.cancel_reservation(self._connection)
            raise
        return self._connection.release()

    def attach(self, session_id: str) -> None:
        self.id = session_id
        self._connection.attach(session_id, self)

    # -- as the connection sees it

    def receive_updates(self, updates: list[Any], session_id: str) -> None:
        self._deliver(self.reader.read_all(updates, None if session_id == self.id else session_id))
        self._commands.note_calls()

    def receive_texts(self, texts: Texts) -> None:
        self._deliver(self.reader.read_texts(texts.update, texts.texts))

    def receive_notification(self, method: str, params: Any) -> None:
        self._deliver(self.reader.read_notification(method, params))

    def _deliver(self, events: list[Event]) -> None:
        turn = self._slot.turn
        if turn is not None and not turn.over.is_set():
            events = turn.put(events)
        self._slot.keep_late(events)

    def owns(self, session_id: str) -> bool:
        return self.reader.owns(session_id)

    async def wait_for_room(self) -> None:
        await self._slot.wait_for_room()

    async def handle_request(self, request: Request) -> Any:
        result = await self._client_methods.handle(request)
        self._commands.note_calls()  # a permission may be the first word of its call, and the agent gets it now
        return result

    @property
    def turn_folder(self) -> Path | None:
        return self._opening.cwd if self.reader.is_in_turn else None

    def connection_lost(self, error: AgentFault) -> None:
        if self._slot.turn is not None:
            self._slot.turn.fail(error)
        self._leave()

    # -- as its turn sees it

    @property
    def turn(self) -> AcpTurn | None:
        return self._slot.turn

    async def prompt(self, blocks: list[dict[str, Any]], turn: AcpTurn) -> list[Event]:
        """The turn's last events. In version 2 the response comes at once, and the turn ends by an update."""
        response = await self._send_prompt({"sessionId": self.id, "prompt": blocks})
        if response.error is not None:
            if agent_fault(response.error, PROMPT).code == "SESSION_NOT_FOUND":
                self._leave()  # the next run opens another
            return self.reader.fail_turn(response.error, cancelled=turn.is_cancelled)
        if self.ends_by_update:
            return []
        turn.mark_answered()
        await anyio.sleep(self._definition.acp.drain_seconds)
        result = response.result if isinstance(response.result, dict) else {}
        reason, usage, meta = result.get("stopReason"), result.get("usage"), result.get("_meta")
        last_events = self.reader.end_turn(reason, usage, cancelled=turn.is_cancelled, meta=meta)
        return [*self.last_warnings(), *last_events]

    def last_warnings(self) -> list[Event]:
        return self._client_tools.end_turn()

    async def _send_prompt(self, params: dict[str, Any]) -> Response:
        """Some agents require authentication only now."""
        response = await self._connection.request(PROMPT, params)
        if response.error is not None and response.error.code == AUTH_REQUIRED:
            try:
                await self._owner.authenticate(self._connection, agent_fault(response.error, PROMPT))
            except AgentFault:
                self._give_up()  # only a new process will see that the user has signed in
                raise
            response = await self._connection.request(PROMPT, params)
        return response

    def new_steering(self) -> Steering | None:
        return Steering(self._connection.call, self._tasks) if self._handshake.steering else None

    def add_accepted(self, events: Sequence[Event]) -> None:
        self._prompts.add_accepted(events)

    @property
    def ends_by_update(self) -> bool:
        return self._handshake.protocol_version == 2

    async def cancel_prompt(self) -> None:
        await self._connection.notify("session/cancel", {"sessionId": self.id})

    def end_commands(self, turn: AcpTurn) -> None:
        self._tasks.start_soon(self._client_methods.end_commands, turn)
        self._commands.end(turn.over, self._connection, self._connection.other_folders(self))

    async def abandon(self) -> None:
        self._give_up(cancel=True)

    def turn_closed(self, turn: AcpTurn) -> None:
        self._slot.clear(turn)

    def _give_up(self, *, cancel: bool = False) -> None:
        """Leave the session, and let its process take no other: the conversation is resumed in a new process."""
        self._connection.mark_full()
        self._leave(cancel=cancel)

    def _leave(self, *, cancel: bool = False) -> None:
        """Close it in the background: the agent may not answer."""
        if self._is_usable:
            self._is_usable = False
            self._tasks.start_soon(partial(self._free, cancel=cancel))


async def _add_skills(
    blocks: list[dict[str, Any]], turn: Turn, opening: Opening, definition: AgentDefinition
) -> list[dict[str, Any]]:
    if not turn.options.skills:
        return blocks
    find = partial(find_skills, turn.options.skills, opening.cwd, opening.home)
    return add_to_prompt(blocks, await to_thread.run_sync(find), definition.skill_mention)


def _dropped_directories(opening: Opening, handshake: Handshake, definition: AgentDefinition) -> Warning | None:
    takes_directories = handshake.additional_directories or definition.acp.directory is not None
    if takes_directories or not opening.additional_directories:
        return None
    names = ", ".join(str(folder) for folder in opening.additional_directories)
    return Warning("DIRECTORIES_DROPPED", f"the agent takes no such directories: {names}")


def _new_reader(definition: AgentDefinition, handshake: Handshake, opening: Opening) -> SessionReader:
    acp = definition.acp
    return SessionReader(
        SessionState(version=handshake.protocol_version, cwd=str(opening.cwd)),
        error_texts=ERROR_TEXTS,
        failure_texts=[re.compile(pattern) for pattern in acp.error_text_patterns],
        usage_covers=acp.usage_scope,
    )
