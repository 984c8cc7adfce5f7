"""`WS /agents/{agent}/socket`: any number of runs over one connection, one after the other or side by side.

In, as JSON text: {"type": "run", "input": RunAgentInput}, {"type": "attach", "runId", "after"?}, {"type": "cancel",
"runId"}. Out: the runs' events (`encode.websocket`), and {"type": "problem", "problem": {…}, "runId"?} for what is
refused; the connection stays. Each run has a reader of its own: a client that takes nothing slows no run, and is let go
after `send_timeout`. A connection that ends stops the runs that it began, unless they asked to go on.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import anyio
from anyio.abc import TaskGroup
from starlette.types import Message
from starlette.websockets import WebSocket, WebSocketDisconnect

from gateway.agui import inbound
from gateway.encode.websocket import SUBPROTOCOLS
from gateway.errors import BadInput, Busy, Conflict, GatewayError
from gateway.jsonio import dumps, loads
from gateway.runs.log import Chunk, Reader
from gateway.runs.run import Run
from gateway.service.gateway import Gateway
from gateway.web.problems import problem
from gateway.web.routes.runs import read_hops

MOST = 64
"""Runs that one connection may follow at once."""
TOO_SLOW, RESTART = 1008, 1012
"""Why the gateway ends a connection, by the protocol's numbers."""
KINDS = "run, attach or cancel"


async def socket(websocket: WebSocket) -> None:
    """Refused as any request is, before the connection is upgraded; then spoken as the client offers."""
    gateway: Gateway = websocket.app.state.gateway
    try:
        agent = gateway.agents[websocket.path_params["agent"]].definition.id
    except GatewayError as exc:
        return await websocket.send_denial_response(problem(exc))
    offered = [name for name in websocket.scope["subprotocols"] if name in SUBPROTOCOLS]
    await websocket.accept(offered[0] if offered else None)
    return await Talk(gateway, agent, websocket, offered[0] if offered else next(iter(SUBPROTOCOLS))).serve()


class Talk:
    """One connection."""

    def __init__(self, gateway: Gateway, agent: str, websocket: WebSocket, subprotocol: str) -> None:
        self._gateway, self._agent, self._socket = gateway, agent, websocket
        self._name, self._encode = f"socket/{subprotocol}", SUBPROTOCOLS[subprotocol]
        self._binary = subprotocol == "agui.protobuf"
        self._principal: str = websocket.state.principal
        self._sending = anyio.Lock()
        self._own: dict[str, Run] = {}
        """Runs that end with the connection."""
        self._followed: set[str] = set()
        self._left = anyio.Event()
        """One of them is over."""

    async def serve(self) -> None:
        try:
            async with anyio.create_task_group() as tasks:
                tasks.start_soon(self._part)
                await self._listen(tasks)
                tasks.cancel_scope.cancel()
        finally:
            with anyio.CancelScope(shield=True):
                for run in list(self._own.values()):
                    await self._gateway.engine.stop(run)

    async def _part(self) -> None:
        """When the gateway stops, its runs end first, each with its last word."""
        await self._gateway.stopping.wait()
        while self._followed:
            self._left = anyio.Event()
            await self._left.wait()
        await self._socket.close(RESTART, "the gateway is shutting down")

    async def _listen(self, tasks: TaskGroup) -> None:
        while True:
            message = await self._socket.receive()
            if message["type"] == "websocket.disconnect":
                return
            asked: Any = None
            try:
                asked = loads(_text(message).encode())
                await self._do(asked, tasks)
            except GatewayError as exc:
                await self._refuse(exc, asked)

    async def _do(self, asked: Any, tasks: TaskGroup) -> None:
        match asked:
            case {"type": "run", "input": dict() as body}:
                await self._run(body, tasks)
            case {"type": "attach", "runId": str(run_id), **rest}:
                after = rest.get("after", 0)
                if not isinstance(after, int) or after < 0:
                    raise BadInput("after is the number of the last event you have", pointer="/after")
                self._make_room(run_id)
                _, reader = await self._gateway.engine.follow(run_id, self._principal, after)
                self._begin(run_id, reader, tasks)
            case {"type": "cancel", "runId": str(run_id)}:
                await self._gateway.engine.cancel(run_id, self._principal)
            case _:
                raise BadInput(f"a message is an object with the type {KINDS}, and what that needs", pointer="")

    async def _run(self, body: dict[str, Any], tasks: TaskGroup) -> None:
        turn = inbound.read(dumps(body))
        if turn.protocol_version is None:
            raise BadInput('the socket speaks AG-UI 1.0: say "protocolVersion": "1.0"', pointer="/protocolVersion")
        self._make_room(turn.run_id)
        turn = replace(turn, hops=read_hops(self._gateway, self._socket))
        agent = self._gateway.agents[self._agent]
        run = await self._gateway.checked_runs.start(agent, turn, self._principal)
        if (turn.options.on_disconnect or "cancel") == "cancel":
            self._own[turn.run_id] = run
        self._begin(turn.run_id, run.log.follow(), tasks)

    def _begin(self, run_id: str, reader: Reader, tasks: TaskGroup) -> None:
        self._followed.add(run_id)
        tasks.start_soon(self._follow, run_id, reader)

    def _make_room(self, run_id: str) -> None:
        if run_id in self._followed:
            raise Conflict(f"this connection follows the run {run_id!r} already", code="RUN_FOLLOWED", runId=run_id)
        if len(self._followed) >= MOST:
            raise Busy(f"{MOST} runs are followed over this connection; open another one")

    async def _follow(self, run_id: str, reader: Reader) -> None:
        try:
            while chunks := await reader.next():
                for chunk in chunks:
                    await self._send(self._encoded(run_id, chunk))
        except GatewayError as exc:
            await self._refuse(exc, {"runId": run_id})
        finally:
            self._followed.discard(run_id)
            self._left.set()
        self._own.pop(run_id, None)

    def _encoded(self, run_id: str, chunk: Chunk) -> bytes:
        """Made by the first reader who needs it."""
        data = chunk.encoded.get(self._name)
        if data is None:
            data = chunk.encoded[self._name] = self._encode(run_id, chunk.first, chunk.lines, chunk.events)
        return data

    async def _refuse(self, exc: GatewayError, asked: Any) -> None:
        told = {"type": "problem", "problem": exc.problem()}
        run_id = asked.get("runId", (asked.get("input") or {}).get("runId")) if isinstance(asked, dict) else None
        await self._send(dumps(told if run_id is None else {**told, "runId": run_id}), text=True)

    async def _send(self, message: bytes, *, text: bool = False) -> None:
        """One at a time: a message is whole, whatever comes meanwhile."""
        async with self._sending:
            with anyio.move_on_after(self._gateway.settings.send_timeout) as waited:
                try:
                    if self._binary and not text:
                        await self._socket.send_bytes(message)
                    else:
                        await self._socket.send_text(message.decode())
                except (WebSocketDisconnect, RuntimeError, OSError):
                    return  # gone: whoever listens notices
            if waited.cancelled_caught:
                await self._socket.close(TOO_SLOW, "nothing was taken for too long")


def _text(message: Message) -> str:
    text: str | None = message.get("text")
    if text is None:
        raise BadInput("what a client says is JSON text, not bytes; the format chosen is for events", pointer="")
    return text
