"""How messages travel between the gateway and an agent's process over its own pipes.

In: messages to send. Out: lists of whole messages, in order; an empty one at the end. A message past the limit is given
up, and the log says so; the agent goes on. Never: what a message means.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Literal, Protocol

from gateway.drivers.process.process import Process
from gateway.errors import AgentFault
from gateway.wire.content_length import Frames, frame
from gateway.wire.lines import Lines, TooLong

log = logging.getLogger(__name__)

LIMIT = 64 * 1024 * 1024
"""Images and whole files make messages of megabytes."""


Framing = Literal["stdio-lines", "stdio-raw", "stdio-frames", "stdio-whole"]


class Transport(Protocol):
    process: Process

    async def read(self) -> list[bytes]:
        """What has come, at least one message; [] at the end."""

    async def write(self, messages: Sequence[bytes]) -> None:
        """Raises `AgentFault` when nobody is there."""

    def close_input(self) -> None:
        """No more will be written."""

    async def subscribe(self, cwd: str) -> None:
        """A session in this directory is about to begin."""

    async def aclose(self) -> None: ...


class StdioTransport:
    """Over stdin and stdout. With `stdio-whole` all of stdout is one message, when it is at its end."""

    def __init__(self, process: Process, framing: Framing) -> None:
        self.process = process
        self._framing = framing
        self._lines = Lines(LIMIT)
        self._frames = Frames(LIMIT)
        self._whole = bytearray()
        self._over = False

    async def read(self) -> list[bytes]:
        while not self._over:
            data = await self.process.read()
            self._over = not data
            if found := self._last() if self._over else self._cut(data):
                return found
        return []

    def _cut(self, data: bytes) -> list[bytes]:
        match self._framing:
            case "stdio-lines":
                return _kept(self._lines.feed(data))
            case "stdio-raw":
                return [data]
            case "stdio-frames":
                return self._frames.feed(data)
            case "stdio-whole":
                if len(self._whole) + len(data) > LIMIT:
                    raise AgentFault("the agent printed more than is read of one answer", code="AGENT_PROTOCOL_ERROR")
                self._whole += data
                return []

    def _last(self) -> list[bytes]:
        if self._framing == "stdio-lines":
            return _kept(self._lines.eof())
        return [bytes(self._whole)] if self._whole else []

    async def write(self, messages: Sequence[bytes]) -> None:
        match self._framing:
            case "stdio-lines":
                data = b"".join(message + b"\n" for message in messages)
            case "stdio-frames":
                data = b"".join(map(frame, messages))
            case "stdio-raw" | "whole":
                data = b"".join(messages)
        await self.process.write(data)

    def close_input(self) -> None:
        self.process.close_stdin()

    async def subscribe(self, cwd: str) -> None:
        return None

    async def aclose(self) -> None:
        await self.process.stop()


def _kept(lines: list[bytes | TooLong]) -> list[bytes]:
    """Nearly always all of them."""
    kept = [line for line in lines if type(line) is bytes]
    if len(kept) < len(lines):
        log.warning("the agent sent %d message(s) past %d bytes: left out", len(lines) - len(kept), LIMIT)
    return kept
