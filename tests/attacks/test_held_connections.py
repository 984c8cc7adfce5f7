"""Connections that are never answered.

Incident: a request with `Upgrade: websocket` and a body, on the path of a WebSocket and without a token, was neither
answered nor closed: 400 of 400 connections were still held after a minute. A handshake that uvicorn's library cannot
read (too many headers) hung in the same way.
Attack: 400 such connections of every kind, held open.
Promise: each is answered or closed within `header_timeout`, and the gateway answers others meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.attacks.greedy_principals import OTHER, open_gateway, run
from tests.support.gateway import Gateway
from tests.web.raw import Connection

CONNECTIONS = 400
TIMEOUT = 2.0
MARGIN = 8.0
"""For a machine that is busy with other things."""

UPGRADE = "Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: "
KEY = "dGhlIHNhbXBsZSBub25jZQ=="
HEAD = "{method} /agents/patient/socket HTTP/1.1\r\nHost: localhost\r\n"

KINDS = {
    "a body": HEAD.format(method="POST") + UPGRADE + KEY + "\r\nContent-Length: 1000\r\n\r\nhalf",
    "a body of a GET": HEAD.format(method="GET") + UPGRADE + KEY + "\r\nContent-Length: 1000\r\n\r\nhalf",
    "chunks": HEAD.format(method="GET") + UPGRADE + KEY + "\r\nTransfer-Encoding: chunked\r\n\r\n",
    "another method": HEAD.format(method="PUT") + UPGRADE + KEY + "\r\n\r\n",
    "too many headers": HEAD.format(method="GET") + UPGRADE + KEY + "\r\nX: y" * 200 + "\r\n\r\n",
    "a long header": HEAD.format(method="GET") + UPGRADE + KEY + "\r\nX: " + "y" * 20_000 + "\r\n\r\n",
    "no key": HEAD.format(method="GET") + "Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n",
    "half a handshake": HEAD.format(method="GET") + UPGRADE,
    "nothing": "",
}


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    home: Path = tmp_path_factory.mktemp("held")
    with open_gateway(home, header_timeout=TIMEOUT, body_timeout=TIMEOUT) as running:
        yield running


@pytest.mark.parametrize("kind", KINDS)
def test_every_kind_is_answered_or_closed(gateway: Gateway, kind: str) -> None:
    with Connection(gateway) as connection:
        started = time.monotonic()
        answer = connection.send(KINDS[kind].encode()).first()
        assert time.monotonic() - started < TIMEOUT + MARGIN
        assert answer == b"" or answer.startswith(b"HTTP/1.1 4")


def test_400_at_once(gateway: Gateway) -> None:
    """As in the audit: no token, an upgrade and a body that never comes."""
    kinds = list(KINDS.values())
    held = [Connection(gateway) for _ in range(CONNECTIONS)]
    try:
        for number, connection in enumerate(held):
            connection.send(kinds[number % len(kinds)].encode())
        assert run(gateway, OTHER).status_code == 200
        until = time.monotonic() + TIMEOUT + MARGIN
        for connection in held:
            answer = connection.first()
            assert answer == b"" or answer.startswith(b"HTTP/1.1 4")
            assert time.monotonic() < until
    finally:
        for connection in held:
            connection.__exit__()
    assert "Traceback" not in gateway.log.read_text("utf-8")
