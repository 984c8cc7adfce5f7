"""A gateway in this process, a number of runs through it, and what they leave to the garbage collector.

`python -m tests.web.garbage HOME RUNS`: prints JSON, type → how many objects that nothing but the collector can free.
"""

from __future__ import annotations

import gc
import json
import socket
import sys
import threading
from collections import Counter
from pathlib import Path
from types import FrameType

from gateway.settings import Settings
from gateway.web.app import create_app
from gateway.web.server import GatewayServer, bind
from tests.support.gateway import run_input

LIMIT_SECONDS = 30.0
WARM_RUNS = 3


def main() -> None:
    home, runs = Path(sys.argv[1]), int(sys.argv[2])
    workspace = home.parent / "workspace"
    settings = Settings(
        store=f"sqlite://{home / 'gateway.db'}", workspace=(workspace,), trust=(workspace,), port=0, sandbox="none"
    )
    ready = threading.Event()
    server = GatewayServer(create_app(settings), settings, ready.set)
    with bind(settings) as sock:
        port = sock.getsockname()[1]
        thread = threading.Thread(target=server.run, args=(sock,))
        thread.start()
        try:
            assert ready.wait(LIMIT_SECONDS)
            for _ in range(WARM_RUNS):
                run_once(port)
            gc.collect()
            gc.disable()
            gc.set_debug(gc.DEBUG_SAVEALL)
            for _ in range(runs):
                run_once(port)
            gc.collect()
            print(json.dumps(Counter(map(describe, gc.garbage))))
        finally:
            gc.set_debug(0)
            gc.garbage.clear()
            server.stop()
            thread.join(LIMIT_SECONDS)


def run_once(port: int) -> None:
    body = json.dumps(run_input("hello")).encode()
    head = f"POST /agents/echo HTTP/1.1\r\nhost: localhost:{port}\r\ncontent-type: application/json\r\n"
    head += f"accept: text/event-stream\r\nconnection: close\r\ncontent-length: {len(body)}\r\n\r\n"
    with socket.create_connection(("127.0.0.1", port), LIMIT_SECONDS) as connection:
        connection.sendall(head.encode() + body)
        answer = b""
        while piece := connection.recv(65536):
            answer += piece
    assert b"RUN_FINISHED" in answer, answer[:400]


def describe(item: object) -> str:
    if isinstance(item, FrameType):
        return f"frame of {item.f_code.co_qualname}"
    return f"{type(item).__module__}.{type(item).__qualname__}"


if __name__ == "__main__":
    main()
