"""`python -m tests.fakes.model_server --port 0` serves on loopback and prints its URL."""

from __future__ import annotations

import argparse
import socket

import uvicorn

from tests.fakes.model_server.app import create_app


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.fakes.model_server", description="A scripted model server.")
    parser.add_argument("--port", type=int, default=0, help="0 takes a free one")
    port = parser.parse_args().port
    with socket.create_server(("127.0.0.1", port), backlog=128) as listening:
        print(f"http://127.0.0.1:{listening.getsockname()[1]}", flush=True)
        # A cancelled turn leaves its request open: nobody waits for that at the end.
        config = uvicorn.Config(create_app(), log_level="warning", access_log=False, timeout_graceful_shutdown=1)
        uvicorn.Server(config).run(sockets=[listening])


if __name__ == "__main__":
    main()
