"""A turn that announces changed capabilities: when it checks, what it sends, and that it keeps no event back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

import anyio
import jsonpatch
import orjson
import pytest

from gateway.capabilities.agent_facts import SnapshotBasis
from gateway.capabilities.versions import RenderedSnapshot
from gateway.drivers import LiveTurn
from gateway.errors import NotFound
from gateway.events import Custom, Event, Layer, TextMessageContent, TurnEnded
from gateway.runs import capability_events
from gateway.runs.capability_events import NAME, read_before_turn, with_announcements
from gateway.turn import Answer
from tests.capabilities.layer_builders import render_json

pytestmark = pytest.mark.anyio

MODE = Custom("session.mode", {"mode": "auto"})


@dataclass(frozen=True)
class Basis:
    """What a snapshot of the test's world depends on."""

    facts: dict[str, Any]
    session_layer: Layer | None


class World:
    """An agent and a session whose snapshot the test changes."""

    def __init__(self) -> None:
        self.agent: dict[str, Any] = {"tools": True}
        self.session: dict[str, Any] | None = None
        self.is_removed = self.hangs = False

    async def read_basis(self) -> SnapshotBasis:
        if self.hangs:
            await anyio.sleep_forever()
        if self.is_removed:
            raise NotFound("it is gone")
        return self.basis()

    def basis(self) -> SnapshotBasis:
        return cast(SnapshotBasis, Basis(dict(self.agent), None if self.session is None else dict(self.session)))

    def render(self, basis: SnapshotBasis) -> RenderedSnapshot:
        return render_json({"agent": basis.facts, "session": basis.session_layer})

    def rendered(self) -> RenderedSnapshot:
        return self.render(self.basis())


class Scripted:
    """A turn that returns these batches."""

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


async def begin(world: World, *batches: list[Event]) -> LiveTurn:
    return with_announcements(Scripted(*batches), await read_before_turn(world))


async def test_a_session_that_is_opened_is_announced_before_the_first_batch() -> None:
    world = World()
    before = orjson.loads(world.rendered().body)
    turn = await begin(world, [TextMessageContent("hello")], [TextMessageContent(" you")])
    world.session = {"custom.session.modes.current": "ask"}
    announcement, text = await turn.next()
    assert isinstance(announcement, Custom)
    after = world.rendered()
    assert (announcement.name, announcement.value["version"], text) == (
        NAME,
        after.version,
        TextMessageContent("hello"),
    )
    assert jsonpatch.apply_patch(before, announcement.value["patch"]) == orjson.loads(after.body)
    assert await turn.next() == [TextMessageContent(" you")]


async def test_a_turn_that_changes_nothing_is_handed_on_as_it_is() -> None:
    batch: list[Event] = [TextMessageContent("hello"), TurnEnded()]
    turn = await begin(World(), batch)
    assert await turn.next() is batch
    assert await turn.next() == []


async def test_text_is_not_checked_and_what_the_agent_reports_of_its_session_is() -> None:
    world = World()
    turn = await begin(
        world, [TextMessageContent("one")], [TextMessageContent("two")], [TextMessageContent("three")], [MODE]
    )
    await turn.next()
    world.session = {"custom.session.modes.current": "auto"}
    assert [len(await turn.next()) for _ in range(2)] == [1, 1]
    announcement, mode = await turn.next()
    assert (isinstance(announcement, Custom) and announcement.name, mode) == (NAME, MODE)


async def test_the_last_batch_announces_what_was_not_announced_yet() -> None:
    world = World()
    turn = await begin(world, [TextMessageContent("word")], [TextMessageContent("last"), TurnEnded()])
    await turn.next()
    world.agent["tools"] = False
    announcement, _, end = await turn.next()
    assert (isinstance(announcement, Custom) and announcement.name, end) == (NAME, TurnEnded())


async def test_what_changes_all_the_time_is_no_change() -> None:
    world = World()
    world.session = {"custom.session.usage.used": 1, "custom.session.info.title": "A"}
    turn = await begin(world, [TextMessageContent("word")], [Custom("session.usage", {"used": 2})])
    await turn.next()
    world.session = {"custom.session.usage.used": 2, "custom.session.info.title": "B", "custom.session.usage.size": 3}
    assert await turn.next() == [Custom("session.usage", {"used": 2})]


async def test_each_patch_leads_on_from_the_one_before() -> None:
    world = World()
    turn = await begin(world, [MODE], [MODE], [MODE])
    known = orjson.loads(world.rendered().body)
    for mode in ("ask", "auto", "ask"):
        world.session = {"custom.session.modes.current": mode}
        announcement, _ = await turn.next()
        assert isinstance(announcement, Custom)
        known = jsonpatch.apply_patch(known, announcement.value["patch"])
    assert known == orjson.loads(world.rendered().body)


async def test_an_agent_that_is_removed_meanwhile_does_not_fail_the_run() -> None:
    world = World()
    turn = await begin(world, [MODE], [MODE])
    world.is_removed = True
    assert [await turn.next() for _ in range(3)] == [[MODE], [MODE], []]


async def test_an_agent_that_takes_too_long_is_not_read_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(capability_events, "READ_TIMEOUT_SECONDS", 0.01)
    world = World()
    turn = await begin(world, [MODE], [MODE])
    world.hangs = True
    with anyio.fail_after(5):
        assert [await turn.next() for _ in range(2)] == [[MODE], [MODE]]
        assert await read_before_turn(world) is None


async def test_a_batch_survives_a_reader_that_was_cancelled() -> None:
    world = World()
    turn = await begin(world, [MODE], [TextMessageContent("next")])
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
    turn = with_announcements(live, await read_before_turn(World()))
    answers = {"q": Answer("q", "cancelled")}
    await turn.answer(answers)
    await turn.cancel()
    await turn.aclose()
    assert (live.answers, live.cancelled, live.closed) == (answers, True, True)


async def test_without_a_reader_the_turn_is_not_wrapped() -> None:
    live = Scripted()
    assert with_announcements(live, await read_before_turn(None)) is live
