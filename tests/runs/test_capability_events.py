"""A turn that tells of changes: when it looks, what it tells, and that it keeps nothing of its agent's from the run."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import anyio
import jsonpatch
import orjson
import pytest

from gateway.capabilities.versions import Key, RenderedSnapshot
from gateway.drivers import LiveTurn
from gateway.errors import NotFound
from gateway.events import Custom, Event, TextMessageContent, TurnEnded
from gateway.runs import capability_events
from gateway.runs.capability_events import NAME, notice, telling
from gateway.runs.thread_state import ThreadKey
from gateway.turn import Answer
from tests.capabilities.layer_builders import render_json

pytestmark = pytest.mark.anyio

THREAD = ThreadKey("otter", "t", "ann")
MODE = Custom("session.mode", {"mode": "auto"})


class World:
    def __init__(self) -> None:
        self.agent: dict[str, Any] = {"tools": True}
        self.session: dict[str, Any] | None = None
        self.looks = 0
        self.gone = self.hangs = False

    async def read_agent_facts(self, agent: str) -> Any:
        if self.hangs:
            await anyio.sleep_forever()
        if self.gone:
            raise NotFound("it is gone")
        return dict(self.agent)

    def read_key_facts(self, key: Key) -> Any:
        assert (key.agent, key.thread, key.principal) == THREAD
        return None if self.session is None else dict(self.session)

    async def render(self, key: Key) -> RenderedSnapshot:
        self.looks += 1
        return render_json({"agent": self.agent, "session": self.session})

    async def keep_fresh(self, agent: str, looked: Callable[[], None]) -> None:
        raise AssertionError("a run does not attend")


class Scripted:
    """A turn whose batches are given."""

    def __init__(self, *batches: list[Event]) -> None:
        self._batches = list(batches)
        self.closed = self.cancelled = False
        self.steered: tuple[str, str] | None = None
        self.answers: Mapping[str, Answer] = {}

    async def next(self) -> list[Event]:
        return self._batches.pop(0) if self._batches else []

    async def answer(self, answers: Mapping[str, Answer]) -> None:
        self.answers = answers

    async def steer(self, message_id: str, text: str) -> bool:
        self.steered = (message_id, text)
        return True

    async def cancel(self) -> None:
        self.cancelled = True

    async def aclose(self) -> None:
        self.closed = True


async def told(world: World, *batches: list[Event]) -> LiveTurn:
    return telling(Scripted(*batches), await notice(world, THREAD))


async def test_a_session_that_is_opened_is_told_with_the_first_batch() -> None:
    world = World()
    before = orjson.loads((await world.render(Key(*THREAD))).body)
    turn = await told(world, [TextMessageContent("hello")], [TextMessageContent(" you")])
    world.session = {"custom.session.modes.current": "ask"}
    news, word = await turn.next()
    assert isinstance(news, Custom)
    after = await world.render(Key(*THREAD))
    assert (news.name, news.value["version"], word) == (NAME, after.version, TextMessageContent("hello"))
    assert jsonpatch.apply_patch(before, news.value["patch"]) == orjson.loads(after.body)
    assert await turn.next() == [TextMessageContent(" you")]


async def test_a_turn_that_changes_nothing_is_handed_on_as_it_is() -> None:
    batch: list[Event] = [TextMessageContent("hello"), TurnEnded()]
    turn = await told(World(), batch)
    assert await turn.next() is batch
    assert await turn.next() == []


async def test_text_is_not_looked_at_and_what_the_agent_tells_of_itself_is() -> None:
    world = World()
    turn = await told(
        world, [TextMessageContent("one")], [TextMessageContent("two")], [TextMessageContent("three")], [MODE]
    )
    await turn.next()
    world.session = {"custom.session.modes.current": "auto"}
    assert [len(await turn.next()) for _ in range(2)] == [1, 1]
    news, mode = await turn.next()
    assert (isinstance(news, Custom) and news.name, mode) == (NAME, MODE)


async def test_the_last_batch_tells_what_was_not_told_yet() -> None:
    world = World()
    turn = await told(world, [TextMessageContent("word")], [TextMessageContent("last"), TurnEnded()])
    await turn.next()
    world.agent["tools"] = False
    news, _, end = await turn.next()
    assert (isinstance(news, Custom) and news.name, end) == (NAME, TurnEnded())


async def test_what_changes_all_the_time_is_no_change() -> None:
    world = World()
    world.session = {"custom.session.usage.used": 1, "custom.session.info.title": "A"}
    turn = await told(world, [TextMessageContent("word")], [Custom("session.usage", {"used": 2})])
    await turn.next()
    world.session = {"custom.session.usage.used": 2, "custom.session.info.title": "B", "custom.session.usage.size": 3}
    assert await turn.next() == [Custom("session.usage", {"used": 2})]


async def test_each_patch_leads_on_from_the_one_before() -> None:
    world = World()
    turn = await told(world, [MODE], [MODE], [MODE])
    known = orjson.loads((await world.render(Key(*THREAD))).body)
    for mode in ("ask", "auto", "ask"):
        world.session = {"custom.session.modes.current": mode}
        news, _ = await turn.next()
        assert isinstance(news, Custom)
        known = jsonpatch.apply_patch(known, news.value["patch"])
    assert known == orjson.loads((await world.render(Key(*THREAD))).body)


async def test_an_agent_that_is_removed_meanwhile_does_not_fail_the_run() -> None:
    world = World()
    turn = await told(world, [MODE], [MODE])
    world.gone = True
    assert [await turn.next() for _ in range(3)] == [[MODE], [MODE], []]


async def test_an_agent_that_takes_too_long_is_not_asked_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capability_events, "LIMIT", 0.01)
    world = World()
    turn = await told(world, [MODE], [MODE])
    world.hangs = True
    with anyio.fail_after(5):
        assert [await turn.next() for _ in range(2)] == [[MODE], [MODE]]
        assert await notice(world, THREAD) is None


async def test_a_batch_outlives_whoever_gave_up_waiting_for_it() -> None:
    world = World()
    turn = await told(world, [MODE], [TextMessageContent("next")])
    world.hangs = True
    with anyio.CancelScope() as scope:
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(turn.next)
            await anyio.wait_all_tasks_blocked()
            scope.cancel()
    world.hangs = False
    assert [await turn.next() for _ in range(3)] == [[MODE], [TextMessageContent("next")], []]


async def test_everything_else_is_the_turns_own() -> None:
    live = Scripted()
    turn = telling(live, await notice(World(), THREAD))
    answers = {"q": Answer("q", "cancelled")}
    await turn.answer(answers)
    await turn.cancel()
    await turn.aclose()
    assert (live.answers, live.cancelled, live.closed) == (answers, True, True)


async def test_where_nobody_looks_the_turn_is_left_alone() -> None:
    live = Scripted()
    assert telling(live, await notice(None, THREAD)) is live
