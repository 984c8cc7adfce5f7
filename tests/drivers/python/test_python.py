"""A function in this process as an agent: what it may be, what it may yield, how it asks and how it fails."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncGenerator, AsyncIterator, Iterator
from typing import Any

import anyio
import pytest
from ag_ui.core import CustomEvent, EventType

from gateway.drivers.python.driver import PythonTurn
from gateway.errors import AgentFault
from gateway.events import AguiEvent, Event, TextMessageContent
from gateway.turn import Answer, Turn
from tests.drivers.scripted import INTERRUPT, LIMIT, TURN, live, played, rest

pytestmark = pytest.mark.anyio
CUSTOM = CustomEvent(type=EventType.CUSTOM, name="n", value=1)
JSON = {"type": "CUSTOM", "name": "n", "value": 2}


# -- what it may be, and may yield


class Iterates:
    def __aiter__(self) -> AsyncIterator[str]:
        self._left = iter(("a", "b"))
        return self

    async def __anext__(self) -> str:
        try:
            return next(self._left)
        except StopIteration:
            raise StopAsyncIteration from None


async def an_async_generator(turn: Turn) -> AsyncIterator[Any]:
    yield "a"
    yield TextMessageContent("b")


def a_generator(turn: Turn) -> Iterator[Any]:
    yield "a"
    yield TextMessageContent("b")


async def a_coroutine_of_a_list(turn: Turn) -> list[Any]:
    return ["a", TextMessageContent("b")]


async def a_coroutine_of_a_generator(turn: Turn) -> Any:
    return an_async_generator(turn)


def an_async_iterator(turn: Turn) -> Any:
    return Iterates()


def a_plain_function(turn: Turn) -> Any:
    return ("a", "b")


@pytest.mark.parametrize(
    "agent",
    [
        an_async_generator,
        a_generator,
        a_coroutine_of_a_list,
        a_coroutine_of_a_generator,
        an_async_iterator,
        a_plain_function,
    ],
    ids=lambda agent: agent.__name__,
)
async def test_an_agent_may_be_any_function_that_returns_events(agent: Any) -> None:
    assert await played(agent) == [TextMessageContent("a"), TextMessageContent("b")]


@pytest.mark.parametrize(
    ("received", "event"),
    [
        ("a", TextMessageContent("a")),
        (TextMessageContent("b"), TextMessageContent("b")),
        (CUSTOM, AguiEvent(CUSTOM)),
        (JSON, AguiEvent(JSON)),
    ],
    ids=["text", "event", "object", "JSON"],
)
async def test_an_agent_may_return_just_one(received: Any, event: Event) -> None:
    async def agent(turn: Turn) -> Any:
        return received

    assert await played(agent) == [event]
    assert await played(lambda turn: received) == [event]
    assert await played(lambda turn: iter([received])) == [event]


async def test_an_agent_may_say_nothing() -> None:
    async def agent(turn: Turn) -> None:
        return None

    assert await played(agent) == []


async def test_an_agent_gets_its_turn() -> None:
    received: list[Turn] = []
    await played(received.append)
    assert received == [TURN]


async def test_a_plain_generator_may_block_without_holding_anybody_up() -> None:
    go_on = threading.Event()

    def agent(turn: Turn) -> Iterator[str]:
        yield "before"
        go_on.wait(LIMIT)
        yield "after"

    async with live(agent) as turn:
        assert await turn.next() == [TextMessageContent("before")]
        go_on.set()
        assert await rest(turn) == [TextMessageContent("after")]


async def test_more_plain_generators_than_worker_threads_may_block_at_once() -> None:
    go_on = threading.Event()

    def agent(turn: Turn) -> Iterator[str]:
        yield "before"
        go_on.wait(LIMIT)

    turns = [PythonTurn(agent, TURN).start() for _ in range(60)]
    with anyio.fail_after(LIMIT):
        for turn in turns:
            assert await turn.next() == [TextMessageContent("before")]
        go_on.set()
        for turn in turns:
            assert await rest(turn) == []


# -- how it fails


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError


class Base(BaseException):
    pass


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (ValueError("no"), "ValueError: no"),
        (ValueError(), "ValueError"),
        (SystemExit(3), "SystemExit: 3"),
        (KeyboardInterrupt(), "KeyboardInterrupt"),
        (GeneratorExit(), "GeneratorExit"),
        (asyncio.CancelledError("by itself"), "CancelledError: by itself"),
        (Base("odd"), "Base: odd"),
        (Unspeakable(), "Unspeakable"),
        (ExceptionGroup("many", [ValueError("no")]), "ExceptionGroup: many (1 sub-exception)"),
        (StopIteration("odd"), "RuntimeError: "),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
@pytest.mark.parametrize("threaded", [False, True])
async def test_an_exception_of_the_agent_comes_after_its_events_and_goes_no_further(
    error: BaseException, message: str, threaded: bool, caplog: pytest.LogCaptureFixture
) -> None:
    def sync_agent(turn: Turn) -> Iterator[str]:
        yield "a"
        raise error

    async def agent(turn: Turn) -> AsyncIterator[str]:
        yield "a"
        raise error

    async with live(sync_agent if threaded else agent) as turn:
        assert await turn.next() == [TextMessageContent("a")]
        with pytest.raises(AgentFault) as raised:
            await turn.next()
        assert await turn.next() == []
    assert raised.value.code == "AGENT_EXCEPTION"
    assert raised.value.detail.startswith(message)
    (logged,) = [record for record in caplog.records if record.levelname == "WARNING"]
    assert "run r: the agent raised" in logged.getMessage()
    assert logged.exc_info is not None
    assert logged.exc_info[1] is raised.value.__cause__


@pytest.mark.parametrize("error", [ValueError("at once"), SystemExit()], ids=str)
async def test_an_agent_may_raise_before_its_first_event(error: BaseException) -> None:
    def plain(turn: Turn) -> None:
        raise error

    async def agent(turn: Turn) -> None:
        raise error

    for function in (plain, agent):
        with pytest.raises(AgentFault):
            await played(function)


@pytest.mark.parametrize("nonsense", [5, None, b"bytes", ["nested"], object()], ids=lambda value: type(value).__name__)
@pytest.mark.parametrize("threaded", [False, True])
async def test_nonsense_is_the_agents_fault_and_names_what_may_be_yielded(nonsense: Any, threaded: bool) -> None:
    async def agent(turn: Turn) -> AsyncIterator[Any]:
        yield "a"
        yield nonsense

    async with live((lambda turn: iter(["a", nonsense])) if threaded else agent) as turn:
        assert await turn.next() == [TextMessageContent("a")]
        with pytest.raises(AgentFault, match=f"yielded a {type(nonsense).__name__}; it may yield str") as raised:
            await turn.next()
    assert raised.value.code == "AGENT_PROTOCOL_ERROR"


async def test_after_nonsense_the_agent_is_closed() -> None:
    closed = anyio.Event()

    async def agent(turn: Turn) -> AsyncIterator[Any]:
        try:
            yield 5
        finally:
            closed.set()

    with pytest.raises(AgentFault):
        await played(agent)
    assert closed.is_set()


# -- asking


async def test_an_agent_that_asks_is_sent_the_answers_and_goes_on() -> None:
    async def agent(turn: Turn) -> AsyncGenerator[Any, Any]:
        for number in range(2):
            answers = yield INTERRUPT
            yield f"{number}: {answers['q'].payload}"

    async with live(agent) as turn:
        for number in range(2):
            assert (await turn.next())[-1] == INTERRUPT
            await turn.answer({"q": Answer("q", "resolved", "yes" * number)})
            if number:
                assert await rest(turn) == [TextMessageContent("1: yes")]


async def test_an_answer_may_be_the_last_that_an_agent_waits_for() -> None:
    async def agent(turn: Turn) -> AsyncIterator[Any]:
        yield INTERRUPT

    async with live(agent) as turn:
        assert await turn.next() == [INTERRUPT]
        await turn.answer({})
        assert await rest(turn) == []


@pytest.mark.parametrize("agent", [lambda turn: [INTERRUPT], lambda turn: INTERRUPT], ids=["a list", "one event"])
async def test_an_agent_that_cannot_be_sent_answers_cannot_request_an_interrupt(agent: Any) -> None:
    with pytest.raises(AgentFault, match="only an async generator can request"):
        await played(agent)
