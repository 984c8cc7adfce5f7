"""One ACP session: prompted, cancelled, closed. What it says is read by `wire.acp`; `opening` opens it."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable
from functools import partial
from typing import Any

import anyio
from anyio.abc import TaskGroup

from gateway.catalog.definition import AgentDefinition
from gateway.drivers.acp.connection import Connection
from gateway.drivers.acp.controls import AcpControls
from gateway.drivers.acp.opening import Authenticate, Opener, where
from gateway.drivers.acp.serve import Service
from gateway.drivers.acp.turn import AcpTurn
from gateway.drivers.base import Opening
from gateway.drivers.telling import Telling
from gateway.errors import AgentFault
from gateway.events import Event, Layer, Unread, Warned
from gateway.turn import Turn
from gateway.wire.acp.facts import Facts, layer
from gateway.wire.acp.faults import AUTH_REQUIRED, ERROR_TEXTS, agent_fault
from gateway.wire.acp.handshake import Handshake
from gateway.wire.acp.lenient import without_meta
from gateway.wire.acp.session import SessionReader
from gateway.wire.acp.template import Texts
from gateway.wire.jsonrpc import Request, Response

log = logging.getLogger(__name__)

CLOSE_LIMIT = 5.0
LATE_KEPT = 1000
"""Events that come between turns, kept for the next one."""
PROMPT = "session/prompt"


class AcpSession:
    kept = True

    def __init__(
        self,
        connection: Connection,
        handshake: Handshake,
        definition: AgentDefinition,
        opening: Opening,
        tasks: TaskGroup,
    ) -> None:
        self._connection, self._handshake, self._definition = connection, handshake, definition
        self._opening, self._tasks = opening, tasks
        patterns = [*ERROR_TEXTS, *map(re.compile, definition.acp.errors_as_text)]
        facts = Facts(version=handshake.protocol_version, cwd=str(opening.cwd))
        self.reader = SessionReader(facts, error_texts=patterns, usage_covers=definition.acp.usage_covers)
        self._service = Service(self, opening, definition, tasks)
        self._telling = Telling(opening.known)
        self._late: list[Event] = []
        self._turn: AcpTurn | None = None
        self._usable = True
        self._freed: Callable[[], None] = lambda: None
        self._authenticate: Authenticate | None = None
        self.id = ""

    # -- as runs see it

    @property
    def alive(self) -> bool:
        return self._connection.alive and self._usable

    @property
    def learned(self) -> Layer:
        return layer(self.reader.facts)

    @property
    def controls(self) -> AcpControls:
        place = where(self._opening, self._handshake)
        return AcpControls(self._connection, self._handshake, self.reader.facts, self.id, place)

    async def start(self, turn: Turn) -> AcpTurn:
        await self._wishes(turn)
        blocks, warned = self._telling.blocks(turn, self._handshake)
        key = self._telling.key()
        live = self._turn = AcpTurn(self, turn, blocks)
        self.reader.begin_turn(key)
        late, self._late = self._late, []
        live.put([*warned, *late])
        self._tasks.start_soon(live.play)
        return live

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
        try:
            with anyio.move_on_after(CLOSE_LIMIT):
                if cancel and self._connection.alive:
                    await self.cancel_prompt()
                if self._handshake.close and self._connection.alive:
                    await self._connection.call("session/close", {"sessionId": self.id})
        except AgentFault as exc:
            log.info("session %s could not be closed: %s", self.id, exc.detail)
        self._connection.detach(self.id, self)
        self._freed()

    # -- opening

    async def establish(self, authenticate: Authenticate, freed: Callable[[], None]) -> None:
        """`freed` is called when the session is gone, whichever way."""
        self._authenticate = authenticate
        if not await Opener(self._connection, self._handshake, self._opening, self).open(authenticate):
            self._telling.forget()
        if self._opening.additional_directories and not self._handshake.additional_directories:
            names = ", ".join(str(folder) for folder in self._opening.additional_directories)
            detail = f"the agent takes no additional directories: {names}"
            self._telling.warned.append(Warned("DIRECTORIES_DROPPED", detail))
        self._freed = freed

    def attached(self, session_id: str) -> None:
        self.id = session_id
        self._connection.attach(session_id, self)

    # -- as the connection sees it

    def updated(self, updates: list[Any], session_id: str) -> None:
        self._heard(self.reader.read_all(updates, None if session_id == self.id else session_id))

    def said(self, texts: Texts) -> None:
        self._heard(self.reader.read_texts(texts.update, texts.texts))

    def told(self, method: str, params: Any) -> None:
        self._heard([Unread({"method": method, "params": without_meta(params)}, "acp")])

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
        await anyio.sleep(self._definition.acp.late)
        result = response.result if isinstance(response.result, dict) else {}
        reason, usage, meta = result.get("stopReason"), result.get("usage"), result.get("_meta")
        return self.reader.end_turn(reason, usage, cancelled=turn.cancelled, meta=meta)

    async def _prompted(self, params: dict[str, Any]) -> Response:
        """Some agents ask for authentication only now."""
        response = await self._connection.ask(PROMPT, params)
        if response.error is not None and response.error.code == AUTH_REQUIRED and self._authenticate is not None:
            try:
                await self._authenticate(self._connection, agent_fault(response.error, PROMPT))
            except AgentFault:
                self._give_up()  # whoever signs in now is seen by a new process only
                raise
            response = await self._connection.ask(PROMPT, params)
        return response

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
