"""The process's own pipes: messages as lines, as Content-Length frames, as raw chunks, or all of stdout as one."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from typing import Literal, get_args

from gateway.drivers.cli.transports.base import MAX_MESSAGE_BYTES, Endpoint
from gateway.drivers.process import Process
from gateway.errors import AgentFault
from gateway.wire.content_length import Frames, frame
from gateway.wire.lines import Lines, TooLong

log = logging.getLogger(__name__)


Framing = Literal["stdio-lines", "stdio-raw", "stdio-frames", "stdio-whole"]


async def open_stdio(endpoint: Endpoint) -> StdioTransport:
    framing: Framing | None = next((each for each in get_args(Framing) if each == endpoint.cli.transport), None)
    assert framing is not None  # `TRANSPORTS` has this function for these four only
    return StdioTransport(endpoint.process, framing)


class StdioTransport:
    """Over stdin and stdout. With `stdio-whole` all of stdout is one message, complete at its end."""

    def __init__(self, process: Process, framing: Framing) -> None:
        self.process = process
        self._framing = framing
        self._lines = Lines(MAX_MESSAGE_BYTES)
        self._frames = Frames(MAX_MESSAGE_BYTES)
        self._whole = bytearray()
        self._is_over = False

    async def read(self) -> list[bytes]:
        while not self._is_over:
            data = await self.process.read()
            self._is_over = not data
            if messages := self._finish() if self._is_over else self._split(data):
                return messages
        return []

    def _split(self, data: bytes) -> list[bytes]:
        match self._framing:
            case "stdio-lines":
                return _drop_too_long(self._lines.feed(data))
            case "stdio-raw":
                return [data]
            case "stdio-frames":
                return self._frames.feed(data)
            case "stdio-whole":
                if len(self._whole) + len(data) > MAX_MESSAGE_BYTES:
                    raise AgentFault(
                        f"the agent printed more than {MAX_MESSAGE_BYTES} bytes", code="AGENT_PROTOCOL_ERROR"
                    )
                self._whole += data
                return []

    def _finish(self) -> list[bytes]:
        if self._framing == "stdio-lines":
            return _drop_too_long(self._lines.eof())
        return [bytes(self._whole)] if self._whole else []

    async def write(self, messages: Sequence[bytes]) -> None:
        match self._framing:
            case "stdio-lines":
                data = b"".join(message + b"\n" for message in messages)
            case "stdio-frames":
                data = b"".join(map(frame, messages))
            case "stdio-raw" | "stdio-whole":
                data = b"".join(messages)
        await self.process.write(data)

    def close_input(self) -> None:
        self.process.close_stdin()

    async def subscribe(self, cwd: str) -> None:
        return None

    async def aclose(self) -> None:
        await self.process.stop()


def _drop_too_long(lines: list[bytes | TooLong]) -> list[bytes]:
    messages = [line for line in lines if type(line) is bytes]
    if len(messages) < len(lines):
        dropped = len(lines) - len(messages)
        log.warning("the agent sent %d message(s) of more than %d bytes: dropped", dropped, MAX_MESSAGE_BYTES)
    return messages
