"""An agent that is a function in this process. It takes a `Turn` and yields what it does.

It may yield text (`str`), the gateway's events (`gateway.events`), official `ag_ui` events or their JSON objects. To
request an interrupt it yields `InterruptRequested` and is sent the answers:
`answers = yield InterruptRequested((Interrupt(…),))`. To have client tools called and go on with their results, it
yields the calls, then `ClientToolsCalled`, and is sent the results in the same way.
"""

from __future__ import annotations

import asyncio
import inspect
import logging
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, get_args

import anyio
from anyio import CancelScope
from pydantic import BaseModel

from gateway.background import Tasks
from gateway.catalog.definition import AgentDefinition
from gateway.drivers.base import Opening
from gateway.drivers.event_queue import EventQueue, ThreadProducer
from gateway.drivers.homes import Home
from gateway.drivers.probe import Availability
from gateway.drivers.python.abandon import Abandonable
from gateway.drivers.python.entry_point import load_entry
from gateway.drivers.python.modes import ModeControls
from gateway.drivers.python.threads import run_in_thread
from gateway.drivers.session_base import ControlledSession
from gateway.errors import AgentFault, ConfigError
from gateway.events import (
    AguiEvent,
    ClientToolsCalled,
    EncodedText,
    Event,
    InterruptRequested,
    TextMessageContent,
)
from gateway.turn import Answer, Turn

AUTHOR_EVENTS = frozenset(get_args(Event)) - {EncodedText}
"""What an author may yield. Not `EncodedText`: its lines are passed on unread, so only a driver that has checked them
may make one."""
PARKING_EVENTS = (InterruptRequested, ClientToolsCalled)
"""After one of these the agent waits until it is sent the answers."""
CLOSE_TIMEOUT_SECONDS = 2.0
"""An agent that catches its cancellation and goes on is abandoned after this."""
CAPABILITIES_TIMEOUT_SECONDS = 1.0
"""An agent's own capabilities function is called for every snapshot: after this its layer is left out."""

Agent = Callable[[Turn], Any]

log = logging.getLogger(__name__)


class PythonDriver:
    question_window = 0.0
    is_local = True
    transport_index = 0
    remote_proxy = None
    is_probed = True

    def __init__(self, definition: AgentDefinition, tasks: Tasks) -> None:
        assert definition.entry is not None  # the definition was checked
        entry = load_entry(definition.entry, definition.source)
        self._definition = definition
        self._agent: Agent = getattr(entry, "run", entry)
        if not callable(self._agent):
            raise ConfigError(f"{definition.source}: entry: {definition.entry!r} is not a function")
        self._capabilities: Any = getattr(entry, "capabilities", None)
        if definition.capabilities_entry is not None:
            self._capabilities = load_entry(definition.capabilities_entry, definition.source)

    async def handshake_layer(self) -> Mapping[str, Any]:
        value = self._capabilities
        if callable(value):
            value = value()
            if inspect.isawaitable(value):
                with anyio.fail_after(CAPABILITIES_TIMEOUT_SECONDS):
                    value = await value
        if isinstance(value, BaseModel):
            value = value.model_dump(by_alias=True, mode="json")
        if value is not None and not isinstance(value, Mapping):
            raise AgentFault(f"{self._definition.id}: capabilities are a {type(value).__name__}, not a mapping")
        return value or {}

    async def probe(self) -> None:
        return None

    async def models(self) -> list[Mapping[str, Any]] | None:
        return None

    async def availability(self, home: Home | None = None) -> Availability:
        return Availability()

    async def open(self, opening: Opening) -> PythonSession:
        modes = self._definition.modes
        return PythonSession(self._agent, ModeControls(modes, opening.session_id) if modes else None)

    async def aclose(self) -> None:
        return None


class PythonSession(ControlledSession[ModeControls]):
    """Only the mode outlives a turn, where the agent has modes: the function gets all it needs with each turn."""

    def __init__(self, agent: Agent, controls: ModeControls | None = None) -> None:
        super().__init__(controls)
        self._agent = agent

    async def start(self, turn: Turn) -> PythonTurn:
        if self.controls is not None:
            if turn.options.mode is not None:
                await self.controls.set_mode(turn.options.mode)
            turn = replace(turn, options=replace(turn.options, mode=self.controls.session_id))
        return PythonTurn(self._agent, turn).start()


class PythonTurn:
    """One call of the agent, in a task of its own, read from a queue.

    The task belongs to no task group, and no cancel scope of the gateway is open around the agent: a generator may
    yield inside a cancel scope of its own, and scopes that do not close in the reverse order of their opening break
    both.
    """

    def __init__(self, agent: Agent, turn: Turn) -> None:
        self._agent = agent
        self._turn = turn
        self._queue = EventQueue()
        self._work = Abandonable(self._run_agent)
        self._done = anyio.Event()
        self._is_cancelled = False
        self._error: AgentFault | None = None
        self._answered = anyio.Event()
        self._answers: Mapping[str, Answer] = {}

    def start(self) -> PythonTurn:
        # It is referenced here, ended by `aclose`, and no exception leaves it: so the task cannot be lost.
        self._task = asyncio.create_task(self._play())  # noqa: TID251
        self._task.add_done_callback(self._finish)
        return self

    async def next(self) -> list[Event]:
        return await self._queue.take()

    async def answer(self, answers: Mapping[str, Answer]) -> None:
        self._answers = answers
        self._answered.set()

    async def steer(self, message_id: str, text: str) -> bool:
        return False

    async def cancel(self) -> None:
        self._is_cancelled = True
        self._task.cancel()

    async def aclose(self) -> None:
        await self.cancel()
        self._queue.close()
        with CancelScope(shield=True):
            with anyio.move_on_after(CLOSE_TIMEOUT_SECONDS):
                await self._done.wait()
            if not self._done.is_set():
                log.warning("run %s: the agent goes on after its cancellation; it is abandoned", self._turn.run_id)
                self._work.abandon()
                self._task.cancel()
                await self._done.wait()

    async def _play(self) -> None:
        try:
            await self._work
        except AgentFault as exc:
            self._error = exc
        except BaseException as exc:  # the seam: no exception of an author's code, of any kind, goes further
            self._error = self._to_fault(exc)

    def _to_fault(self, exc: BaseException) -> AgentFault | None:
        if self._is_cancelled and is_cancellation(exc):
            return None
        log.warning("run %s: the agent raised", self._turn.run_id, exc_info=exc)
        error = AgentFault(describe_exception(exc), code="AGENT_EXCEPTION")
        error.__cause__ = exc
        return error

    def _finish(self, task: asyncio.Task[None]) -> None:
        """Called when the task is done, even one that was cancelled before it began."""
        self._queue.close(self._error)
        self._done.set()

    async def _run_agent(self) -> None:
        output = self._agent(self._turn)
        if inspect.isawaitable(output):
            output = await output
        if output is None:
            return
        if isinstance(output, AsyncGenerator):
            await self._read_generator(output)
        elif isinstance(output, AsyncIterable):
            async for item in output:
                await self._put(item)
        elif isinstance(output, Iterable) and not isinstance(output, str | Mapping | BaseModel):
            await self._read_in_thread(output)
        else:
            await self._put(output)

    async def _read_generator(self, generator: AsyncGenerator[Any, Any]) -> None:
        put = self._queue.put
        try:
            async for item in generator:
                event = item if type(item) in AUTHOR_EVENTS else to_event(item)
                while type(event) in PARKING_EVENTS:
                    put(event)
                    event = to_event(await generator.asend(await self._wait_for_answers()))
                if put(event):
                    await self._queue.wait_until_empty()
        except StopAsyncIteration:
            return  # the agent ended after its last answer
        finally:
            await generator.aclose()

    async def _read_in_thread(self, items: Iterable[Any]) -> None:
        """A plain generator may block, so it runs in a thread; a cancelled one ends at its next yield."""
        producer = ThreadProducer(self._queue)

        def iterate() -> None:
            for item in items:
                if self._is_cancelled:
                    return
                producer.put(to_final_event(item))

        try:
            await run_in_thread(iterate)
        finally:
            producer.transfer()

    async def _put(self, item: Any) -> None:
        if self._queue.put(to_final_event(item)):
            await self._queue.wait_until_empty()

    async def _wait_for_answers(self) -> Mapping[str, Answer]:
        await self._answered.wait()
        self._answered = anyio.Event()
        return self._answers


def to_final_event(item: Any) -> Event:
    """An event of an agent that cannot be sent answers, because it is not an async generator."""
    event = to_event(item)
    if type(event) in PARKING_EVENTS:
        raise AgentFault(
            "only an async generator can request an interrupt, for it can be sent the answers", code="AGENT_EXCEPTION"
        )
    return event


def is_cancellation(exc: BaseException) -> bool:
    """The exception is nothing but the agent's own cancellation. A task group in the agent wraps it in a group."""
    if isinstance(exc, BaseExceptionGroup):
        return all(is_cancellation(inner) for inner in exc.exceptions)
    return isinstance(exc, asyncio.CancelledError | GeneratorExit)


def describe_exception(exc: BaseException) -> str:
    try:
        text = str(exc)
    except Exception:  # `__str__` of an author's own class
        text = ""
    return f"{type(exc).__name__}: {text}" if text else type(exc).__name__


def to_event(item: Any) -> Event:
    """What an author may yield, as an event."""
    if type(item) in AUTHOR_EVENTS:
        event: Event = item
        return event
    if isinstance(item, str):
        return TextMessageContent(item)
    if isinstance(item, BaseModel | dict):
        return AguiEvent(item)
    raise AgentFault(
        f"the agent yielded a {type(item).__name__}; it may yield str, gateway.events, ag_ui events or their JSON",
        code="AGENT_PROTOCOL_ERROR",
    )
