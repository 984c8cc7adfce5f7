"""One ACP session: prompted, cancelled, closed. What it says is read by `wire.acp`; `opening` opens it."""

from __future__ import annotations

import logging
import re
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import anyio

from gateway.background import Tasks
from gateway.catalog.definition import AgentDefinition
from gateway.drivers.acp.client_methods import ClientMethods
from gateway.drivers.acp.client_tools import ClientTools, Tools, serves_tools
from gateway.drivers.acp.connection import Connection
from gateway.drivers.acp.controls import AcpControls
from gateway.drivers.acp.session_setup import Opener, where
from gateway.drivers.acp.steering import Steering
from gateway.drivers.acp.turn import AcpTurn
from gateway.drivers.base import Opening
from gateway.drivers.client_tools import SocketDirectory
from gateway.drivers.prompt_builder import PromptBuilder
from gateway.errors import AgentFault
from gateway.events import Event, Layer, Raw, Warning
from gateway.turn import Turn
from gateway.wire.acp.errors import AUTH_REQUIRED, ERROR_TEXTS, agent_fault
from gateway.wire.acp.fast_path import Texts
from gateway.wire.acp.initialize import Handshake
from gateway.wire.acp.session import SessionReader
from gateway.wire.acp.session_state import SessionState, session_layer
from gateway.wire.fields import without_meta
from gateway.wire.jsonrpc import Request, Response

log = logging.getLogger(__name__)

CLOSE_LIMIT = 5.0
LATE_KEPT = 1000
"""Events that come between turns, kept for the next one."""
PROMPT = "session/prompt"


class SessionOwner(Protocol):
    """The agent's driver, as a session sees it."""

    async def authenticate(self, connection: Connection, error: AgentFault) -> None: ...

    async def another(self) -> Connection:
        """A process of its own, reserved until `release`."""

    def given_up(self, connection: Connection) -> None:
        """What it was reserved for came to nothing."""

    def freed(self, connection: Connection) -> None:
        """The session is gone from it, whichever way."""


class AcpSession:
    kept = True

    def __init__(
        self,
        connection: Connection,
        handshake: Handshake,
        definition: AgentDefinition,
        opening: Opening,
        folder: SocketDirectory,
        tasks: Tasks,
    ) -> None:
        self._connection, self._handshake, self._definition = connection, handshake, definition
        self._opening, self._tasks = opening, tasks
        patterns = [*ERROR_TEXTS, *map(re.compile, definition.acp.error_text_patterns)]
        facts = SessionState(version=handshake.protocol_version, cwd=str(opening.cwd))
        self.reader = SessionReader(facts, error_texts=patterns, usage_covers=definition.acp.usage_scope)
        self._service = ClientMethods(self, opening, definition, tasks)
        serves = serves_tools(definition, handshake)
        self._telling = PromptBuilder(opening.known, serves_tools=serves)
        self._hosting = ClientTools(
            self, self._telling, folder, tasks, serves=serves, follows=definition.acp.client_tools == "per-turn"
        )
        self._late: list[Event] = []
        self._turn: AcpTurn | None = None
        self._usable = True
        self._spoken = opening.session_id is not None
        """There is something to come back to."""
        self._home: SessionOwner | None = None
        self.id = ""

    # -- as runs see it

    @property
    def alive(self) -> bool:
        return self._connection.alive and self._usable

    @property
    def session_layer(self) -> Layer:
        return session_layer(self.reader.state)

    @property
    def controls(self) -> AcpControls:
        place = where(self._opening, self._handshake)
        return AcpControls(self._connection, self._handshake, self.reader.state, self.id, place)

    async def start(self, turn: Turn) -> AcpTurn:
        await self._offer(turn)
        await self._wishes(turn)
        blocks, warned = self._telling.blocks(turn, self._handshake)
        key = self._telling.key()
        live = self._turn = AcpTurn(self, turn, blocks)
        self._spoken = True
        self.reader.begin_turn(key)
        late, self._late = self._late, []
        live.put([*warned, *late])
        self._tasks.start_soon(live.play)
        return live

    async def _offer(self, turn: Turn) -> None:
        """The client's own tools, before it is prompted."""
        if await self._hosting.offer(turn.tools):
            return
        if self._handshake.resume or self._handshake.load:
            await self._open_anew(turn)
        else:
            self._hosting.too_late()

    async def _wishes(self, turn: Turn) -> None:
        """What the run wants set, before it is prompted."""
        options, controls = turn.options, self.controls
        if options.model is not None:
            await controls.set_model(options.model)
        if options.mode is not None:
            await controls.set_mode(options.mode)
        if options.effort is not None:
            await controls.set_effort(options.effort)

    async def aclose(self) -> None:
        """Frees it at the agent, where that is possible; the conversation can be brought back."""
        if self._usable:
            self._usable = False
            await self._free()

    async def _free(self, *, cancel: bool = False) -> None:
        await self._service.aclose()
        await self._close_at_agent(cancel=cancel)
        await self._hosting.aclose()
        if self._home is not None:
            self._home.freed(self._connection)

    async def _close_at_agent(self, *, cancel: bool = False) -> None:
        try:
            with anyio.move_on_after(CLOSE_LIMIT):
                if cancel and self._connection.alive:
                    await self.cancel_prompt()
                if self._handshake.close and self._connection.alive:
                    await self._connection.call("session/close", {"sessionId": self.id})
        except AgentFault as exc:
            log.info("session %s could not be closed: %s", self.id, exc.detail)
        self._connection.detach(self.id, self)

    # -- opening

    async def establish(self, home: SessionOwner) -> None:
        self._home = home
        try:
            await self._open(self._opening, home, self._opening.tools)
        except BaseException:
            with anyio.CancelScope(shield=True):
                await self._hosting.aclose()
            raise
        if self._opening.additional_directories and not self._handshake.additional_directories:
            names = ", ".join(str(folder) for folder in self._opening.additional_directories)
            detail = f"the agent takes no additional directories: {names}"
            self._telling.warned.append(Warning("DIRECTORIES_DROPPED", detail))

    async def _open(self, opening: Opening, home: SessionOwner, tools: Tools) -> None:
        wanted = await self._hosting.opening(opening, self._handshake, tools)
        if not await Opener(self._connection, self._handshake, wanted, self).open(home.authenticate):
            self._telling.forget()

    async def _open_anew(self, turn: Turn) -> None:
        """The same conversation, in a session that is told of these tools."""
        home = self._home
        assert home is not None  # it was open before
        await self._close_at_agent()
        await self._hosting.aclose()
        opening = replace(self._opening, session_id=self.id if self._spoken else None, fork=False)
        if self._handshake.close:
            return await self._open(opening, home, turn.tools)
        # One that cannot be closed goes on as it is in its process: it is brought back in another.
        before, self._connection = self._connection, await home.another()
        home.freed(before)
        try:
            await self._open(opening, home, turn.tools)
        except BaseException:
            home.given_up(self._connection)
            raise
        return self._connection.release()

    def attached(self, session_id: str) -> None:
        self.id = session_id
        self._connection.attach(session_id, self)

    # -- as the connection sees it

    def updated(self, updates: list[Any], session_id: str) -> None:
        self._heard(self.reader.read_all(updates, None if session_id == self.id else session_id))

    def said(self, texts: Texts) -> None:
        self._heard(self.reader.read_texts(texts.update, texts.texts))

    def told(self, method: str, params: Any) -> None:
        self._heard([Raw({"method": method, "params": without_meta(params)}, "acp")])

    def _heard(self, events: list[Event]) -> None:
        if self._turn is not None and not self._turn.over.is_set():
            events = self._turn.put(events)
        if events:
            self._late = [*self._late, *events][-LATE_KEPT:]

    def owns(self, session_id: str) -> bool:
        return self.reader.owns(session_id)

    async def room(self) -> None:
        if self._turn is not None:
            await self._turn.room()

    async def asked(self, request: Request) -> Any:
        return await self._service.answer(request)

    def lost(self, error: AgentFault) -> None:
        if self._turn is not None:
            self._turn.fail(error)
        self._leave()

    # -- as its turn sees it

    @property
    def turn(self) -> AcpTurn | None:
        return self._turn

    async def prompt(self, blocks: list[dict[str, Any]], turn: AcpTurn) -> list[Event]:
        """The turn's last events. Version 2 answers at once, and the turn ends by an update."""
        response = await self._prompted({"sessionId": self.id, "prompt": blocks})
        if response.error is not None:
            if agent_fault(response.error, PROMPT).code == "SESSION_NOT_FOUND":
                self._leave()  # the next run opens another
            return self.reader.fail_turn(response.error, cancelled=turn.cancelled)
        if self.ends_by_update:
            return []
        turn.answered = True
        await anyio.sleep(self._definition.acp.drain_seconds)
        result = response.result if isinstance(response.result, dict) else {}
        reason, usage, meta = result.get("stopReason"), result.get("usage"), result.get("_meta")
        return self.reader.end_turn(reason, usage, cancelled=turn.cancelled, meta=meta)

    async def _prompted(self, params: dict[str, Any]) -> Response:
        """Some agents ask for authentication only now."""
        response = await self._connection.ask(PROMPT, params)
        if response.error is not None and response.error.code == AUTH_REQUIRED and self._home is not None:
            try:
                await self._home.authenticate(self._connection, agent_fault(response.error, PROMPT))
            except AgentFault:
                self._give_up()  # whoever signs in now is seen by a new process only
                raise
            response = await self._connection.ask(PROMPT, params)
        return response

    def steering(self) -> Steering | None:
        return Steering(self._connection.call, self._tasks) if self._handshake.steering else None

    def heard(self, events: list[Event]) -> None:
        """Of these the agent knows what the user said during the turn."""
        self._telling.heard(events)

    @property
    def ends_by_update(self) -> bool:
        return self._handshake.protocol_version == 2

    async def cancel_prompt(self) -> None:
        await self._connection.notify("session/cancel", {"sessionId": self.id})

    async def abandon(self) -> None:
        """The turn did not end when it was told to."""
        self._give_up(cancel=True)

    def _give_up(self, *, cancel: bool = False) -> None:
        """Nothing more is asked of this session, and its process takes no other: the conversation comes back in a new
        one."""
        self._connection.full = True
        self._leave(cancel=cancel)

    def _leave(self, *, cancel: bool = False) -> None:
        """Without waiting for an agent that may not answer."""
        if self._usable:
            self._usable = False
            self._tasks.start_soon(partial(self._free, cancel=cancel))

    def turn_closed(self, turn: AcpTurn) -> None:
        if self._turn is turn:
            self._turn = None
