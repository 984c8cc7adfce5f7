from __future__ import annotations

import anyio
import pytest
from ag_ui.core import TextMessageContentEvent
from anyio import to_thread

from gateway.drivers import event_queue as module
from gateway.drivers.event_queue import BATCH_EVENTS, MAX_SHORT_CHARS, EventQueue, ThreadProducer
from gateway.errors import AgentFault
from gateway.events import (
    AguiEvent,
    Event,
    ReasoningMessageContent,
    StateSnapshot,
    TextMessageContent,
    ToolCallArgs,
    ToolCallStart,
)

pytestmark = pytest.mark.anyio
LIMIT = 10.0


async def test_what_was_put_before_a_pause_is_one_batch() -> None:
    queue = EventQueue()
    queue.put(TextMessageContent("a"))
    queue.put(TextMessageContent("b"))
    assert await queue.take() == [TextMessageContent("a"), TextMessageContent("b")]


async def test_a_reader_that_waits_is_woken_by_the_first_event() -> None:
    queue, taken = EventQueue(), list[object]()

    async def read() -> None:
        taken.extend(await queue.take())

    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(read)
            await anyio.wait_all_tasks_blocked()
            queue.put(TextMessageContent("a"))
    assert taken == [TextMessageContent("a")]


async def test_a_reader_that_gave_up_loses_nothing() -> None:
    queue = EventQueue()
    with anyio.move_on_after(0):
        await queue.take()
    queue.put(TextMessageContent("a"))
    assert await queue.take() == [TextMessageContent("a")]


async def test_a_full_inbox_makes_the_producer_wait_until_it_was_emptied() -> None:
    queue, produced = EventQueue(), 0

    async def produce() -> None:
        nonlocal produced
        for number in range(5 * BATCH_EVENTS):
            produced = number + 1
            if queue.put(TextMessageContent("a")):
                await queue.wait_until_empty()
        queue.close()

    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(produce)
            await anyio.wait_all_tasks_blocked()
            assert produced <= BATCH_EVENTS
            taken = 0
            while batch := await queue.take():
                taken += len(batch)
                assert len(batch) <= BATCH_EVENTS
    assert taken == 5 * BATCH_EVENTS


async def test_a_producer_that_computes_for_long_waits_for_the_reader(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = 0.0
    monkeypatch.setattr(module, "monotonic", lambda: now)
    queue = EventQueue()
    assert not any(queue.put(TextMessageContent("a")) for _ in range(20))
    now = 1.0
    assert any(queue.put(TextMessageContent("a")) for _ in range(16))


@pytest.mark.parametrize(
    ("event", "long"),
    [
        (TextMessageContent("a" * MAX_SHORT_CHARS), False),
        (TextMessageContent("a" * MAX_SHORT_CHARS + "b"), True),
        (ReasoningMessageContent("a" * MAX_SHORT_CHARS + "b"), True),
        (ToolCallArgs("c", "a" * MAX_SHORT_CHARS + "b"), True),
        (ToolCallArgs("c", "a"), False),
        (AguiEvent({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "a"}), False),
        (AguiEvent({"type": "TEXT_MESSAGE_CONTENT", "messageId": "m", "delta": "a" * MAX_SHORT_CHARS + "b"}), True),
        (AguiEvent(TextMessageContentEvent(message_id="m", delta="a")), False),
        (AguiEvent(TextMessageContentEvent(message_id="m", delta="a" * MAX_SHORT_CHARS + "b")), True),
        (StateSnapshot({"any": "thing"}), True),
        (ToolCallStart("c", "f"), False),
        (TextMessageContent(5), False),  # type: ignore[arg-type] # an author's mistake, reported where it is sent
    ],
    ids=lambda value: type(value).__name__,
)
async def test_a_producer_waits_after_an_event_that_may_be_long(event: Event, long: bool) -> None:
    assert EventQueue().put(event) == long


async def test_the_end_comes_after_all_that_was_put() -> None:
    queue = EventQueue()
    queue.put(TextMessageContent("a"))
    queue.close()
    assert await queue.take() == [TextMessageContent("a")]
    assert await queue.take() == []
    assert await queue.take() == []


async def test_an_error_comes_after_all_that_was_put_and_once() -> None:
    queue = EventQueue()
    queue.put(TextMessageContent("a"))
    queue.close(AgentFault("no"))
    queue.close(AgentFault("too late"))
    assert await queue.take() == [TextMessageContent("a")]
    with pytest.raises(AgentFault, match="no"):
        await queue.take()
    assert await queue.take() == []


async def test_closing_wakes_both_sides() -> None:
    full, empty = EventQueue(), EventQueue()
    full.put(TextMessageContent("a"))
    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(full.wait_until_empty)
            tasks.start_soon(empty.take)
            await anyio.wait_all_tasks_blocked()
            full.close()
            empty.close()


async def test_a_closed_inbox_takes_nothing_and_lets_others_run() -> None:
    queue, others = EventQueue(), 0
    queue.put(TextMessageContent("a"))
    queue.close()

    async def another() -> None:
        nonlocal others
        others += 1

    async with anyio.create_task_group() as tasks:
        tasks.start_soon(another)
        while not others:  # would never end if other tasks could not run
            assert queue.put(TextMessageContent("b"))
            await queue.wait_until_empty()
    assert await queue.take() == [TextMessageContent("a")]


# -- from a thread


async def taken_from_thread(produce: object, queue: EventQueue) -> list[str]:
    assert callable(produce)
    texts: list[str] = []

    async def run() -> None:
        await to_thread.run_sync(produce)
        queue.close()

    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(run)
            while batch := await queue.take():
                texts += [event.text for event in batch if isinstance(event, TextMessageContent)]
    return texts


async def test_a_thread_puts_in_order_and_loses_nothing() -> None:
    queue = EventQueue()
    producer = ThreadProducer(queue)

    def produce() -> None:
        for number in range(20_000):
            producer.put(TextMessageContent(str(number)))

    texts = await taken_from_thread(produce, queue)
    producer.transfer()
    texts += [event.text for event in await queue.take() if isinstance(event, TextMessageContent)]
    assert texts == [str(number) for number in range(20_000)]


class Watched(EventQueue):
    """Set when the producer began to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.waited = anyio.Event()

    async def wait_until_empty(self) -> None:
        self.waited.set()
        await super().wait_until_empty()


async def test_a_thread_whose_events_are_not_read_has_to_wait() -> None:
    queue = Watched()
    producer = ThreadProducer(queue)
    produced = 0

    def produce() -> None:
        nonlocal produced
        for number in range(1, 20 * BATCH_EVENTS):
            produced = number
            producer.put(TextMessageContent("a"))

    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(to_thread.run_sync, produce)
            await queue.waited.wait()
            assert len(queue) <= produced <= 4 * BATCH_EVENTS
            queue.close()
