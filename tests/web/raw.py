"""A client without a library: bytes on a socket, and what comes back. Every wait is bounded."""

from __future__ import annotations

import json
import socket
from collections.abc import Iterable
from contextlib import suppress
from http.client import HTTPException, HTTPResponse
from io import BufferedReader
from select import select
from types import TracebackType
from typing import Any, cast

import httpx

from tests.support.gateway import Gateway

LIMIT = 20.0
"""Seconds until a test gives up on an answer: far above every bound of the gateways that are tested."""


class Kept(BufferedReader):
    """What was read ahead of one answer belongs to the next: `http.client` must not close this behind each."""

    def close(self) -> None:
        return None

    def makefile(self, mode: str) -> Kept:
        return self


class Connection:
    """One connection to a gateway. A gateway that closes it early is not an error here: what it said still counts."""

    def __init__(self, gateway: Gateway) -> None:
        address = httpx.URL(gateway.url)
        self._socket = socket.create_connection((address.host, address.port or 80), timeout=LIMIT)
        self._raw = self._socket.makefile("rb", buffering=0)
        self._reader = Kept(self._raw)

    def __enter__(self) -> Connection:
        return self

    def __exit__(self, *exc: type[BaseException] | BaseException | TracebackType | None) -> None:
        self._raw.close()
        self._socket.close()

    def send(self, *pieces: bytes) -> Connection:
        with suppress(ConnectionError):
            for piece in pieces:
                self._socket.sendall(piece)
        return self

    def trickle(self, data: bytes, pause: float) -> Connection:
        """A byte at a time, each after a pause, until there is an answer."""
        for at in range(len(data)):
            if select([self._socket], [], [], pause)[0]:
                break
            self.send(data[at : at + 1])
        return self

    def no_more(self) -> Connection:
        """Nothing more will be sent; what comes back is still read."""
        with suppress(OSError):
            self._socket.shutdown(socket.SHUT_WR)
        return self

    def answer(self, method: str = "GET") -> httpx.Response:
        """The next answer on this connection."""
        found = HTTPResponse(cast(socket.socket, self._reader), method=method)
        found.begin()
        return httpx.Response(found.status, headers=found.getheaders(), content=found.read())

    def first(self) -> bytes:
        """The first bytes that come; none if the gateway closes without any."""
        with suppress(ConnectionError):
            return self._reader.read1()
        return b""

    def rest(self) -> bytes:
        """All that comes until the gateway closes."""
        pieces = []
        with suppress(ConnectionError):
            while piece := self._reader.read1():
                pieces.append(piece)
        return b"".join(pieces)

    def until(self, mark: bytes) -> bytes:
        """What comes, up to the piece with the mark in it."""
        found = b""
        while mark not in found:
            piece = self._reader.read1()
            assert piece, f"closed before {mark!r} came: {found!r}"
            found += piece
        return found


def request(target: str, body: bytes | None = None, headers: Iterable[str] = (), method: str | None = None) -> bytes:
    """A whole request; with a body a POST of JSON."""
    lines = [f"{method or ('GET' if body is None else 'POST')} {target} HTTP/1.1", "Host: localhost", *headers]
    if body is not None:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join([*lines, "", ""]).encode() + (body or b"")


def run_request(agent: str, body: dict[str, Any], headers: Iterable[str] = ()) -> bytes:
    return request(f"/agents/{agent}", json.dumps(body).encode(), headers)


def ask(gateway: Gateway, *pieces: bytes) -> httpx.Response | None:
    """The one answer to these bytes; None if the connection was closed without a word."""
    with Connection(gateway) as connection:
        connection.send(*pieces).no_more()
        try:
            return connection.answer()
        except (HTTPException, ConnectionError) as exc:
            assert not getattr(exc, "partial", b""), exc
            return None
