"""A command-line agent that repeats its prompt, by any transport: `python -m tests.fakes.parrot TRANSPORT [FLAG …]`.

It answers a prompt with its process id, its arguments and the prompt, in the format of
`tests/drivers/cli/parrot_session.py`. Prompts in capitals are commands: ASK, CALL id, FLOOD n, DIE n, HANG, LATE, LOST.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
from collections.abc import Awaitable, Callable
from typing import Any

import uvicorn
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route, WebSocketRoute
from starlette.websockets import WebSocket, WebSocketDisconnect

Send = Callable[[dict[str, Any]], Awaitable[None]]


class Parrot:
    """One connection."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._stopped: dict[str, asyncio.Event] = {}

    async def receive(self, message: dict[str, Any]) -> None:
        who = message.get("who", "")
        match message:
            case {"begin": session_id}:
                await self._begin(who, session_id)
            case {"prompt": str(text)}:
                self._stopped[who] = asyncio.Event()
                await self._answer(who, text)
            case {"stop": True}:
                await self._send({"who": who, "end": "cancelled"})
            case {"answer": answer}:
                await self._send({"who": who, "text": f"answered {json.dumps(answer)}"})
                await self._send({"who": who, "end": "end_turn"})
            case {"do": action, "ticket": ticket}:
                await self._send({"who": who, "ticket": ticket, "value": f"{action} done"})

    async def _begin(self, who: str, session_id: str | None) -> None:
        if session_id == "gone":
            return await self._send({"who": who, "refused": "SESSION_NOT_FOUND"})
        return await self._send({"who": who, "session": session_id or f"parrot-{who}"})

    async def _answer(self, who: str, text: str) -> None:
        order, _, rest = text.partition(" ")
        match order:
            case "ASK":
                await self._send({"who": who, "ask": "q1"})
                return
            case "CALL":
                await self._send({"who": who, "call": rest})
                return
            case "FLOOD":
                for number in range(int(rest)):
                    await self._send({"who": who, "text": str(number)})
            case "DIE":
                sys.stderr.write("the parrot is no more\n")
                sys.stderr.flush()
                os._exit(int(rest))
            case "HANG":
                await self._send({"who": who, "text": "hanging"})
                return
            case "LOST":
                if "--resume" in sys.argv:
                    await self._send({"who": who, "broke": "SESSION_NOT_FOUND"})
                    return
                await self._send({"who": who, "text": f"again: {rest}"})
            case _:
                report = {"pid": os.getpid(), "args": sys.argv[2:], "said": text, "cwd": os.getcwd()}
                await self._send({"who": who, "text": json.dumps(report)})
        await self._send({"who": who, "end": "end_turn"})
        if order == "LATE":
            await self._send({"who": who, "text": "by the way"})


async def pipes(framing: str) -> None:
    out = sys.stdout.buffer

    async def send(message: dict[str, Any]) -> None:
        data = json.dumps(message).encode()
        out.write(b"Content-Length: %d\r\n\r\n%s" % (len(data), data) if framing == "frames" else data + b"\n")
        out.flush()

    if "--deaf" not in sys.argv:
        # By the loop, not by `signal.signal`: a signal between two steps of the loop would wait for the next line.
        asyncio.get_running_loop().add_signal_handler(signal.SIGINT, os._exit, 130)
    parrot = Parrot(send)
    stdin = sys.stdin.buffer
    while line := await asyncio.to_thread(stdin.readline):
        if framing == "frames":
            size = int(line.split(b":")[1])
            stdin.readline()
            line = stdin.read(size)
        await parrot.receive(json.loads(line))


async def whole() -> None:
    print(f"you said: {sys.stdin.read()}")


def network(kind: str, port: int) -> None:
    listeners: list[asyncio.Queue[dict[str, Any]]] = []

    async def to_all(message: dict[str, Any]) -> None:
        for listener in listeners:
            listener.put_nowait(message)

    parrot = Parrot(to_all)

    async def call(request: Request) -> Response:
        if request.headers.get("authorization", "").split(" ")[0] != "Basic":
            return Response(status_code=401)
        await parrot.receive(await request.json())
        return JSONResponse({"ok": True})

    async def events(request: Request) -> Response:
        queue: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        listeners.append(queue)

        async def stream() -> Any:
            yield b": hello\n\n"
            while True:
                yield b"data: " + json.dumps(await queue.get()).encode() + b"\n\n"

        return StreamingResponse(stream(), media_type="text/event-stream")

    async def socket(websocket: WebSocket) -> None:
        await websocket.accept()
        own = Parrot(websocket.send_json)
        try:
            while True:
                await own.receive(await websocket.receive_json())
        except WebSocketDisconnect:
            return

    async def health(request: Request) -> Response:
        return Response("ok")

    routes = [
        Route("/health", health),
        Route("/call", call, methods=["POST"]),
        Route("/events", events),
        WebSocketRoute("/", socket),
    ]
    uvicorn.run(Starlette(routes=routes), host="127.0.0.1", port=port, log_level="error", timeout_graceful_shutdown=1)


def main() -> None:
    transport = sys.argv[1]
    if "--unknown-flag" in sys.argv:
        sys.exit("unknown flag")
    signal.signal(signal.SIGINT, lambda number, frame: os._exit(130))
    if "--deaf" in sys.argv:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
    if transport in ("http", "websocket"):
        network(transport, int(sys.argv[2]))
    elif transport == "whole":
        asyncio.run(whole())
    else:
        asyncio.run(pipes(transport))


if __name__ == "__main__":
    main()
