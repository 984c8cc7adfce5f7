"""A gateway in this process, with one agent whose turns the test plays: for what must happen at an exact moment."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import anyio

from gateway.agui import message_input
from gateway.capabilities.views import relay
from gateway.catalog.definition import AgentDefinition
from gateway.catalog.sections import Identity
from gateway.drivers import Opening
from gateway.drivers.python import PythonDriver, PythonSession, PythonTurn
from gateway.events import Event, TextMessageContent, TurnEnded, UserMessageAccepted, Wire
from gateway.identity import ThreadKey
from gateway.jsonio import dumps, loads
from gateway.registry.overlays import Overlay
from gateway.runs.run import Run
from gateway.service.gateway import Gateway, open_gateway
from gateway.settings import Settings
from gateway.store.base import Store
from gateway.store.deliveries import DeliveryRecord
from gateway.store.memory import MemoryStore
from gateway.turn import Answer, Turn

LIMIT = 20.0
ME = "me"


class Played:
    """A turn that goes on when the test says so."""

    def __init__(self, turn: Turn) -> None:
        self.turn = turn
        self.steered: list[str] = []
        self.takes = True
        """A message is taken; what becomes of it is the test's to say."""
        self.accepts_at_once = False
        """And taken up at once."""
        self._batches: list[list[Event]] = []
        self._more = anyio.Event()
        self.over = False

    def say(self, *events: Event) -> None:
        self._batches.append(list(events))
        self._more.set()

    def end(self) -> None:
        self.say(TurnEnded())

    def accept(self, message_id: str, text: str = "words") -> None:
        self.say(UserMessageAccepted(message_id, text), TextMessageContent("I read it. "))

    async def next(self) -> list[Event]:
        while not self._batches:
            if self.over:
                return []
            self._more = anyio.Event()
            await self._more.wait()
        return self._batches.pop(0)

    async def answer(self, answers: Mapping[str, Answer]) -> None:
        raise AssertionError("no interrupt was requested")

    async def steer(self, message_id: str, text: str) -> bool:
        if not self.takes:
            return False
        self.steered.append(message_id)
        if self.accepts_at_once:
            self.accept(message_id, text)
        return True

    async def cancel(self) -> None:
        self.over = True
        self._more.set()

    async def aclose(self) -> None:
        await self.cancel()


class PlayedDriver(PythonDriver):
    """Every turn that begins is the test's."""

    def __init__(self) -> None:
        self.turns: list[Played] = []
        self.by_itself = False
        """Turns end at once, without the test."""

    async def handshake_layer(self) -> Mapping[str, Any]:
        return {"custom": {"gateway": {"steering": True}}}

    async def open(self, opening: Opening) -> PythonSession:
        return PlayedSession(self)


class PlayedSession(PythonSession):
    def __init__(self, driver: PlayedDriver) -> None:
        super().__init__(lambda turn: None)
        self._driver = driver

    async def start(self, turn: Turn) -> PythonTurn:
        played = Played(turn)
        self._driver.turns.append(played)
        if self._driver.by_itself:
            played.end()
        return cast(PythonTurn, played)


@dataclass
class Scene:
    gateway: Gateway
    driver: PlayedDriver
    thread: ThreadKey

    async def post(self, name: str, delivery: str = "on-idle") -> DeliveryRecord:
        body = {"message": {"id": name, "content": f"the words of {name}"}, "delivery": delivery, "deliveryId": name}
        return await self.gateway.dispatcher.accept(self.thread, message_input.read_message_input(dumps(body)))

    async def run(self, name: str) -> Run:
        """Of another client's."""
        message = {"id": f"message-of-{name}", "role": "user", "content": name}
        turn = Turn(self.thread.thread_id, name, messages=[message])
        return await self.gateway.engine.start(self.gateway.agents["played"], turn, ME)

    async def turn(self, number: int) -> Played:
        """The agent's turn with this number, once it has begun."""
        return cast(Played, await soon(lambda: self.driver.turns[number] if len(self.driver.turns) > number else None))

    async def record(self, name: str) -> DeliveryRecord:
        found = await self.gateway.store.deliveries.delivery(self.thread, name)
        assert found is not None
        return found

    async def fate(self, name: str) -> str:
        with anyio.fail_after(LIMIT):
            while True:
                found = await self.record(name)
                if found.status in ("delivered", "failed"):
                    return found.status
                await anyio.sleep(0.001)

    async def notes(self) -> list[Wire]:
        return [loads(line) for _, line in await self.gateway.store.deliveries.read_events(self.thread, 0, 10_000)]

    async def receipts(self, name: str) -> list[str]:
        receipt = [note for note in await self.notes() if note.get("deliveryId") == name]
        return [note["type"].removeprefix("delivery.") for note in receipt if note["type"].startswith("delivery.")]

    def given_ids(self) -> list[str]:
        """The messages that the agent was given, by whichever way, in order."""
        return [name for turn in self.driver.turns for name in (turn.turn.messages[-1]["id"], *turn.steered)]


async def soon(found: Any) -> Any:
    with anyio.fail_after(LIMIT):
        while True:
            if result := found():
                return result
            await anyio.sleep(0.001)


@asynccontextmanager
async def scene(store: Store | None = None, **settings: Any) -> AsyncIterator[Scene]:
    definition = AgentDefinition(
        id="played", driver="python", entry="no:where", identity=Identity(name="Played"), source=Path("played.toml")
    )
    configured = Settings(store="memory:", cancel_grace=1, shutdown_grace=0, **settings)
    with anyio.fail_after(60):
        async with open_gateway(
            configured, store or MemoryStore(), [Overlay("test", {"played": definition})], relay.LAYER
        ) as it:
            driver = PlayedDriver()
            it.agents["played"].driver = driver
            await it.recover_deliveries()
            yield Scene(it, driver, ThreadKey("played", "t", ME))
