"""However posts, runs and their ends interleave: every message reaches the agent once, with one final receipt."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from contextlib import suppress

import anyio
from anyio.lowlevel import checkpoint
from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.errors import Conflict
from gateway.events import TextMessageContent, UserMessageAccepted
from tests.behaviour.delivery.in_process import Played, Scene, scene

MODES = ("on-idle", "immediate", "next-tool-call")

STEP = st.one_of(
    st.tuples(st.just("post"), st.sampled_from(MODES)),
    st.tuples(st.just("run"), st.just("")),
    st.tuples(st.sampled_from(["end", "hear", "talk", "deafen"]), st.just("")),
    st.tuples(st.just("wait"), st.sampled_from(["a little", "long"])),
)


class Player:
    """Does as the steps say; whatever it leaves open is ended afterwards."""

    def __init__(self, on: Scene) -> None:
        self._on = on
        self.posted: list[tuple[str, str]] = []
        self.accepted: list[str] = []
        self._runs = 0

    async def play(self, steps: Sequence[tuple[str, str]]) -> None:
        async with anyio.create_task_group() as tasks:
            for step, what in steps:
                match step:
                    case "post":
                        name = f"m{len(self.posted)}"
                        self.posted.append((name, what))
                        tasks.start_soon(self._on.post, name, what)
                        await checkpoint()
                    case "run":
                        await self._run()
                    case "wait":
                        await anyio.sleep(0.0 if what == "a little" else 0.01)
                    case _:
                        self._turn(step)
            tasks.start_soon(self._end_all)

    async def _run(self) -> None:
        self._runs += 1
        with suppress(Conflict):
            await self._on.run(f"r{self._runs}")

    def _turn(self, step: str) -> None:
        if not self._on.driver.turns:
            return
        turn = self._on.driver.turns[-1]
        match step:
            case "end":
                turn.end()
            case "talk":
                turn.say(TextMessageContent("word "))
            case "deafen":
                turn.takes = False
            case "hear" if left := [name for name in turn.steered if name not in self.accepted]:
                self.accepted.append(left[0])
                turn.say(UserMessageAccepted(left[0], "words"))

    async def _end_all(self) -> None:
        """Until every message has its fate."""
        while True:
            for turn in self._on.driver.turns:
                turn.end()
            records = [
                await self._on.gateway.store.deliveries.delivery(self._on.thread, name) for name, _ in self.posted
            ]
            if all(record is not None and record.status in ("delivered", "failed") for record in records):
                return
            await anyio.sleep(0.001)


async def interleaved(steps: Sequence[tuple[str, str]]) -> None:
    async with scene() as on:
        player = Player(on)
        await player.play(steps)
        begun = Counter(turn.turn.messages[-1]["id"] for turn in on.driver.turns)
        accepted = Counter(name for turn in on.driver.turns for name in really_accepted(turn, player))
        fates = {name: (await on.record(name)).status for name, _ in player.posted}
        assert set(fates.values()) <= {"delivered"}, fates
        for name, _ in player.posted:
            assert (name in begun) or (name in accepted), "it was given to the agent"
            assert begun[name] <= 1, "and once"
            receipts = await on.receipts(name)
            assert receipts[0] == "accepted" and receipts.count("delivered") == 1 and receipts[-1] == "delivered"
        patient = [name for name, mode in player.posted if mode == "on-idle"]
        assert [name for name in begun if name in patient] == patient, "in their order"
        history, _ = await on.gateway.engine.history(on.thread)
        stored = Counter(one["id"] for one in history.messages if one["role"] == "user")
        assert all(stored[name] == 1 for name, _ in player.posted), "and it stands in the conversation once"


def really_accepted(turn: Played, player: Player) -> list[str]:
    return [name for name in turn.steered if name in player.accepted]


@settings(deadline=None, max_examples=60)
@given(st.lists(STEP, max_size=25))
def test_nothing_is_lost_and_nothing_comes_twice(steps: list[tuple[str, str]]) -> None:
    anyio.run(interleaved, steps)
