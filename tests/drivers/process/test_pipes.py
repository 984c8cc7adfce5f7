"""The ends of pipes, without a process."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import anyio
import anyio.lowlevel
import pytest

from gateway.drivers.process import pipes
from gateway.drivers.process.pipes import CHUNK_BYTES, Sink, Source, Tail
from tests.drivers.process_watch import LIMIT
from tests.drivers.spawned import LOOP_NAMES, LOOPS

pytestmark = pytest.mark.anyio


@pytest.fixture(params=LOOPS, ids=LOOP_NAMES)
def anyio_backend(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
def pipe() -> Iterator[tuple[int, int]]:
    readable, writable = os.pipe()
    yield readable, writable
    for fd in (readable, writable):
        with suppress(OSError):  # the test, or the end under test, has closed it
            os.close(fd)


async def until_waits(end: Source | Sink) -> None:
    with anyio.fail_after(LIMIT):
        while end._waiting is None:
            await anyio.lowlevel.checkpoint()


async def test_a_stream_without_a_pause_lets_other_tasks_run(
    pipe: tuple[int, int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipes, "CHUNK_BYTES", 10)
    os.write(pipe[1], b"x" * 1000)
    source, turns = Source(pipe[0]), 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await anyio.lowlevel.checkpoint()

    async with anyio.create_task_group() as beside:
        beside.start_soon(count)
        for _ in range(100):
            assert await source.read() == b"x" * 10
        beside.cancel_scope.cancel()
    source.close()
    assert turns >= 99


async def test_a_reader_that_waits_sees_the_end_when_the_rest_is_thrown_away(pipe: tuple[int, int]) -> None:
    source = Source(pipe[0])
    async with anyio.create_task_group() as beside:
        beside.start_soon(source.read)
        await until_waits(source)
        source.discard()
        assert source.is_open
    os.write(pipe[1], b"unheard")
    assert await source.read() == b""
    os.close(pipe[1])
    with anyio.fail_after(LIMIT):
        while source.is_open:
            await anyio.lowlevel.checkpoint()


async def test_what_is_thrown_away_makes_room_for_more(pipe: tuple[int, int]) -> None:
    source, sink = Source(pipe[0]), Sink(pipe[1])
    source.discard()
    with anyio.fail_after(LIMIT):
        await sink.write(b"x" * CHUNK_BYTES * 20)
    sink.close()
    source.close()


async def test_what_is_left_in_a_pipe_is_read_after_its_end(pipe: tuple[int, int]) -> None:
    os.write(pipe[1], b"last words")
    source = Source(pipe[0])
    source.finish()
    assert not source.is_open
    assert [await source.read(), await source.read()] == [b"last words", b""]


async def test_a_message_of_which_nothing_has_left_was_never_sent(pipe: tuple[int, int]) -> None:
    full, sink = b"f" * CHUNK_BYTES, Sink(pipe[1])
    await sink.write(full)
    with anyio.move_on_after(0.01) as limit:
        await sink.write(b"never")
    assert limit.cancelled_caught
    assert os.read(pipe[0], 2 * CHUNK_BYTES) == full
    await sink.write(b"next")
    sink.close()
    assert os.read(pipe[0], 2 * CHUNK_BYTES) == b"next"


async def test_a_writer_that_waits_fails_when_the_pipe_is_closed(pipe: tuple[int, int]) -> None:
    sink = Sink(pipe[1])

    async def close() -> None:
        await until_waits(sink)
        sink.close()

    async with anyio.create_task_group() as beside:
        beside.start_soon(close)
        with pytest.raises(BrokenPipeError), anyio.fail_after(LIMIT):
            await sink.write(b"x" * CHUNK_BYTES * 2)


async def test_no_callback_stays_registered_when_no_task_waits(pipe: tuple[int, int]) -> None:
    source, loop = Source(pipe[0]), asyncio.get_running_loop()
    with anyio.move_on_after(0.01):
        await source.read()
    assert not loop.remove_reader(pipe[0])
    async with anyio.create_task_group() as beside:
        beside.start_soon(source.read)
        await until_waits(source)
        os.write(pipe[1], b"x")
    assert not loop.remove_reader(pipe[0])
    source.close()
    source.close()


async def test_a_tail_keeps_the_end_alone(pipe: tuple[int, int]) -> None:
    tail = Tail(pipe[0], [])
    sink = Sink(pipe[1])
    with anyio.fail_after(LIMIT):
        await sink.write(b"x" * CHUNK_BYTES * 20 + b"\nthe end \xff\n")
    sink.close()
    assert tail.text().endswith("x\nthe end \N{REPLACEMENT CHARACTER}")
    assert len(tail._kept) == pipes.STDERR_TAIL_BYTES
    tail.finish()
    assert tail.text().endswith("the end \N{REPLACEMENT CHARACTER}")
