"""Sends fuzzed requests and frames to a gateway, several at a time, and judges the answers.

In: cases by number; each has a random number generator of its own, so one case can be sent again. Out: a `Report`:
answers by status and code, and what must not happen: a 500, an answer that does not come, an `INTERNAL_ERROR` inside a
stream. An answer that blames the agent (502) or names a limit (503) is counted apart.
"""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable, Coroutine
from dataclasses import dataclass, field
from random import Random
from typing import Any

from tests.fuzz.web.frames import CLOSE, FuzzFrame, make_frame, to_frame
from tests.fuzz.web.requests import TOKEN, FuzzRequest, make_request

ANSWER_SECONDS = 30.0
"""An answer that takes longer is one that does not come."""
STREAM_SECONDS = 0.05
"""A stream that is silent for so long is left: feeds have no end."""
WRONG_FRAME_SECONDS = 0.5
"""A frame that is wrong may look like the beginning of a longer one."""
WORKERS = 16
FRAMES_PER_SOCKET = 25
OWN_FAULT_CODES = ("INTERNAL_ERROR",)
STATUS = re.compile(rb"HTTP/1\.1 (\d{3}) ")
CODE = re.compile(rb'"code":\s?"([A-Z_]+)"')
HANDSHAKE = (
    "GET /agents/{agent}/socket HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer {token}\r\nConnection: Upgrade\r\n"
    "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
)


@dataclass(slots=True)
class Report:
    requests: int = 0
    frames: int = 0
    statuses: Counter[str] = field(default_factory=Counter)
    """`404 UNKNOWN_RUN` → how often."""
    failures: list[str] = field(default_factory=list)
    slowest: float = 0.0

    def fail(self, number: int, what: str, case: object) -> None:
        self.failures.append(f"case {number}: {what}\n  {case}")

    def foreign_faults(self) -> dict[str, int]:
        """5xx that are the agent's own, or a limit."""
        return {name: count for name, count in sorted(self.statuses.items()) if name.startswith("5")}


class Fuzzer:
    def __init__(self, port: int, seed: int) -> None:
        self._port = port
        self._seed = seed
        self.report = Report()

    def case(self, kind: str, number: int) -> Random:
        return Random(f"{self._seed}:{kind}:{number}")

    async def send_requests(self, count: int) -> None:
        await self._share(range(count), self.send_request)

    async def send_frames(self, count: int) -> None:
        await self._share(range(0, count, FRAMES_PER_SOCKET), self.send_frames_from)

    async def _share(self, numbers: range, work: Callable[[int], Coroutine[Any, Any, None]]) -> None:
        pending = iter(numbers)

        async def worker() -> None:
            for number in pending:
                await work(number)

        async with asyncio.TaskGroup() as tasks:
            for _ in range(WORKERS):
                tasks.create_task(worker())

    # -- requests

    async def send_request(self, number: int) -> None:
        request = make_request(self.case("request", number))
        loop = asyncio.get_running_loop()
        started = loop.time()
        try:
            async with asyncio.timeout(ANSWER_SECONDS):
                answer = await self._exchange(request)
        except TimeoutError:
            self.report.fail(number, f"no answer within {ANSWER_SECONDS:g} seconds", request)
            return
        finally:
            self.report.requests += 1
        self.report.slowest = max(self.report.slowest, loop.time() - started)
        self._judge(number, request, answer)

    async def _exchange(self, request: FuzzRequest) -> bytes:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            writer.write(request.data)
            return await _read_answer(reader)
        except ConnectionError:
            return b""  # closed while the body was still being sent
        finally:
            writer.close()

    def _judge(self, number: int, request: FuzzRequest, answer: bytes) -> None:
        found = STATUS.match(answer)
        code = CODE.search(answer)
        status = int(found[1]) if found else 0
        name = code[1].decode() if code and status >= 400 else ""
        self.report.statuses[f"{status} {name}".strip()] += 1
        if not found:
            self.report.fail(number, f"closed without an answer: {answer[:100]!r}", request)
        elif status in (500, 501) or status > 503 or (status in (502, 503) and not name):
            self.report.fail(number, f"status {status} {name}", request)
        elif any(f'"{own}"'.encode() in answer for own in OWN_FAULT_CODES):
            self.report.fail(number, "INTERNAL_ERROR inside a stream", request)

    # -- frames

    async def send_frames_from(self, first: int) -> None:
        """Some frames over one connection, which is opened again when a wrong frame has closed it. Afterwards the
        gateway must still answer."""
        rng = self.case("socket", first)
        agent = rng.choice(("demo", "echo", "fake", "python"))
        frames = [make_frame(self.case("frame", first + each)) for each in range(FRAMES_PER_SOCKET)]
        while frames:
            batch = _until_wrong(frames)
            frames = frames[len(batch) :]
            self.report.frames += len(batch)
            try:
                async with asyncio.timeout(ANSWER_SECONDS):
                    await self._send_batch(first, agent, batch)
            except TimeoutError:
                self.report.fail(first, f"no answer within {ANSWER_SECONDS:g} seconds", "; ".join(map(str, batch)))

    async def _send_batch(self, first: int, agent: str, batch: list[FuzzFrame]) -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", self._port)
        try:
            writer.write(HANDSHAKE.format(agent=agent, token=TOKEN).encode())
            head = await reader.readuntil(b"\r\n\r\n")
            if b" 101 " not in head:
                self.report.statuses[f"socket {head[9:12].decode()}"] += 1
                return
            for frame in batch:
                writer.write(frame.data)
            probe = f"probe-{first}"
            writer.write(to_frame(json.dumps({"type": "cancel", "runId": probe}).encode()))
            answer = await _read_until(reader, probe.encode(), may_end=batch[-1].is_wrong)
            writer.write(to_frame(b"", CLOSE))
        except (ConnectionError, asyncio.IncompleteReadError):
            answer = b""
            if not batch[-1].is_wrong:
                self.report.fail(first, "the connection was closed", "; ".join(map(str, batch)))
        finally:
            writer.close()
        if any(f'"{own}"'.encode() in answer for own in OWN_FAULT_CODES):
            self.report.fail(first, "INTERNAL_ERROR over a socket", "; ".join(map(str, batch)))


def _until_wrong(frames: list[FuzzFrame]) -> list[FuzzFrame]:
    """Up to the first frame after which the connection may be closed."""
    for number, frame in enumerate(frames, 1):
        if frame.is_wrong:
            return frames[:number]
    return frames


async def _read_answer(reader: asyncio.StreamReader) -> bytes:
    """To its end; of a stream, until it is silent."""
    head = b""
    while b"\r\n\r\n" not in head:
        piece = await reader.read(65536)
        if not piece:
            return head
        head += piece
        if head.startswith(b"HTTP/1.1 100"):
            head = head.partition(b"\r\n\r\n")[2]
    is_stream = b"text/event-stream" in head or b"ag-ui.event+proto" in head or head.startswith(b"HTTP/1.1 101")
    while True:
        try:
            async with asyncio.timeout(STREAM_SECONDS if is_stream else None):
                piece = await reader.read(65536)
        except TimeoutError:
            return head
        if not piece:
            return head
        head += piece


async def _read_until(reader: asyncio.StreamReader, mark: bytes, *, may_end: bool) -> bytes:
    """What comes, up to the mark. `may_end`: after a wrong frame the gateway may close, or wait for the rest of it."""
    came = b""
    while mark not in came:
        try:
            async with asyncio.timeout(WRONG_FRAME_SECONDS if may_end else None):
                piece = await reader.read(65536)
        except TimeoutError:
            if may_end:
                return came
            raise
        if not piece:
            if may_end:
                return came
            raise ConnectionResetError
        came += piece
    return came
