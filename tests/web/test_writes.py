"""How few writes a response takes: the head goes out with the first event, the end of the body with the last one."""

from __future__ import annotations

import asyncio
from types import SimpleNamespace
from typing import Any

import anyio
import pytest

from gateway.encode.sse import ENCODER
from gateway.runs.log import Log
from gateway.settings import Settings
from gateway.store.memory import MemoryStore
from gateway.web.event_stream import EventStream
from gateway.web.lingering_transport import LingeringTransport
from gateway.web.live_streams import LiveStreams
from tests.runs.test_log import RECORD, event

pytestmark = pytest.mark.anyio
HEAD = b"HTTP/1.1 200 OK\r\n\r\n"


class RecordingTransport(asyncio.Transport):
    def __init__(self) -> None:
        super().__init__()
        self.writes: list[bytes] = []
        self.is_closed = False

    def write(self, data: Any) -> None:
        self.writes.append(data)

    def is_closing(self) -> bool:
        return self.is_closed

    def can_write_eof(self) -> bool:
        return True

    def close(self) -> None:
        self.is_closed = True


@pytest.fixture
def recording() -> RecordingTransport:
    return RecordingTransport()


@pytest.fixture
def transport(recording: RecordingTransport) -> LingeringTransport:
    return LingeringTransport(recording, lambda: False)


async def test_a_head_goes_out_with_the_body_that_follows(
    transport: LingeringTransport, recording: RecordingTransport
) -> None:
    transport.write(HEAD)
    transport.write(b"body")
    transport.write(b"more")
    assert recording.writes == [HEAD + b"body", b"more"]


async def test_a_head_alone_goes_out_in_the_same_pass_of_the_loop(
    transport: LingeringTransport, recording: RecordingTransport
) -> None:
    transport.write(HEAD)
    assert recording.writes == []
    await anyio.lowlevel.checkpoint()
    assert recording.writes == [HEAD]


async def test_a_head_goes_out_before_the_connection_is_closed(
    transport: LingeringTransport, recording: RecordingTransport
) -> None:
    transport.write(HEAD)
    transport.close()
    assert (recording.writes, recording.is_closed) == ([HEAD], True)


async def test_nothing_is_written_to_a_connection_that_was_lost_meanwhile(
    transport: LingeringTransport, recording: RecordingTransport
) -> None:
    transport.write(HEAD)
    recording.is_closed = True
    await anyio.lowlevel.checkpoint()
    assert recording.writes == []


async def test_the_last_event_of_a_run_ends_the_body() -> None:
    store = MemoryStore()
    await store.start()
    await store.begin(RECORD)
    log = Log("key", store, 10**6, 10**9)
    await log.append([event(1)])
    messages = await sent_by(EventStream(log.follow(), ENCODER, Settings()), log)
    bodies = [(message["body"].count(b"data:"), message["more_body"]) for message in messages[1:]]
    assert (messages[0]["type"], bodies) == ("http.response.start", [(1, True), (1, False)])


async def sent_by(stream: EventStream, log: Log) -> list[dict[str, Any]]:
    messages: list[dict[str, Any]] = []
    is_done = anyio.Event()

    async def send(message: Any) -> None:
        messages.append(message)
        if message["type"] == "http.response.body" and len(messages) == 2:
            (await log.seal([event(2)], "finished"))()
        if message.get("more_body") is False:
            is_done.set()

    async def receive() -> Any:
        await is_done.wait()
        return {"type": "http.disconnect"}

    scope = {
        "type": "http",
        "method": "GET",
        "app": SimpleNamespace(state=SimpleNamespace(live_streams=LiveStreams(1.0))),
    }
    with anyio.fail_after(10):
        await stream(scope, receive, send)
    return messages
