"""The engine without a gateway: a store that fails, an agent that cannot be opened, a cancelled task group."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, cast

import anyio
import orjson
import pytest

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.sections import Identity
from gateway.drivers import Opening
from gateway.drivers.python import PythonDriver, PythonSession, PythonTurn
from gateway.errors import AgentFault, Busy, Conflict, StoreError
from gateway.events import Event, Interrupt, InterruptRequested, TextMessageContent, Wire
from gateway.registry.agents import Agent
from gateway.runs.engine import Engine
from gateway.runs.log import Reader
from gateway.runs.run import Run
from gateway.runs.session_pool import SessionPool
from gateway.settings import Settings
from gateway.store.base import RunRecord, ThreadRecord
from gateway.store.memory import MemoryStore
from gateway.turn import Answer, Turn
from tests.agui.replay import accepted

pytestmark = pytest.mark.anyio
LIMIT = 10.0
INTERRUPTED = InterruptRequested((Interrupt("q", "why"),))
YES = (Answer("q", "resolved", 1),)


class FailingStore(MemoryStore):
    fails: frozenset[str] = frozenset()
    """Methods that do not work now."""

    def _try(self, method: str) -> None:
        if method in self.fails:
            raise StoreError("the disk is full")

    async def begin(self, run: RunRecord) -> None:
        self._try("begin")
        await super().begin(run)

    async def save_thread(self, thread: ThreadRecord) -> None:
        self._try("save_thread")
        await super().save_thread(thread)


class Scripted:
    """A turn that says one batch after another; None waits for an answer, or for ever."""

    def __init__(self, *batches: list[Event] | None) -> None:
        self._batches = list(batches)
        self._go_on = anyio.Event()
        self.closed = 0
        self.answers: Mapping[str, Answer] | None = None

    async def next(self) -> list[Event]:
        batch = self._batches.pop(0) if self._batches else []
        if batch is None:
            await self._go_on.wait()
            return await self.next()
        return batch

    async def answer(self, answers: Mapping[str, Answer]) -> None:
        self.answers = answers
        self._go_on.set()

    async def cancel(self) -> None:
        self._go_on.set()

    async def aclose(self) -> None:
        self.closed += 1


class ScriptedDriver(PythonDriver):
    """Gives out the turns it was given."""

    def __init__(self) -> None:
        self.turns: list[Scripted] = []
        self.fails_with: Exception | None = None

    async def open(self, opening: Opening) -> PythonSession:
        if self.fails_with is not None:
            raise self.fails_with
        return ScriptedSession(self.turns.pop(0))


class ScriptedSession(PythonSession):
    def __init__(self, turn: Scripted) -> None:
        super().__init__(lambda turn: None)
        self._turn = turn

    async def start(self, turn: Turn) -> PythonTurn:
        return cast(PythonTurn, self._turn)


class Stage:
    """An engine with one agent, as its only client."""

    def __init__(self, engine: Engine, store: FailingStore) -> None:
        self.engine, self.store = engine, store
        self.driver = ScriptedDriver()
        definition = AgentDefinition(
            id="scripted", driver="python", entry="a:b", identity=Identity(name="Scripted"), source=Path("a.toml")
        )
        self._agent = Agent(definition, self.driver)

    async def send(self, run_id: str, *, thread: str = "t", resume: tuple[Answer, ...] = ()) -> Run:
        return await self.engine.start(self._agent, Turn(thread, run_id, resume=resume), "me")

    async def play(self, run_id: str, **fields: Any) -> list[Wire]:
        return await read_events((await self.send(run_id, **fields)).log.follow())


async def read_events(reader: Reader) -> list[Wire]:
    found: list[Wire] = []
    while chunks := await reader.next():
        found += [orjson.loads(line) for chunk in chunks for line in chunk.lines]
    return accepted(found)


@asynccontextmanager
async def stage(tmp_path: Path, **settings: Any) -> AsyncIterator[Stage]:
    store = FailingStore()
    await store.start()
    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            configured = Settings(workspace=(tmp_path,), cancel_grace=0.1, **settings)
            yield Stage(Engine(configured, store, tasks, SessionPool(configured, tasks)), store)
            tasks.cancel_scope.cancel()


async def test_a_run_that_cannot_be_stored_is_refused_and_leaves_the_thread_free(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        on.driver.turns = [Scripted([TextMessageContent("a")])]
        on.store.fails = frozenset(("begin",))
        with pytest.raises(StoreError, match="the disk is full"):
            await on.send("r1")
        assert on.engine.live_runs == 0
        on.store.fails = frozenset()
        assert (await on.play("r1"))[-1]["type"] == "RUN_FINISHED"


@pytest.mark.parametrize("fails", ["begin", "save_thread"])
async def test_an_answer_that_cannot_be_stored_is_not_lost_on_the_turn_that_waits(tmp_path: Path, fails: str) -> None:
    async with stage(tmp_path) as on:
        on.driver.turns = [waiting := Scripted([INTERRUPTED], None, [TextMessageContent("thanks")])]
        assert (await on.play("r1"))[-1]["outcome"]["type"] == "interrupt"
        on.store.fails = frozenset((fails,))
        with pytest.raises(StoreError):
            await on.send("r2", resume=YES)
        on.store.fails = frozenset()
        assert (waiting.answers, waiting.closed) == (None, 0)
        events = await on.play("r3", resume=YES)
        assert waiting.answers == {"q": YES[0]}
        assert [event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT"] == ["thanks"]
        assert waiting.closed == 1


async def test_a_question_that_cannot_be_stored_ends_the_turn(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        on.driver.turns = [interrupted := Scripted([TextMessageContent("a"), INTERRUPTED], None)]
        run = await on.send("r1")
        on.store.fails = frozenset(("save_thread",))
        events = await read_events(run.log.follow())
        assert events[-1]["code"] == "STORE_ERROR"
        assert interrupted.closed == 1, "no client could ever answer it"


@pytest.mark.parametrize(
    ("error", "code"),
    [(AgentFault("not today", code="NOT_TODAY"), "NOT_TODAY"), (ValueError("a defect"), "INTERNAL_ERROR")],
)
async def test_an_agent_that_cannot_be_opened_fails_the_run(
    tmp_path: Path, error: Exception, code: str, caplog: pytest.LogCaptureFixture
) -> None:
    async with stage(tmp_path) as on:
        on.driver.fails_with = error
        assert (await on.play("r1"))[-1]["code"] == code
        assert on.engine.live_runs == 0
    assert ("a defect" in caplog.text) == (code == "INTERNAL_ERROR"), "a defect of the gateway is for its operator"


async def test_a_gateway_that_is_torn_down_leaves_no_run_without_an_end(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        on.driver.turns = [live := Scripted([TextMessageContent("a")], None)]
        run = await on.send("r1")
        reader = run.log.follow()
        await reader.next()
    with anyio.fail_after(LIMIT):
        events = await read_events(run.log.follow())
    assert events[-1]["code"] == "GATEWAY_STOPPING"
    assert live.closed == 1
    record = await on.store.run("r1", "me")
    assert record is not None
    assert record.status == "failed"


async def test_while_it_drains_it_takes_nothing_and_ends_what_waits(tmp_path: Path) -> None:
    async with stage(tmp_path, shutdown_grace=0) as on:
        on.driver.turns = [interrupted := Scripted([INTERRUPTED], None), Scripted([TextMessageContent("a")], None)]
        await on.play("r1")
        run = await on.send("r2", thread="u")
        await run.log.follow().next()
        await on.engine.drain()
        assert (await read_events(run.log.follow()))[-1]["code"] == "GATEWAY_STOPPING"
        assert interrupted.closed == 1
        with pytest.raises(Busy):
            await on.send("r3", thread="v")


async def test_a_second_run_waits_for_one_that_is_ending_and_for_no_other(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        on.driver.turns = [Scripted([TextMessageContent("a")], None), Scripted([TextMessageContent("b")])]
        first = await on.send("r1")
        with pytest.raises(Conflict):
            await on.send("r2")
        await first.log.follow().next()
        await on.engine.stop(first)
        events = await on.play("r2")
        assert [event["delta"] for event in events if event["type"] == "TEXT_MESSAGE_CONTENT"] == ["b"]
        assert (await read_events(first.log.follow()))[-1]["outcome"] == {"type": "cancelled"}


async def test_no_more_runs_are_live_than_may_be(tmp_path: Path) -> None:
    async with stage(tmp_path, max_runs=1) as on:
        on.driver.turns = [Scripted(None), Scripted([TextMessageContent("b")])]
        first = await on.send("r1")
        with pytest.raises(Busy, match="max_runs"):
            await on.send("r2", thread="u")
        await first.prompted.wait()  # the driver has given it the first turn
        await on.engine.stop(first)
        await first.over.wait()
        assert (await on.play("r2", thread="u"))[-1]["type"] == "RUN_FINISHED"


async def test_a_log_that_breaks_the_order_does_not_keep_the_next_gateway_from_starting(tmp_path: Path) -> None:
    async with stage(tmp_path) as on:
        on.driver.turns = [Scripted([TextMessageContent("a")], None)]
        run = await on.send("r1")
        await run.log.follow().next()
        await run.log.append([{"type": "TEXT_MESSAGE_END", "messageId": "never-opened"}])
        assert await on.engine.recover() == 1
        record = await on.store.run("r1", "me")
        assert record is not None
        assert record.status == "lost"
