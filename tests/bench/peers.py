"""What the gateway is measured against: small Starlette apps behind the same uvicorn. `python -m tests.bench.peers`.

Each says the same words as the bench's agent. `/chunks` sends ready bytes, 64 events a write: the ceiling of this
stack. `/writes` sends ready bytes, one event a write: what any framework can do at best that writes each event by
itself. `/official` builds and encodes each event with AG-UI's own SDK, as its examples do. `/acp-sdk` bridges a real
ACP agent with the official SDKs of both protocols. `/constant` answers a GET with ready bytes (the file named on the
command line).
"""

from __future__ import annotations

import socket
import sys
from collections.abc import AsyncIterator
from functools import lru_cache
from pathlib import Path

import orjson
import uvicorn
from ag_ui.core import TextMessageContentEvent
from ag_ui.encoder import EventEncoder
from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import Response, StreamingResponse
from starlette.routing import Route

from gateway.encode.sse import CONTENT_TYPE, encode_frames
from tests.bench.agents.words import deltas
from tests.bench.sdk import bridged

CHUNK = 64
MESSAGE_ID = "0123456789ab-1"
"""As long as the gateway's own, so that bytes compare."""


@lru_cache(maxsize=1)
def encoded(size: int) -> list[bytes]:
    """The frames the gateway sends for these words."""
    event = {"type": "TEXT_MESSAGE_CONTENT", "messageId": MESSAGE_ID}
    lines = [orjson.dumps({**event, "delta": word}) for word in deltas(size)]
    return [encode_frames(number, [line]) for number, line in enumerate(lines, 1)]


@lru_cache(maxsize=1)
def chunked(size: int) -> list[bytes]:
    every = encoded(size)
    return [b"".join(every[at : at + CHUNK]) for at in range(0, size, CHUNK)]


async def ready(pieces: list[bytes]) -> AsyncIterator[bytes]:
    for piece in pieces:
        yield piece


async def official(size: int) -> AsyncIterator[str]:
    encoder = EventEncoder()
    for word in deltas(size):
        yield encoder.encode(TextMessageContentEvent(message_id=MESSAGE_ID, delta=word))


def size_of(request: Request) -> int:
    return int(request.path_params["size"])


async def show_chunks(request: Request) -> Response:
    return StreamingResponse(ready(chunked(size_of(request))), media_type=CONTENT_TYPE)


async def show_writes(request: Request) -> Response:
    return StreamingResponse(ready(encoded(size_of(request))), media_type=CONTENT_TYPE)


async def show_official(request: Request) -> Response:
    return StreamingResponse(official(size_of(request)), media_type=CONTENT_TYPE)


async def show_acp_sdk(request: Request) -> Response:
    return StreamingResponse(bridged(size_of(request)), media_type=CONTENT_TYPE)


def make_app(constant: bytes) -> Starlette:
    async def show_constant(request: Request) -> Response:
        return Response(constant, media_type="application/json")

    return Starlette(
        routes=[
            Route("/chunks/{size:int}", show_chunks),
            Route("/writes/{size:int}", show_writes),
            Route("/official/{size:int}", show_official),
            Route("/acp-sdk/{size:int}", show_acp_sdk),
            Route("/constant", show_constant),
        ]
    )


def main() -> None:
    with socket.create_server(("127.0.0.1", 0)) as sock:
        app = make_app(Path(sys.argv[1]).read_bytes())
        config = uvicorn.Config(app, loop="uvloop", http="httptools", access_log=False, log_level="warning")
        print(sock.getsockname()[1], flush=True)
        uvicorn.Server(config).run(sockets=[sock])


if __name__ == "__main__":
    main()
