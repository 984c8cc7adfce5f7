"""One ACP session: opened, brought back, prompted, cancelled, closed. What it says is read by `wire.acp`."""

from __future__ import annotations

import logging
import re
from collections.abc import Awaitable, Callable
from typing import Any
from uuid import uuid4

import anyio
from anyio.abc import TaskGroup

from gateway.catalog.definition import AgentDefinition
from gateway.drivers.acp.connection import Connection
from gateway.drivers.acp.controls import AcpControls
from gateway.drivers.acp.serve import Service
from gateway.drivers.acp.turn import AcpTurn
from gateway.drivers.base import Opening
from gateway.errors import AgentFault
from gateway.events import Event, Layer, Warned
from gateway.turn import Turn
from gateway.wire.acp.facts import Facts, layer
from gateway.wire.acp.faults import ERROR_TEXTS
from gateway.wire.acp.handshake import Handshake
from gateway.wire.acp.prompt import new_messages, prompt_blocks
from gateway.wire.acp.session import SessionReader
from gateway.wire.jsonrpc import Request

log = logging.getLogger(__name__)

OPEN_LIMIT = 120.0
"""Agents start their MCP servers before they answer `session/new`."""
CLOSE_LIMIT = 5.0
LATE_KEPT = 1000
"""Events that come between turns, kept for the next one."""

Authenticate = Callable[[Connection, AgentFault], Awaitable[None]]


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
        self.reader = SessionReader(facts, error_texts=patterns)
        self._service = Service(self, opening, definition, tasks)
        self._known = set(opening.known)
        self._retell = False
        self._late: list[Event] = []
        self._turn: AcpTurn | None = None
        self._abandoned = False
        self.id = ""
        self.closed = anyio.Event()

    # -- as runs see it

    @property
    def alive(self) -> bool:
        return self._connection.alive and not self._abandoned and not self.closed.is_set()

    @property
    def learned(self) -> Layer:
        return layer(self.reader.facts)

    @property
    def controls(self) -> AcpControls:
        return AcpControls(self._connection, self._handshake, self.reader.facts, self.id, self._where())

    async def start(self, turn: Turn) -> AcpTurn:
        await self._wishes(turn)
        news = new_messages(turn, self._known)
        blocks, warned = prompt_blocks(turn, self._handshake, new_messages=news, retell=self._retell)
        if self._retell and len(turn.messages) > 1:
            warned.insert(0, Warned("RETOLD", "the agent's session was gone; the conversation was told to it anew"))
        self._known.update(message["id"] for message in turn.messages)
        self._retell = False
        key = uuid4().hex[:8]
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
        if self.closed.is_set():
            return
        self.closed.set()
        await self._service.aclose()
        if self._handshake.close and self._connection.alive and self.id:
            try:
                await self._connection.call("session/close", {"sessionId": self.id}, CLOSE_LIMIT)
            except AgentFault as exc:
                log.info("session %s could not be closed: %s", self.id, exc.detail)
        self._connection.detach(self.id)

    # -- opening

    async def establish(self, authenticate: Authenticate) -> None:
        """Back where the thread was, by whatever the agent offers; else anew, and the conversation is retold."""
        try:
            await self._establish()
        except AgentFault as exc:
            if exc.code != "AUTH_REQUIRED":
                raise
            await authenticate(self._connection, exc)
            await self._establish()

    async def _establish(self) -> None:
        wanted = self._opening.session_id
        if wanted is not None and await self._come_back(wanted):
            return
        self._retell, self._known = wanted is not None or bool(self._opening.known), set()
        result = await self._connection.call("session/new", self._where(), OPEN_LIMIT)
        if not isinstance(result, dict) or not isinstance(result.get("sessionId"), str):
            raise AgentFault("the agent opened a session without an id", code="AGENT_NONSENSE")
        self._opened(result["sessionId"], result)

    async def _come_back(self, wanted: str) -> bool:
        for method, able in (
            ("session/fork", self._opening.fork and self._handshake.fork),
            ("session/resume", not self._opening.fork and self._handshake.resume),
            ("session/load", not self._opening.fork and self._handshake.load),
        ):
            if not able:
                continue
            self.reader.begin_replay()  # also for the two that should not replay: some agents do
            if method != "session/fork":
                self._attach(wanted)
            try:
                result = await self._connection.call(method, {"sessionId": wanted, **self._where()}, OPEN_LIMIT)
            except AgentFault as exc:
                if exc.code == "AUTH_REQUIRED":
                    raise
                log.info("%s of %s failed: %s", method, wanted, exc.detail)
                self._connection.detach(wanted)
                continue
            finally:
                self.reader.end_replay()
            told = result if isinstance(result, dict) else {}
            self._opened(told["sessionId"] if method == "session/fork" else wanted, told)
            return True
        return False

    def _where(self) -> dict[str, Any]:
        where: dict[str, Any] = {"cwd": str(self._opening.cwd), "mcpServers": list(self._opening.mcp_servers)}
        if self._opening.additional_directories and self._handshake.additional_directories:
            where["additionalDirectories"] = [str(folder) for folder in self._opening.additional_directories]
        return where

    def _opened(self, session_id: str, result: dict[str, Any]) -> None:
        self.reader.facts.read_result(result)
        self._attach(session_id)

    def _attach(self, session_id: str) -> None:
        self.id = session_id
        self._connection.attach(session_id, self)

    # -- as the connection sees it

    def updated(self, updates: list[Any], session_id: str) -> None:
        read, child = self.reader.read, None if session_id == self.id else session_id
        events: list[Event] = []
        for update in updates:
            events += read(update, child)
        if self._turn is not None and not self._turn.over.is_set():
            self._turn.put(events)
        else:
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
        self.closed.set()

    # -- as its turn sees it

    @property
    def turn(self) -> AcpTurn | None:
        return self._turn

    async def prompt(self, blocks: list[dict[str, Any]], turn: AcpTurn) -> list[Event]:
        """The turn's last events. Version 2 answers at once, and the turn ends by an update."""
        params = {"sessionId": self.id, "prompt": blocks}
        response = await self._connection.ask("session/prompt", params)
        if response.error is not None:
            return self.reader.fail_turn(response.error, cancelled=turn.cancelled)
        if self.ends_by_update:
            return []
        await anyio.sleep(self._definition.acp.late)
        result = response.result if isinstance(response.result, dict) else {}
        reason, usage, meta = result.get("stopReason"), result.get("usage"), result.get("_meta")
        return self.reader.end_turn(reason, usage, cancelled=turn.cancelled, meta=meta)

    @property
    def ends_by_update(self) -> bool:
        return self._handshake.protocol_version == 2

    async def cancel_prompt(self) -> None:
        await self._connection.notify("session/cancel", {"sessionId": self.id})

    async def abandon(self) -> None:
        """The turn did not end when it was told to: nothing more is asked of this session, or of its process if it has
        no other."""
        self._abandoned = True
        self._connection.detach(self.id)
        self.closed.set()
        await self._service.aclose()
        if self._connection.sessions == 0:
            await self._connection.aclose()

    def turn_closed(self, turn: AcpTurn) -> None:
        if self._turn is turn:
            self._turn = None
