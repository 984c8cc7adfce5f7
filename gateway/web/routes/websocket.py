"""`WS /agents/{agent}/socket`: any number of runs over one connection, one after the other or side by side.

In, as JSON text: {"type": "run", "input": RunAgentInput}, {"type": "attach", "runId", "after"?}, {"type": "cancel",
"runId"}. Out: the runs' events (`gateway.encode.websocket`), and {"type": "problem", "problem": {…}, "runId"?} for a
refused message; the connection stays open. Each run has a reader of its own, so a client that reads slowly slows no
run; one that takes nothing for `send_timeout` is disconnected. A connection that ends stops the runs that it started,
unless they have `onDisconnect: "continue"`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
from anyio.abc import TaskGroup
from starlette.types import Message
from starlette.websockets import WebSocket, WebSocketDisconnect

from gateway.agui import inbound
from gateway.encode.websocket import SUBPROTOCOLS, Subprotocol
from gateway.errors import BadInput, Busy, Conflict, GatewayError
from gateway.identity import Caller
from gateway.jsonio import dumps, loads
from gateway.limits import BODY_BYTES, SOCKETS
from gateway.runs.log import Chunk, Reader
from gateway.runs.run import Run
from gateway.service.gateway import Gateway
from gateway.web.json_items import ItemCounter
from gateway.web.problems import problem_response
from gateway.web.request_body import BodyParser
from gateway.web.routes.runs import MAX_NUMBER_DIGITS, read_hops

MAX_RUNS_PER_SOCKET = 64
MAX_EVENT_NUMBER = 10**MAX_NUMBER_DIGITS
CLOSE_POLICY_VIOLATION = 1008
CLOSE_SERVICE_RESTART = 1012
"""Close codes, https://www.iana.org/assignments/websocket/websocket.xhtml#close-code-number."""
MESSAGE_TYPES = "run, attach or cancel"


async def socket(websocket: WebSocket) -> None:
    """Refuses an unknown agent before the upgrade, as a request; then serves the first subprotocol that the client
    offers and the gateway has."""
    gateway: Gateway = websocket.app.state.gateway
    try:
        agent = gateway.agents[websocket.path_params["agent"]].definition.id
        hold = gateway.limits.acquire(SOCKETS, websocket.state.principal)
    except GatewayError as exc:
        await websocket.send_denial_response(problem_response(exc))
    else:
        with hold:
            await _serve(gateway, agent, websocket)


async def _serve(gateway: Gateway, agent: str, websocket: WebSocket) -> None:
    offered = [name for name in websocket.scope["subprotocols"] if name in SUBPROTOCOLS]
    await websocket.accept(offered[0] if offered else None)
    subprotocol = SUBPROTOCOLS[offered[0] if offered else next(iter(SUBPROTOCOLS))]
    await SocketConnection(gateway, agent, websocket, subprotocol).serve()


class SocketConnection:
    """One connection: its runs, and the messages in both directions."""

    def __init__(self, gateway: Gateway, agent: str, websocket: WebSocket, subprotocol: Subprotocol) -> None:
        self._gateway = gateway
        self._agent = agent
        self._socket = websocket
        self._subprotocol = subprotocol
        self._encoding = f"socket/{subprotocol.name}"
        """Under this name a chunk keeps the bytes of this format."""
        self._caller: Caller = websocket.state.caller
        self._parser: BodyParser = websocket.app.state.body_parser
        self._send_lock = anyio.Lock()
        self._own_runs: dict[str, Run] = {}
        """Runs that end with the connection."""
        self._followed: set[str] = set()
        """Ids of the runs whose events are sent."""
        self._run_ended = anyio.Event()
        """Set when one of the followed runs is over."""

    async def serve(self) -> None:
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._close_on_shutdown)
                await self._receive(tasks)
                tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                for run in list(self._own_runs.values()):
                    await self._gateway.engine.stop(run)

    async def _close_on_shutdown(self) -> None:
        """When the gateway stops, the followed runs end first, each with its terminal event."""
        await self._gateway.stopping.wait()
        while self._followed:
            self._run_ended = anyio.Event()
            await self._run_ended.wait()
        await self._socket.close(CLOSE_SERVICE_RESTART, "the gateway is shutting down")

    async def _receive(self, tasks: TaskGroup) -> None:
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            payload: Any = None
            try:
                text = _read_text(message)
                payload, items = await self._parse(text)
                await self._handle(payload, len(text), items, tasks)
            except GatewayError as exc:
                await self._send_problem(exc, payload)

    async def _parse(self, text: str) -> tuple[Any, int]:
        """The message, and how many values it has. It counts as a request, and its bytes as a request's body."""
        data = text.encode()
        limits = self._gateway.limits
        limits.spend_request(self._caller.principal)
        limits.spend_request(self._caller.principal, len(data))
        with limits.acquire(BODY_BYTES, self._caller.principal, len(data)):
            counter = ItemCounter(self._gateway.settings.max_body_items)
            counter.count(data)
            counter.raise_if_full()
            return await self._parser.run(len(data), counter.items, lambda: loads(data)), counter.items

    async def _handle(self, payload: Any, size: int, items: int, tasks: TaskGroup) -> None:
        match payload:
            case {"type": "run", "input": dict() as body}:
                await self._start_run(body, size, items, tasks)
            case {"type": "attach", "runId": str(run_id), **fields}:
                after = fields.get("after", 0)
                if not isinstance(after, int) or not 0 <= after < MAX_EVENT_NUMBER:
                    raise BadInput("after is the number of the last event you have", pointer="/after")
                self._check_followed(run_id)
                record, reader = await self._gateway.engine.follow(run_id, self._caller.principal, after)
                self._caller.require_agent(record.agent)
                self._follow(run_id, reader, tasks)
            case {"type": "cancel", "runId": str(run_id)}:
                self._caller.require_agent(await self._gateway.engine.find_agent(run_id, self._caller.principal))
                await self._gateway.engine.cancel(run_id, self._caller.principal)
            case _:
                detail = f"a message is an object with the type {MESSAGE_TYPES}, and the fields of that type"
                raise BadInput(detail, pointer="")

    async def _start_run(self, body: dict[str, Any], size: int, items: int, tasks: TaskGroup) -> None:
        turn = await self._parser.run(size, items, lambda: inbound.read_run_input(dumps(body)))
        if turn.protocol_version is None:
            raise BadInput('the socket speaks AG-UI 1.0: send "protocolVersion": "1.0"', pointer="/protocolVersion")
        self._check_followed(turn.run_id)
        turn = replace(turn, hops=read_hops(self._gateway, self._socket))
        agent = self._gateway.agents[self._agent]
        run = await self._gateway.checked_runs.start(agent, turn, self._caller)
        if (turn.options.on_disconnect or "cancel") == "cancel":
            self._own_runs[turn.run_id] = run
        self._follow(turn.run_id, run.log.follow(), tasks)

    def _check_followed(self, run_id: str) -> None:
        """Raises `Conflict` if the run is followed already, `Busy` if there are too many."""
        if run_id in self._followed:
            raise Conflict(f"this connection follows the run {run_id!r} already", code="RUN_FOLLOWED", runId=run_id)
        if len(self._followed) >= MAX_RUNS_PER_SOCKET:
            raise Busy(f"{MAX_RUNS_PER_SOCKET} runs are followed over this connection; open another one")

    def _follow(self, run_id: str, reader: Reader, tasks: TaskGroup) -> None:
        self._followed.add(run_id)
        tasks.start_soon(self._send_events, run_id, reader)

    async def _send_events(self, run_id: str, reader: Reader) -> None:
        try:
            while chunks := await reader.next():
                for chunk in chunks:
                    await self._send(self._encode(run_id, chunk), is_binary=self._subprotocol.is_binary)
        except GatewayError as exc:
            await self._send_problem(exc, {"runId": run_id})
        finally:
            self._followed.discard(run_id)
            self._run_ended.set()
        self._own_runs.pop(run_id, None)

    def _encode(self, run_id: str, chunk: Chunk) -> bytes:
        """The first reader that needs the bytes encodes them; the chunk keeps them for the others."""
        data = chunk.encoded.get(self._encoding)
        if data is None:
            data = self._subprotocol.encode(run_id, chunk.first, chunk.lines, chunk.events)
            chunk.encoded[self._encoding] = data
        return data

    async def _send_problem(self, exc: GatewayError, payload: Any) -> None:
        problem = {"type": "problem", "problem": exc.problem()}
        run_id = _find_run_id(payload)
        await self._send(dumps(problem if run_id is None else {**problem, "runId": run_id}), is_binary=False)

    async def _send(self, message: bytes, *, is_binary: bool) -> None:
        """One message at a time."""
        async with self._send_lock:
            with anyio.move_on_after(self._gateway.settings.send_timeout) as timeout:
                try:
                    if is_binary:
                        await self._socket.send_bytes(message)
                    else:
                        await self._socket.send_text(message.decode())
                except (WebSocketDisconnect, RuntimeError, OSError):
                    return  # The client is gone; `_receive` ends the connection.
            if timeout.cancelled_caught:
                await self._socket.close(CLOSE_POLICY_VIOLATION, "the client took nothing for too long")


def _find_run_id(payload: Any) -> str | None:
    """The run that a message is about, whatever the message is."""
    match payload:
        case {"runId": str(run_id)} | {"input": {"runId": str(run_id)}}:
            return run_id
    return None


def _read_text(message: Message) -> str:
    text: str | None = message.get("text")
    if text is None:
        detail = "a client's message is JSON text, not bytes; the subprotocol chosen is the format of events only"
        raise BadInput(detail, pointer="")
    return text
