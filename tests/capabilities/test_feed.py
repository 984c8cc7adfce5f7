"""The feed alone, with a world of the test's own: who is told what, and what it costs."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import anyio
import jsonpatch
import orjson
import pytest
from anyio.lowlevel import checkpoint

from gateway.capabilities.feed import WAKE_BATCH, ChangeSignal, Feed, Watcher
from gateway.capabilities.versions import FeedEvent, Key, RenderedSnapshot
from gateway.errors import Busy, GatewayError, NotFound
from tests.capabilities.layer_builders import render_json

pytestmark = pytest.mark.anyio

LIMIT = 10.0
OTTER = Key("otter")


class FakeSource:
    """Agents with facts, each key with more of its own. It counts who looks."""

    def __init__(self) -> None:
        self.agents: dict[str, Any] = {"otter": {"tools": 1}, "beaver": {}}
        self.threads: dict[str, Any] = {}
        self.rendered: list[Key] = []
        self.kept_fresh: list[str] = []
        self.fact_reads = 0
        self.defect: Exception | None = None

    async def read_agent_facts(self, agent: str) -> Any:
        self.fact_reads += 1
        if agent not in self.agents:
            raise NotFound(f"there is no {agent}", code="UNKNOWN_AGENT")
        return dict(self.agents[agent])

    def read_key_facts(self, key: Key) -> Any:
        return self.threads.get(key.thread or "")

    async def render(self, key: Key) -> RenderedSnapshot:
        self.rendered.append(key)
        if self.defect is not None:
            raise self.defect
        if key.agent not in self.agents:
            raise NotFound(f"there is no {key.agent}", code="UNKNOWN_AGENT")
        return render_json({"agent": self.agents[key.agent], "thread": self.read_key_facts(key)})

    async def keep_fresh(self, agent: str, on_fresh: Callable[[], None]) -> None:
        self.kept_fresh.append(agent)
        on_fresh()
        try:
            await anyio.sleep_forever()
        finally:
            self.kept_fresh.remove(agent)


class Stage:
    def __init__(self, source: FakeSource, feed: Feed, changes: ChangeSignal) -> None:
        self.source = source
        self.feed = feed
        self.changes = changes

    def change(self, agent: str = "otter", **facts: Any) -> None:
        self.source.agents[agent] |= facts
        self.changes.touch(agent)


@asynccontextmanager
async def staged(max_watchers: int = 2000) -> AsyncIterator[Stage]:
    source, changes = FakeSource(), ChangeSignal()
    with anyio.fail_after(LIMIT):
        async with anyio.create_task_group() as tasks:
            yield Stage(source, Feed(source, changes, tasks, max_watchers), changes)
            tasks.cancel_scope.cancel()


async def read_event(watcher: Watcher) -> tuple[str, Any]:
    event = await watcher.next()
    assert event is not None
    return event.name, orjson.loads(event.data)


def count_watchers(feed: Feed) -> dict[Key, int]:
    """Keys that are watched, and the number of their watchers."""
    return {key: len(one.watchers) for watch in feed._watches.values() for key, one in watch.channels.items()}


async def until(condition: Callable[[], bool]) -> None:
    while not condition():
        await checkpoint()


# -- what a watcher is told


async def test_first_comes_the_snapshot_then_what_changes() -> None:
    async with staged() as stage, stage.feed.watch(OTTER) as watcher:
        name, first = await read_event(watcher)
        assert (name, first["capabilities"]) == ("snapshot", {"agent": {"tools": 1}, "thread": None})
        stage.change(tools=2, state=True)
        name, second = await read_event(watcher)
    assert (name, second["capabilities"]["agent"]) == ("change", {"tools": 2, "state": True})
    assert second["version"] == render_json(second["capabilities"]).version != first["version"]
    assert jsonpatch.apply_patch(first["capabilities"], second["patch"]) == second["capabilities"]


async def test_a_change_without_a_signal_is_found_too() -> None:
    async with staged() as stage, stage.feed.watch(OTTER) as watcher:
        await read_event(watcher)
        stage.source.agents["otter"]["tools"] = 7
        assert (await read_event(watcher))[1]["patch"] == [{"op": "replace", "path": "/agent/tools", "value": 7}]


async def test_changes_that_follow_each_other_closely_are_one() -> None:
    async with staged() as stage, stage.feed.watch(OTTER) as watcher:
        await read_event(watcher)
        for number in range(5):
            stage.change(tools=10 + number)
            await checkpoint()
        event = await read_event(watcher)
        stage.change(tools=20)
        last = await read_event(watcher)
    assert [change["capabilities"]["agent"]["tools"] for _, change in (event, last)] == [14, 20]


async def test_a_change_that_is_taken_back_is_none() -> None:
    async with staged() as stage, stage.feed.watch(OTTER) as watcher:
        await read_event(watcher)
        stage.change(tools=2)
        stage.change(tools=1)
        stage.change("beaver", tools=3)
        stage.change(tools=5)
        _, event = await read_event(watcher)
    assert event["patch"] == [{"op": "replace", "path": "/agent/tools", "value": 5}]


async def test_a_slow_watcher_gets_the_newest_as_a_patch_from_its_own_last() -> None:
    async with staged() as stage, stage.feed.watch(OTTER) as slow, stage.feed.watch(OTTER) as quick:
        _, known = await read_event(slow)
        await read_event(quick)
        for number in range(3):
            stage.change(tools=10 + number)
            await read_event(quick)
        name, event = await read_event(slow)
    assert (name, event["capabilities"]["agent"]["tools"]) == ("change", 12)
    assert jsonpatch.apply_patch(known["capabilities"], event["patch"]) == event["capabilities"]


async def test_each_key_has_its_own_facts() -> None:
    own_key, other = Key("otter", "mine", "ann"), Key("otter", "other", "ann")
    async with staged() as stage, stage.feed.watch(own_key) as one, stage.feed.watch(other) as two:
        await read_event(one)
        await read_event(two)
        rendered = len(stage.source.rendered)
        stage.source.threads["mine"] = {"mode": "auto"}
        assert (await read_event(one))[1]["capabilities"]["thread"] == {"mode": "auto"}
        assert stage.source.rendered[rendered:] == [own_key]


# -- coming back


async def numbered(feed: Feed, after: int | None = None) -> FeedEvent:
    async with feed.watch(OTTER, after) as watcher:
        event = await watcher.next()
        assert event is not None
        return event


async def test_a_watcher_that_reconnects_gets_the_difference() -> None:
    async with staged() as stage:
        first = await numbered(stage.feed)
        stage.change(tools=2)
        again = await numbered(stage.feed, first.number)
    assert (again.name, again.number > first.number) == ("change", True)
    assert orjson.loads(again.data)["patch"] == [{"op": "replace", "path": "/agent/tools", "value": 2}]


async def test_a_watcher_that_missed_nothing_waits_for_the_next_change() -> None:
    async with staged() as stage:
        first = await numbered(stage.feed)
        async with stage.feed.watch(OTTER, first.number) as watcher:
            stage.change(tools=2)
            name, event = await read_event(watcher)
    assert (name, event["capabilities"]["agent"]["tools"]) == ("change", 2)


@pytest.mark.parametrize("number", [0, 7, 10**14])
async def test_an_unknown_number_brings_a_snapshot(number: int) -> None:
    async with staged() as stage:
        assert (await numbered(stage.feed, number)).name == "snapshot"


# -- what it costs


async def test_a_thousand_watchers_cost_one_look_and_one_encoding() -> None:
    seen: list[FeedEvent | None] = []

    async def watch(feed: Feed) -> None:
        async with feed.watch(OTTER) as watcher:
            await watcher.next()
            seen.append(await watcher.next())

    async with staged() as stage, anyio.create_task_group() as tasks, stage.feed.watch(OTTER):
        for _ in range(1000):
            tasks.start_soon(watch, stage.feed)
        await until(lambda: count_watchers(stage.feed)[OTTER] == 1001)
        rendered = len(stage.source.rendered)
        stage.change(tools=2)
        await until(lambda: len(seen) == 1000)
        assert len(stage.source.rendered) == rendered + 1
    assert len({id(event) for event in seen}) == 1


async def test_others_have_their_turn_while_many_are_woken() -> None:
    order: list[str] = []

    async def watch(feed: Feed) -> None:
        async with feed.watch(OTTER) as watcher:
            await watcher.next()
            await watcher.next()
            order.append("watcher")

    async def work() -> None:
        while order.count("watcher") < 4 * WAKE_BATCH:
            order.append("other")
            await checkpoint()

    async with staged() as stage, anyio.create_task_group() as tasks:
        for _ in range(4 * WAKE_BATCH):
            tasks.start_soon(watch, stage.feed)
        await until(lambda: count_watchers(stage.feed).get(OTTER) == 4 * WAKE_BATCH)
        stage.change(tools=2)
        await work()
    first, last = order.index("watcher"), len(order) - order[::-1].index("watcher")
    assert order[first:last].count("other") >= 3


async def test_a_key_without_watchers_costs_nothing() -> None:
    async with staged() as stage:
        async with stage.feed.watch(OTTER), stage.feed.watch(Key("otter", "t", "ann")):
            assert stage.source.kept_fresh == ["otter"]
        await until(lambda: not stage.source.kept_fresh)
        fact_reads, rendered = stage.source.fact_reads, len(stage.source.rendered)
        stage.change(tools=3)
        async with stage.feed.watch(Key("beaver")) as other:
            await read_event(other)
            stage.change("beaver", tools=1)
            await read_event(other)
            assert count_watchers(stage.feed) == {Key("beaver"): 1}
        assert [key.agent for key in stage.source.rendered[rendered:]] == ["beaver", "beaver"]
        assert stage.source.fact_reads > fact_reads
    assert count_watchers(stage.feed) == {}


async def test_there_are_only_so_many_watchers() -> None:
    async with staged(max_watchers=2) as stage, stage.feed.watch(OTTER):
        async with stage.feed.watch(Key("beaver")):
            with pytest.raises(Busy, match="max_watchers"):
                await numbered(stage.feed)
        assert (await numbered(stage.feed)).name == "snapshot"  # one has left


async def test_a_touch_without_a_waiter_is_counted() -> None:
    changes = ChangeSignal()
    beat = changes.count("otter")
    changes.touch("otter")
    with anyio.fail_after(LIMIT):
        await changes.wait("otter", beat, 60)  # at once: it was touched since
    with anyio.move_on_after(0.01) as scope:
        await changes.wait("otter", changes.count("otter"), 60)
    assert scope.cancelled_caught


# -- the end


async def test_the_feed_of_a_removed_agent_ends_with_the_reason() -> None:
    async with staged() as stage, stage.feed.watch(OTTER) as watcher:
        await read_event(watcher)
        del stage.source.agents["otter"]
        stage.changes.touch("otter")
        name, problem = await read_event(watcher)
        assert (name, problem["code"]) == ("removed", "UNKNOWN_AGENT")
        assert await watcher.next() is None
        assert count_watchers(stage.feed) == {}


async def test_an_agent_that_is_not_there_cannot_be_watched() -> None:
    async with staged() as stage:
        with pytest.raises(NotFound):
            async with stage.feed.watch(Key("nobody")):
                raise AssertionError("unreachable")
        await until(lambda: not stage.source.kept_fresh)


async def test_a_defect_ends_the_streams_of_its_agent_and_no_other(caplog: pytest.LogCaptureFixture) -> None:
    async with staged() as stage, stage.feed.watch(OTTER) as watcher, stage.feed.watch(Key("beaver")) as other:
        await read_event(watcher)
        await read_event(other)
        stage.source.defect = RuntimeError("a defect")
        stage.change(tools=2)
        assert (await read_event(watcher))[1]["code"] == "INTERNAL_ERROR"
        stage.source.defect = None
        stage.change("beaver", tools=4)
        assert (await read_event(other))[1]["capabilities"]["agent"] == {"tools": 4}
        assert (await numbered(stage.feed)).name == "snapshot"
    assert "a defect" in caplog.text


async def test_when_the_gateway_stops_every_stream_ends_and_none_begins() -> None:
    async with staged() as stage, stage.feed.watch(OTTER) as watcher:
        await read_event(watcher)
        stage.feed.close()
        assert await watcher.next() is None
        with pytest.raises(Busy):
            await numbered(stage.feed)
        await until(lambda: not stage.source.kept_fresh)


async def test_a_watcher_that_was_cancelled_may_wait_again() -> None:
    async with staged() as stage, stage.feed.watch(OTTER) as watcher:
        await read_event(watcher)
        with anyio.move_on_after(0.01) as scope:
            await watcher.next()
        assert scope.cancelled_caught
        stage.change(tools=2)
        assert (await read_event(watcher))[0] == "change"


async def test_a_key_without_a_snapshot_any_more_ends_with_the_reason() -> None:
    async with staged() as stage, stage.feed.watch(OTTER) as watcher:
        await read_event(watcher)
        stage.source.defect = GatewayError("nothing to see", code="NO_VIEW")
        stage.change(tools=2)
        assert await read_event(watcher) == ("removed", GatewayError("nothing to see", code="NO_VIEW").problem())
