"""An agent that is a function in this process. It takes a `Turn` and yields what it does.

It may yield text (`str`), the house's own events (`gateway.events`), official `ag_ui` events or their JSON objects.
To ask, it yields `Asked` and is sent the answers: `answers = yield Asked((Question(…),))`.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, AsyncIterable, Callable, Iterable, Mapping
from typing import Any, get_args

import anyio
from anyio import CancelScope, to_thread
from anyio.abc import TaskGroup
from pydantic import BaseModel

from gateway.catalog.definition import AgentDefinition
from gateway.drivers.entry import load_entry
from gateway.drivers.inbox import Inbox, ThreadDoor
from gateway.errors import AgentFault
from gateway.events import Asked, Event, Layer, Native, TextDelta
from gateway.turn import Answer, Turn

EVENTS = frozenset(get_args(Event))
CLOSE_LIMIT = 2.0
"""A generator that catches its cancellation and goes on is let go after this."""
ANNOUNCE_LIMIT = 1.0
"""An agent's own capabilities function is part of every snapshot: past this its word is left out."""

Agent = Callable[[Turn], Any]


class PythonDriver:
    def __init__(self, definition: AgentDefinition, tasks: TaskGroup) -> None:
        entry = load_entry(definition.entry, definition.source)
        self._definition, self._tasks = definition, tasks
        self._agent: Agent = getattr(entry, "run", entry)
        self._said: Any = getattr(entry, "capabilities", None)
        if definition.announces is not None:
            self._said = load_entry(definition.announces, definition.source)

    async def announced(self) -> Layer:
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

    async def open(self, thread_id: str) -> PythonSession:
        return PythonSession(self._agent, self._tasks)

    async def aclose(self) -> None:
        return None


class PythonSession:
    def __init__(self, agent: Agent, tasks: TaskGroup) -> None:
        self._agent, self._tasks = agent, tasks

    async def start(self, turn: Turn) -> PythonTurn:
        live = PythonTurn(self._agent, turn)
        self._tasks.start_soon(live.play)
        return live

    async def aclose(self) -> None:
        return None


class PythonTurn:
    """One call of the agent, played in a task of its own, read from an inbox."""

    def __init__(self, agent: Agent, turn: Turn) -> None:
        self._agent, self._turn = agent, turn
        self._inbox = Inbox()
        self._scope = CancelScope()
        self._done = anyio.Event()
        self._answered = anyio.Event()
        self._answers: Mapping[str, Answer] = {}

    async def next(self) -> list[Event]:
        return await self._inbox.take()

    async def answer(self, answers: Mapping[str, Answer]) -> None:
        self._answers = answers
        self._answered.set()

    async def cancel(self) -> None:
        self._scope.cancel()

    async def aclose(self) -> None:
        self._scope.cancel()
        self._inbox.close()
        with CancelScope(shield=True), anyio.move_on_after(CLOSE_LIMIT):
            await self._done.wait()

    async def play(self) -> None:
        error: BaseException | None = None
        try:
            with self._scope:
                await self._run(self._agent(self._turn))
        except AgentFault as exc:
            error = exc
        except (Exception, SystemExit) as exc:  # the seam: whatever an author's code raises is the agent's fault
            error = AgentFault(f"{type(exc).__name__}: {exc}" if str(exc) else type(exc).__name__, code="AGENT_RAISED")
            error.__cause__ = exc
        finally:
            self._inbox.close(error)
            self._done.set()

    async def _run(self, made: Any) -> None:
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
        put = self._inbox.put
        try:
            async for item in made:
                event = item if type(item) in EVENTS else to_event(item)
                while type(event) is Asked:
                    put(event)
                    event = to_event(await made.asend(await self._wait_for_answers()))
                if put(event):
                    await self._inbox.room()
        except StopAsyncIteration:
            return  # the answer was the last it waited for
        finally:
            with CancelScope(shield=True), anyio.move_on_after(CLOSE_LIMIT):
                await made.aclose()

    async def _thread(self, made: Iterable[Any]) -> None:
        """A plain generator may block, so it runs in a thread; a cancelled one ends at its next yield."""
        door = ThreadDoor(self._inbox)

        def iterate() -> None:
            for item in made:
                if self._scope.cancel_called or self._inbox.closed:
                    return
                event = to_event(item)
                if type(event) is Asked:
                    raise AgentFault("only an async generator can ask: this agent is a plain one", code="AGENT_RAISED")
                door.put(event)

        await to_thread.run_sync(iterate, abandon_on_cancel=True)
        door.carry()

    async def _say(self, item: Any) -> None:
        if self._inbox.put(to_event(item)):
            await self._inbox.room()

    async def _wait_for_answers(self) -> Mapping[str, Answer]:
        await self._answered.wait()
        self._answered = anyio.Event()
        return self._answers


def to_event(item: Any) -> Event:
    """What an author may yield, as an event."""
    if type(item) in EVENTS:
        event: Event = item
        return event
    if isinstance(item, str):
        return TextDelta(item)
    if isinstance(item, BaseModel | dict):
        return Native(item)
    raise AgentFault(
        f"the agent yielded a {type(item).__name__}; it may yield str, gateway.events, ag_ui events or their JSON",
        code="AGENT_NONSENSE",
    )
