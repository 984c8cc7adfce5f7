"""One agent process that speaks ACP, and the JSON-RPC on its pipes.

In: requests of the gateway. Out: their responses; to the sessions their updates, and the requests of the agent. All
messages of one read are one batch: updates go to their sessions in order, each response to the caller that waits for
it, each request to a task of its own (a permission may wait for minutes while updates go on).
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol

import anyio

from gateway.background import Tasks
from gateway.drivers.acp.held_sessions import HeldSession, HeldSessions
from gateway.drivers.confinement import UNTRUSTED, Confinement
from gateway.drivers.process import Process
from gateway.errors import AgentFault, Conflict
from gateway.wire.acp.errors import REQUEST_CANCELLED, agent_fault
from gateway.wire.acp.fast_path import Template, Texts
from gateway.wire.acp.initialize import Handshake, read_handshake
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

MAX_LINE_BYTES = 64 * 1024 * 1024
"""Images and whole-file diffs make lines of megabytes; a longer line is dropped, and the agent goes on."""
MAX_EARLY_UPDATES = 1000
"""Updates kept for a session that is being opened, whose id may not be known yet."""
MAX_NOISE_CHARS = 200
"""Of a line that is no message, in the log."""
WRITE_TIMEOUT_SECONDS = 30.0
"""An agent that reads nothing for so long counts as dead."""


class Listener(Protocol):
    """A session, as its connection sees it."""

    @property
    def is_alive(self) -> bool:
        """It can take another turn."""

    def receive_updates(self, updates: list[Any], session_id: str) -> None:
        """Updates of the session itself or of a child session, in order."""

    def receive_texts(self, texts: Texts) -> None:
        """The same, for text chunks of the session itself."""

    def receive_notification(self, method: str, params: Any) -> None:
        """A notification that is no update."""

    def owns(self, session_id: str) -> bool:
        """It is a child session of this one."""

    @property
    def turn_folder(self) -> Path | None:
        """Where its turn under way is at work. None: it is in no turn."""

    async def wait_for_room(self) -> None:
        """Until the session can take more events."""

    async def handle_request(self, request: Request) -> Any:
        """The result of a request of the agent; raises `Refusal`."""

    def connection_lost(self, error: AgentFault) -> None:
        """The process is gone."""


class Refusal(Exception):
    """An error response to the agent."""

    def __init__(self, code: int, message: str) -> None:
        super().__init__(message)
        self.code = code
        self.message = message


class Connection:
    def __init__(
        self,
        process: Process,
        tasks: Tasks,
        confinement: Confinement = UNTRUSTED,
        arguments: tuple[str, ...] = (),
    ) -> None:
        """`arguments`: what its command was started with beyond the agent's file."""
        self.confinement = confinement
        self.arguments = arguments
        self._process = process
        self._tasks = tasks
        self._rpc = JsonRpc()
        self._lines = Lines(MAX_LINE_BYTES)
        self._template = Template()
        self._calls: dict[Id, asyncio.Future[Response]] = {}
        self._sessions: dict[str, Listener] = {}
        self._early: dict[str, deque[Any]] = {}
        self.held = HeldSessions(MAX_EARLY_UPDATES)
        self._requests: dict[Id, anyio.CancelScope] = {}
        self._error: AgentFault | None = None
        self._is_stopping = False
        self._handshake: Handshake | None = None
        self._reservations = 0
        self._is_full = False
        self.uses = 0
        """How often a session was opened on it."""

    @property
    def supervisor_pid(self) -> int:
        return self._process.supervisor_pid

    def other_folders(self, session: Listener) -> list[Path]:
        """Where other sessions of this process are at work now."""
        others = (other for other in self._sessions.values() if other is not session)
        return [folder for other in others if (folder := other.turn_folder) is not None]

    @property
    def is_alive(self) -> bool:
        return self._error is None and not self._is_stopping

    @property
    def is_unused(self) -> bool:
        return not self._sessions and not self._reservations

    @property
    def is_full(self) -> bool:
        return self._is_full

    @property
    def handshake(self) -> Handshake:
        """Known after `initialize`."""
        assert self._handshake is not None
        return self._handshake

    def start(self) -> None:
        self._tasks.start_soon(self._read)

    # -- from the gateway to the agent

    async def initialize(self, params: dict[str, Any], limit: float) -> Handshake:
        self._handshake = read_handshake(await self.call("initialize", params, limit))
        return self._handshake

    async def call(self, method: str, params: dict[str, Any], limit: float | None = None) -> Any:
        """The result. `limit`: seconds. Raises `AgentFault`: the agent answered with an error, died, or did not answer
        in time."""
        response = await self.request(method, params, limit)
        if response.error is not None:
            raise agent_fault(response.error, method)
        return response.result

    async def request(self, method: str, params: dict[str, Any], limit: float | None = None) -> Response:
        """The response, which may be an error. Raises `AgentFault` when there is none."""
        if self._error is not None:
            raise self._error
        call_id, line = self._rpc.request(method, params)
        future: asyncio.Future[Response] = asyncio.get_running_loop().create_future()
        self._calls[call_id] = future
        try:
            with anyio.fail_after(limit):
                await self._send(line)
                return await future
        except TimeoutError:
            raise AgentFault(f"no answer to {method} within {limit:g} seconds", code="AGENT_STALLED") from None
        finally:
            self._calls.pop(call_id, None)
            self._rpc.forget(call_id)

    async def notify(self, method: str, params: dict[str, Any]) -> None:
        await self._send(self._rpc.notification(method, params))

    async def _send(self, line: bytes) -> None:
        try:
            with anyio.fail_after(WRITE_TIMEOUT_SECONDS):
                await self._process.write(line)
        except TimeoutError:
            raise AgentFault(
                f"the agent has read nothing for {WRITE_TIMEOUT_SECONDS:g} seconds", code="AGENT_STALLED"
            ) from None

    # -- sessions

    def reserve(self) -> None:
        """A session is about to be opened here: until `release` it counts as one."""
        self.uses += 1
        self._reservations += 1

    def release(self) -> None:
        self._reservations -= 1
        if not self._reservations:
            self._early.clear()

    def mark_full(self) -> None:
        """It takes no further session, and ends with its last one."""
        self._is_full = True

    def attach(self, session_id: str, session: Listener) -> None:
        """From now on the session gets its updates, beginning with those that came before its id was known. Raises
        `Conflict` where another one gets them: it would be cut off, and its text shown to a stranger."""
        current = self._sessions.get(session_id)
        if current is not None and current is not session and current.is_alive:
            raise Conflict(f"the session {session_id!r} is open already: close it first", code="SESSION_OPEN")
        self._sessions[session_id] = session
        if early := self._early.pop(session_id, None):
            session.receive_updates(list(early), session_id)

    def detach(self, session_id: str, session: Listener) -> None:
        """A session object that has resumed the same id meanwhile stays attached."""
        if self._sessions.get(session_id) is session:
            del self._sessions[session_id]

    def hold(self, session_id: str, result: Any, location: Mapping[str, Any]) -> None:
        """Keep a session that the agent has opened for the thread that it is for. To be called while the connection is
        reserved, so that nothing of it is lost."""
        self.held.add(session_id, result, location, self._early.pop(session_id, ()))

    def take_held(self, session_id: str) -> HeldSession | None:
        """From now on its updates are for the session that attaches."""
        held = self.held.pop(session_id)
        if held is not None:
            self._early[session_id] = held.updates
        return held

    def _find_session(self, session_id: str) -> Listener | None:
        if (session := self._sessions.get(session_id)) is not None:
            return session
        return next((session for session in self._sessions.values() if session.owns(session_id)), None)

    # -- from the agent to the gateway

    async def _read(self) -> None:
        error: AgentFault | None = None
        try:
            while data := await self._process.read():
                for session in self._dispatch(self._lines.feed(data)):
                    await session.wait_for_room()
        except AgentFault as exc:
            error = exc
        except Exception:  # a defect here must not end the gateway
            log.exception("the messages of an agent could not be read")
            error = AgentFault("the gateway itself failed; its log has the reason", code="INTERNAL_ERROR")
        finally:
            self._lose(error or self._process.died())
            await self.aclose()  # the process may go on without its stdout

    def _dispatch(self, lines: list[bytes | TooLong]) -> list[Listener]:
        """Deliver a batch in order. The sessions that got something."""
        touched: dict[str, Listener] = {}
        for part in self._template.split(lines):
            if not isinstance(part, Texts):
                self._dispatch_lines(part, touched)
            elif (session := self._sessions.get(part.session_id)) is not None:
                session.receive_texts(part)
                touched[part.session_id] = session
            else:  # of a child session, or before the id is known
                self._deliver(part.session_id, part.updates(), touched)
        return list(touched.values())

    def _dispatch_lines(self, lines: list[bytes | TooLong], touched: dict[str, Listener]) -> None:
        """Consecutive updates of a session are delivered together."""
        updates: list[Any] = []
        current_id = ""
        for message in self._rpc.read(lines):
            # One message for every token: pattern matching here would cost more than the rest of the loop.
            if type(message) is Notification and message.method == "session/update":
                session_id, update = _split_update(message.params)
                if session_id != current_id:
                    updates = self._deliver(current_id, updates, touched)
                    current_id = session_id
                updates.append(update)
            else:
                updates = self._deliver(current_id, updates, touched)
                self._handle(message)
        self._deliver(current_id, updates, touched)

    def _deliver(self, session_id: str, updates: list[Any], touched: dict[str, Listener]) -> list[Any]:
        """Returns an empty list, for the next updates."""
        if not updates:
            return updates
        session = self._find_session(session_id)
        if session is not None:
            touched[session_id] = session
            try:
                session.receive_updates(updates, session_id)
            except Exception:  # a defect here must not end every session of the process
                log.exception("updates of session %s could not be read", session_id)
        elif (held := self.held.get(session_id)) is not None:
            held.updates.extend(updates)
        elif self._reservations:
            self._early.setdefault(session_id, deque(maxlen=MAX_EARLY_UPDATES)).extend(updates)
        return []

    def _handle(self, message: Incoming) -> None:
        match message:
            case Notification():
                self._handle_notification(message)
            case Response():
                self._handle_response(message)
            case Request():
                scope = self._requests[message.id] = anyio.CancelScope()  # now: the next line may cancel it
                self._tasks.start_soon(self._serve, message, scope)
            case Noise():
                log.info(
                    "the agent printed a line that is no message (%s): %r", message.why, message.line[:MAX_NOISE_CHARS]
                )

    def _handle_response(self, message: Response) -> None:
        future = self._calls.get(message.id)
        if future is not None and not future.done():
            future.set_result(message)

    def _handle_notification(self, message: Notification) -> None:
        match message.method, message.params:
            case "$/cancel_request", {"requestId": int() | str() as request_id}:
                if (scope := self._requests.get(request_id)) is not None:
                    scope.cancel()
            case method, params:
                self._deliver_notification(method, params)

    def _deliver_notification(self, method: str, params: Any) -> None:
        """A notification that ACP does not describe goes to the session it names, or to the only one."""
        named_session = self._find_session(str(params.get("sessionId"))) if isinstance(params, dict) else None
        only_session = next(iter(self._sessions.values())) if len(self._sessions) == 1 else None
        if (session := named_session or only_session) is not None:
            session.receive_notification(method, params)
        else:
            log.info("the agent sent %s, which names no session", method)

    async def _serve(self, request: Request, scope: anyio.CancelScope) -> None:
        """One request of the agent. It always gets a response."""
        params = request.params if isinstance(request.params, dict) else {}
        session = self._find_session(str(params.get("sessionId")))
        response = self._rpc.error(request.id, REQUEST_CANCELLED, "the request was cancelled")
        with scope:
            response = await self._make_response(request, session)
        self._requests.pop(request.id, None)
        with suppress(AgentFault):  # an agent that is gone needs no response
            await self._send(response)

    async def _make_response(self, request: Request, session: Listener | None) -> bytes:
        try:
            if session is None:
                raise Refusal(METHOD_NOT_FOUND, f"{request.method}: no such method for this client")
            return self._rpc.result(request.id, await session.handle_request(request))
        except Refusal as exc:
            return self._rpc.error(request.id, exc.code, exc.message)
        except Exception:
            log.exception("a request of the agent failed: %s", request.method)
            return self._rpc.error(request.id, INTERNAL_ERROR, "the client failed")

    # -- the end

    def _lose(self, error: AgentFault) -> None:
        self._error = error
        for future in self._calls.values():
            if not future.done():
                future.set_exception(error)
        for session in list(self._sessions.values()):
            session.connection_lost(error)
        for scope in list(self._requests.values()):
            scope.cancel()

    async def aclose(self) -> None:
        self._is_stopping = True
        await self._process.stop()


def _split_update(params: Any) -> tuple[str, Any]:
    """(session id, update) of a notification; what has neither becomes an update of no session."""
    try:
        return str(params["sessionId"]), params["update"]
    except (TypeError, KeyError):
        return "", params
