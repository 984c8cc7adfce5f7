"""An agent that is a function in this process. It takes a `Turn` and yields what it does.

It may yield text (`str`), the house's own events (`gateway.events`), official `ag_ui` events or their JSON objects. To
ask, it yields `InterruptRequested` and is sent the answers: `answers = yield Asked((Question(…),))`. To have the
client's own tools called and go on with what they give, it yields the calls, then `ClientToolsCalled`, and is sent the
results likewise.
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
from gateway.drivers.probe import Availability
from gateway.drivers.python.abandon import Abandonable
from gateway.drivers.python.entry_point import load_entry
from gateway.drivers.python.modes import ModeControls
from gateway.drivers.python.threads import in_thread
from gateway.errors import AgentFault, ConfigError
from gateway.events import (
    AguiEvent,
    ClientToolsCalled,
    EncodedText,
    Event,
    InterruptRequested,
    Layer,
    TextMessageContent,
)
from gateway.turn import Answer, Turn

EVENTS = frozenset(get_args(Event)) - {EncodedText}
"""What an author may yield: lines that are written already are taken unread, so only from a driver that has looked."""
WAITING = (InterruptRequested, ClientToolsCalled)
"""The agent goes on when it is sent what came of it."""
CLOSE_LIMIT = 2.0
"""An agent that catches its cancellation and goes on is let go after this."""
ANNOUNCE_LIMIT = 1.0
"""An agent's own capabilities function is part of every snapshot: past this its word is left out."""

Agent = Callable[[Turn], Any]

log = logging.getLogger(__name__)


class PythonDriver:
    question_window = 0.0
    local = True
    remote_proxy = None
    probed = True

    def __init__(self, definition: AgentDefinition, tasks: Tasks) -> None:
        assert definition.entry is not None  # the definition was checked
        entry = load_entry(definition.entry, definition.source)
        self._definition = definition
        self._agent: Agent = getattr(entry, "run", entry)
        if not callable(self._agent):
            raise ConfigError(f"{definition.source}: entry: {definition.entry!r} is not a function")
        self._said: Any = getattr(entry, "capabilities", None)
        if definition.capabilities_entry is not None:
            self._said = load_entry(definition.capabilities_entry, definition.source)

    async def handshake_layer(self) -> Mapping[str, Any]:
        said = self._said
        if callable(said):
            said = said()
            if inspect.isawaitable(said):
                with anyio.fail_after(ANNOUNCE_LIMIT):
                    said = await said
        if isinstance(said, BaseModel):
            said = said.model_dump(by_alias=True, mode="json")
        if said is not None and not isinstance(said, Mapping):
            raise AgentFault(f"{self._definition.id}: capabilities are a {type(said).__name__}, not a mapping")
        return said or {}

    async def probe(self) -> None:
        return None

    async def models(self) -> list[Mapping[str, Any]] | None:
        return None

    async def availability(self) -> Availability:
        return Availability()

    async def open(self, opening: Opening) -> PythonSession:
        modes = self._definition.modes
        return PythonSession(self._agent, ModeControls(modes, opening.session_id) if modes else None)

    async def aclose(self) -> None:
        return None


class PythonSession:
    """Nothing outlives a turn but the mode, if there are some: the function is given all it needs each time."""

    alive = True

    def __init__(self, agent: Agent, controls: ModeControls | None = None) -> None:
        self._agent, self.controls = agent, controls

    @property
    def id(self) -> str | None:
        return None if self.controls is None else self.controls.current

    @property
    def kept(self) -> bool:
        return self.controls is not None

    @property
    def session_layer(self) -> Layer:
        return {} if self.controls is None else self.controls.session_layer

    async def start(self, turn: Turn) -> PythonTurn:
        if self.controls is not None:
            if turn.options.mode is not None:
                await self.controls.set_mode(turn.options.mode)
            turn = replace(turn, options=replace(turn.options, mode=self.controls.current))
        return PythonTurn(self._agent, turn).start()

    async def aclose(self) -> None:
        return None


class PythonTurn:
    """One call of the agent, played in a task of its own, read from an inbox.

    The task stands in no task group, and none of the gateway's cancel scopes is open around the agent: a generator may
    yield inside a scope of its own, and scopes that do not close in the order they were opened in break both.
    """

    def __init__(self, agent: Agent, turn: Turn) -> None:
        self._agent, self._turn = agent, turn
        self._queue = EventQueue()
        self._leash = Abandonable(self._perform)
        self._done = anyio.Event()
        self._stopped = False
        self._error: AgentFault | None = None
        self._answered = anyio.Event()
        self._answers: Mapping[str, Answer] = {}

    def start(self) -> PythonTurn:
        # Kept here, ended by `aclose`, and nothing ever leaves it: so it cannot be lost.
        self._task = asyncio.create_task(self._play())  # noqa: TID251
        self._task.add_done_callback(self._over)
        return self

    async def next(self) -> list[Event]:
        return await self._queue.take()

    async def answer(self, answers: Mapping[str, Answer]) -> None:
        self._answers = answers
        self._answered.set()

    async def steer(self, message_id: str, text: str) -> bool:
        return False

    async def cancel(self) -> None:
        self._stopped = True
        self._task.cancel()

    async def aclose(self) -> None:
        await self.cancel()
        self._queue.close()
        with CancelScope(shield=True):
            with anyio.move_on_after(CLOSE_LIMIT):
                await self._done.wait()
            if not self._done.is_set():
                log.warning("run %s: the agent goes on though it was cancelled; it is let go", self._turn.run_id)
                self._leash.close_driver_sessions()
                self._task.cancel()
                await self._done.wait()

    async def _play(self) -> None:
        try:
            await self._leash
        except AgentFault as exc:
            self._error = exc
        except BaseException as exc:  # the seam: no exception of an author's code, of whatever kind, goes further
            self._error = self._fault(exc)

    def _fault(self, exc: BaseException) -> AgentFault | None:
        if self._stopped and only_stopped(exc):
            return None
        log.warning("run %s: the agent raised", self._turn.run_id, exc_info=exc)
        error = AgentFault(describe_exception(exc), code="AGENT_EXCEPTION")
        error.__cause__ = exc
        return error

    def _over(self, task: asyncio.Task[None]) -> None:
        """Called when the task is done, even if it never began: then it was cancelled before."""
        self._queue.close(self._error)
        self._done.set()

    async def _perform(self) -> None:
        made = self._agent(self._turn)
        if inspect.isawaitable(made):
            made = await made
        if made is None:
            return
        if isinstance(made, AsyncGenerator):
            await self._generator(made)
        elif isinstance(made, AsyncIterable):
            async for item in made:
                await self._say(item)
        elif isinstance(made, Iterable) and not isinstance(made, str | Mapping | BaseModel):
            await self._thread(made)
        else:
            await self._say(made)

    async def _generator(self, made: AsyncGenerator[Any, Any]) -> None:
        put = self._queue.put
        try:
            async for item in made:
                event = item if type(item) in EVENTS else to_event(item)
                while type(event) in WAITING:
                    put(event)
                    event = to_event(await made.asend(await self._wait_for_answers()))
                if put(event):
                    await self._queue.room()
        except StopAsyncIteration:
            return  # the answer was the last it waited for
        finally:
            await made.aclose()

    async def _thread(self, made: Iterable[Any]) -> None:
        """A plain generator may block, so it runs in a thread; a cancelled one ends at its next yield."""
        producer = ThreadProducer(self._queue)

        def iterate() -> None:
            for item in made:
                if self._stopped:
                    return
                producer.put(statement(item))

        try:
            await in_thread(iterate)
        finally:
            producer.carry()

    async def _say(self, item: Any) -> None:
        if self._queue.put(statement(item)):
            await self._queue.room()

    async def _wait_for_answers(self) -> Mapping[str, Answer]:
        await self._answered.wait()
        self._answered = anyio.Event()
        return self._answers


def statement(item: Any) -> Event:
    """An event of an agent that cannot be sent an answer."""
    event = to_event(item)
    if type(event) in WAITING:
        raise AgentFault("only an async generator can ask, for it can be sent the answers", code="AGENT_EXCEPTION")
    return event


def only_stopped(exc: BaseException) -> bool:
    """Did the agent say no more than that it was stopped? A task group of its own packs that up."""
    if isinstance(exc, BaseExceptionGroup):
        return all(only_stopped(inner) for inner in exc.exceptions)
    return isinstance(exc, asyncio.CancelledError | GeneratorExit)


def describe_exception(exc: BaseException) -> str:
    try:
        words = str(exc)
    except Exception:  # an author's own class
        words = ""
    return f"{type(exc).__name__}: {words}" if words else type(exc).__name__


def to_event(item: Any) -> Event:
    """What an author may yield, as an event."""
    if type(item) in EVENTS:
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
