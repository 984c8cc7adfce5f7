"""One agent process that speaks ACP, and the JSON-RPC on its pipes.

Everything read in one go is one batch: its updates go to their sessions in order, answers to whoever waits, requests to
a task each (a permission may wait for minutes while updates go on).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from contextlib import suppress
from typing import Any, Protocol

import anyio

from gateway.background import Tasks
from gateway.drivers.process.process import Process
from gateway.errors import AgentFault
from gateway.wire.acp.errors import REQUEST_CANCELLED, agent_fault
from gateway.wire.acp.fast_path import Template, Texts
from gateway.wire.acp.initialize import Handshake
from gateway.wire.jsonrpc import (
    INTERNAL_ERROR,
    METHOD_NOT_FOUND,
    Id,
    Incoming,
    JsonRpc,
    Noise,
    Notification,
    Request,
    Response,
)
from gateway.wire.lines import Lines, TooLong

log = logging.getLogger(__name__)

LINE_LIMIT = 64 * 1024 * 1024
"""Images and whole-file diffs make lines of megabytes; past this a line is given up, not the agent."""
EARLY_LIMIT = 1000
"""Updates kept for a session that is being opened, and may not be known by its id yet."""
WRITE_LIMIT = 30.0
"""An agent that reads nothing for so long is taken for dead."""


class Listener(Protocol):
    """A session, as its connection sees it."""

    def updated(self, updates: list[Any], session_id: str) -> None:
        """Updates, in order: of the session itself or of a child of it."""

    def said(self, texts: Texts) -> None:
        """The same, for text chunks of the session itself."""

    def told(self, method: str, params: Any) -> None:
        """A notification that is no update."""

    def owns(self, session_id: str) -> bool:
        """Is it a child session of this one?"""

    async def room(self) -> None:
        """Returns when the session can take more."""

    async def asked(self, request: Request) -> Any:
        """The answer to a request of the agent's; raises `Refusal`."""

    def lost(self, error: AgentFault) -> None:
        """The process is gone."""


class Refusal(Exception):
    """An error answer to the agent."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code, self.message = code, message


class Connection:
    def __init__(self, process: Process, tasks: Tasks) -> None:
        self._process, self._tasks = process, tasks
        self._rpc = JsonRpc()
        self._lines = Lines(LINE_LIMIT)
        self._template = Template()
        self._waiting: dict[Id, asyncio.Future[Response]] = {}
        self._sessions: dict[str, Listener] = {}
        self._early: dict[str, deque[Any]] = {}
        self._serving: dict[Id, anyio.CancelScope] = {}
        self._error: AgentFault | None = None
        self._stopping = False
        self._opening = 0
        self.handshake: Handshake | None = None
        self.uses = 0
        """How often a session was opened on it."""
        self.full = False
        """It takes no further session."""

    @property
    def alive(self) -> bool:
        return self._error is None and not self._stopping

    @property
    def unused(self) -> bool:
        return not self._sessions and not self._opening

    def start(self) -> None:
        self._tasks.start_soon(self._read)

    # -- ours to them

    async def call(self, method: str, params: dict[str, Any], within: float | None = None) -> Any:
        """The result. Raises `AgentFault`: the agent's error, its death, or its silence."""
        response = await self.ask(method, params, within)
        if response.error is not None:
            raise agent_fault(response.error, method)
        return response.result

    async def ask(self, method: str, params: dict[str, Any], within: float | None = None) -> Response:
        """The answer, be it an error. Raises `AgentFault` when there is none."""
        if self._error is not None:
            raise self._error
        number, line = self._rpc.request(method, params)
        future: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._waiting[number] = future
        try:
            with anyio.fail_after(within):
                await self._send(line)
                return await future
        except TimeoutError:
            raise AgentFault(f"no answer to {method} within {within:g} seconds", code="AGENT_STALLED") from None
        finally:
            self._waiting.pop(number, None)
            self._rpc.forget(number)

    async def notify(self, method: str, params: dict[str, Any]) -> None:
        await self._send(self._rpc.notification(method, params))

    async def _send(self, line: bytes) -> None:
        try:
            with anyio.fail_after(WRITE_LIMIT):
                await self._process.write(line)
        except TimeoutError:
            raise AgentFault(f"the agent has read nothing for {WRITE_LIMIT:g} seconds", code="AGENT_STALLED") from None

    # -- sessions

    def reserve(self) -> None:
        """A session is about to be opened here: until `release` it counts as one."""
        self.uses += 1
        self._opening += 1

    def release(self) -> None:
        self._opening -= 1
        if not self._opening:
            self._early.clear()

    def attach(self, session_id: str, session: Listener) -> None:
        """From now on the session gets its updates, those that came before their time first."""
        self._sessions[session_id] = session
        if early := self._early.pop(session_id, None):
            session.updated(list(early), session_id)

    def detach(self, session_id: str, session: Listener) -> None:
        """Unless the id is another's by now: one that brought the session back."""
        if self._sessions.get(session_id) is session:
            del self._sessions[session_id]

    def _session_of(self, session_id: str) -> Listener | None:
        if (session := self._sessions.get(session_id)) is not None:
            return session
        return next((session for session in self._sessions.values() if session.owns(session_id)), None)

    # -- theirs to us

    async def _read(self) -> None:
        error: AgentFault | None = None
        try:
            while data := await self._process.read():
                for session in self._dispatch(self._lines.feed(data)):
                    await session.room()
        except AgentFault as exc:
            error = exc
        except Exception:  # a defect here must not take the whole gateway along
            log.exception("what an agent said could not be read")
            error = AgentFault("the gateway itself failed; its log says how", code="INTERNAL_ERROR")
        finally:
            self._lose(error or self._process.died())
            await self.aclose()  # it may live on without its stdout

    def _dispatch(self, lines: list[bytes | TooLong]) -> list[Listener]:
        """The batch, in order; the sessions it touched."""
        touched: dict[str, Listener] = {}
        for part in self._template.split(lines):
            if not isinstance(part, Texts):
                self._dispatch_lines(part, touched)
            elif (session := self._sessions.get(part.session_id)) is not None:
                session.said(part)
                touched[part.session_id] = session
            else:  # of a child, or before its time
                self._hand_on(part.session_id, part.updates(), touched)
        return list(touched.values())

    def _dispatch_lines(self, lines: list[bytes | TooLong], touched: dict[str, Listener]) -> None:
        """Neighbouring updates of a session are handed on together."""
        updates: list[Any] = []
        of = ""
        for message in self._rpc.read(lines):
            # One for every token: no pattern matching here, it costs more than all the rest of the loop.
            if type(message) is Notification and message.method == "session/update":
                session_id, update = _update(message.params)
                if session_id != of:
                    updates = self._hand_on(of, updates, touched)
                    of = session_id
                updates.append(update)
            else:
                updates = self._hand_on(of, updates, touched)
                self._other(message)
        self._hand_on(of, updates, touched)

    def _hand_on(self, session_id: str, updates: list[Any], touched: dict[str, Listener]) -> list[Any]:
        """Returns an empty list, to collect the next."""
        if not updates:
            return updates
        session = self._session_of(session_id)
        if session is not None:
            touched[session_id] = session
            try:
                session.updated(updates, session_id)
            except Exception:  # a defect here must not take every session of the process along
                log.exception("updates of session %s could not be read", session_id)
        elif self._opening:
            self._early.setdefault(session_id, deque(maxlen=EARLY_LIMIT)).extend(updates)
        return []

    def _other(self, message: Incoming) -> None:
        match message:
            case Notification():
                self._noticed(message)
            case Response():
                self._answered(message)
            case Request():
                scope = self._serving[message.id] = anyio.CancelScope()  # now: the next line may call it off
                self._tasks.start_soon(self._serve, message, scope)
            case Noise():
                log.info("the agent printed what is no message (%s): %r", message.why, message.line[:200])

    def _answered(self, message: Response) -> None:
        future = self._waiting.get(message.id)
        if future is not None and not future.done():
            future.set_result(message)

    def _noticed(self, message: Notification) -> None:
        match message.method, message.params:
            case "$/cancel_request", {"requestId": int() | str() as request_id}:
                if (scope := self._serving.get(request_id)) is not None:
                    scope.cancel()
            case method, params:
                self._told(method, params)

    def _told(self, method: str, params: Any) -> None:
        """What no protocol describes goes to the session it names, or to the only one there is."""
        named = self._session_of(str(params.get("sessionId"))) if isinstance(params, dict) else None
        only = next(iter(self._sessions.values())) if len(self._sessions) == 1 else None
        if (session := named or only) is not None:
            session.told(method, params)
        else:
            log.info("the agent sent %s, which concerns no session", method)

    async def _serve(self, request: Request, scope: anyio.CancelScope) -> None:
        """One request of the agent's. Whatever happens, it gets an answer."""
        params = request.params if isinstance(request.params, dict) else {}
        session = self._session_of(str(params.get("sessionId")))
        answer = self._rpc.error(request.id, REQUEST_CANCELLED, "the request was cancelled")
        with scope:
            answer = await self._answer(request, session)
        self._serving.pop(request.id, None)
        with suppress(AgentFault):  # an agent that is gone needs no answer
            await self._send(answer)

    async def _answer(self, request: Request, session: Listener | None) -> bytes:
        try:
            if session is None:
                raise Refusal(METHOD_NOT_FOUND, f"{request.method}: no such method for this client")
            return self._rpc.result(request.id, await session.asked(request))
        except Refusal as exc:
            return self._rpc.error(request.id, exc.code, exc.message)
        except Exception:
            log.exception("a request of the agent's failed: %s", request.method)
            return self._rpc.error(request.id, INTERNAL_ERROR, "the client failed")

    # -- the end

    def _lose(self, error: AgentFault) -> None:
        self._error = error
        for future in self._waiting.values():
            if not future.done():
                future.set_exception(error)
        for session in list(self._sessions.values()):
            session.lost(error)
        for scope in list(self._serving.values()):
            scope.cancel()

    async def aclose(self) -> None:
        self._stopping = True
        await self._process.stop()


def _update(params: Any) -> tuple[str, Any]:
    """(session, update) of a notification; what has neither is an update of a session that nobody has."""
    try:
        return str(params["sessionId"]), params["update"]
    except (TypeError, KeyError):
        return "", params
