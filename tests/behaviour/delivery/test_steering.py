"""Messages for the turn under way: delivered when the agent has taken them up, and else not lost, and not twice."""

from __future__ import annotations

import pytest

from gateway.errors import AgentFault
from gateway.events import TextMessageContent
from gateway.store.deliveries import DeliveryRecord, EventBatch
from gateway.store.memory import MemoryStore
from tests.behaviour.delivery.in_process import Played, scene, soon

pytestmark = pytest.mark.anyio


async def test_a_message_that_the_turn_takes_up_is_delivered_in_its_run() -> None:
    async with scene() as on:
        run = await on.run("live")
        turn = await on.turn(0)
        receipt = await on.post("m", "next-tool-call")
        assert (receipt.status, receipt.run_id) == ("accepted", "live")
        assert turn.steered == ["m"]
        turn.accept("m")
        assert await on.fate("m") == "delivered"
        turn.end()
        await run.over.wait()
        assert (await on.record("m")).run_id == "live"
        history, _ = await on.gateway.engine.history(on.thread)
        assert [(one["role"], one["content"]) for one in history.messages] == [
            ("user", "live"),
            ("user", "words"),
            ("assistant", "I read it. "),
        ]
        assert await on.receipts("m") == ["accepted", "delivered"]
        received = [note for note in await on.notes() if note["type"] == "message.received"]
        assert [(note["messageId"], note.get("deliveryId")) for note in received] == [
            ("message-of-live", None),
            ("m", "m"),
        ]
        assert len(on.driver.turns) == 1


async def test_a_turn_that_ends_without_it_leaves_it_for_a_run_of_its_own() -> None:
    async with scene() as on:
        await on.run("live")
        turn = await on.turn(0)
        await on.post("m", "next-tool-call")
        turn.end()
        own = await on.turn(1)
        assert own.turn.messages[-1]["id"] == "m"
        assert await on.fate("m") == "delivered"
        assert await on.receipts("m") == ["accepted", "deferred", "delivered"]
        deferred = next(note for note in await on.notes() if note["type"] == "delivery.deferred")
        assert deferred["reason"].startswith("the turn ended before it took the message up")
        own.end()


async def test_a_turn_that_takes_no_message_leaves_it_until_the_thread_is_idle() -> None:
    async with scene() as on:
        await on.run("live")
        turn = await on.turn(0)
        turn.takes = False
        receipt = await on.post("m", "next-tool-call")
        assert (receipt.status, receipt.mode) == ("deferred", "on-idle")
        turn.end()
        assert (await on.turn(1)).turn.messages[-1]["id"] == "m"


async def test_an_agent_that_fails_over_it_leaves_it_until_the_thread_is_idle(monkeypatch: pytest.MonkeyPatch) -> None:
    async def fails(self: Played, message_id: str, text: str) -> bool:
        raise AgentFault("not now")

    monkeypatch.setattr(Played, "steer", fails)
    async with scene() as on:
        await on.run("live")
        turn = await on.turn(0)
        assert (await on.post("m", "next-tool-call")).status == "deferred"
        turn.end()
        assert await on.fate("m") == "delivered"


async def test_on_an_idle_thread_it_begins_a_run() -> None:
    async with scene() as on:
        receipt = await on.post("m", "next-tool-call")
        assert (await on.turn(0)).turn.run_id == receipt.run_id
        assert await on.fate("m") == "delivered"


async def test_several_are_taken_up_in_their_order_and_those_left_over_come_after() -> None:
    async with scene() as on:
        await on.run("live")
        turn = await on.turn(0)
        for name in ("a", "b", "c"):
            await on.post(name, "next-tool-call")
        assert turn.steered == ["a", "b", "c"]
        turn.accept("a")
        assert await on.fate("a") == "delivered"
        turn.end()
        for number, name in enumerate(("b", "c"), 1):
            own = await on.turn(number)
            assert own.turn.messages[-1]["id"] == name
            own.end()
        assert [await on.fate(name) for name in ("a", "b", "c")] == ["delivered"] * 3


async def test_one_that_interrupts_ends_the_turn_and_those_it_did_not_hear_come_after() -> None:
    async with scene() as on:
        await on.run("live")
        turn = await on.turn(0)
        await on.post("patient", "next-tool-call")
        await on.post("urgent", "immediate")
        assert turn.over
        first = await on.turn(1)
        assert first.turn.messages[-1]["id"] == "urgent"
        first.end()
        assert (await on.turn(2)).turn.messages[-1]["id"] == "patient"
        assert await on.fate("patient") == "delivered"


async def test_while_the_turn_speaks_nothing_else_of_it_is_disturbed() -> None:
    async with scene() as on:
        run = await on.run("live")
        turn = await on.turn(0)
        turn.say(TextMessageContent("one "))
        await on.post("m", "next-tool-call")
        turn.accept("m")
        turn.say(TextMessageContent("two"))
        turn.end()
        await run.over.wait()
        history, _ = await on.gateway.engine.history(on.thread)
        assert [one["content"] for one in history.messages] == ["live", "one ", "words", "I read it. two"]


# -- a gateway that ends meanwhile


async def test_what_a_turn_did_not_hear_before_the_gateway_stopped_is_delivered_by_the_next() -> None:
    store = Kept()
    async with scene(store) as on:
        await on.run("live")
        await on.turn(0)
        assert (await on.post("m", "next-tool-call")).status == "accepted"
    assert [(one.status, one.mode) for one in await store.left()] == [("deferred", "on-idle")]
    async with scene(store) as on:
        assert (await on.turn(0)).turn.messages[-1]["id"] == "m"
        assert await on.fate("m") == "delivered"


async def test_what_a_turn_accepted_right_before_the_gateway_died_is_not_delivered_again() -> None:
    store = Kept()
    async with scene(store) as on:
        await on.run("live")
        turn = await on.turn(0)
        await on.post("m", "next-tool-call")
        record = await on.record("m")
        turn.accept("m")
        assert await on.fate("m") == "delivered"
        store.frozen = record  # the receipt is what died with it
    await store.thaw()
    async with scene(store) as on:
        assert await on.fate("m") == "delivered"
        await soon(lambda: not on.gateway.dispatcher.has_queued(on.thread))
        assert on.driver.turns == []


class Kept(MemoryStore):
    """A store in memory that outlives its house."""

    frozen: DeliveryRecord | None = None

    async def left(self) -> list[DeliveryRecord]:
        await self.start()
        return await self.deliveries.waiting()

    async def thaw(self) -> None:
        await self.start()
        if self.frozen is not None:
            await self.deliveries.save(self.frozen, EventBatch([], 0.0, 100))
