"""The driver of command-line agents, with a real process behind every transport."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest

from gateway.drivers import turn_base
from gateway.errors import AgentFault, NotCapable
from gateway.events import InterruptRequested, TextMessageContent, TurnEnded, TurnFailed, Warning
from gateway.turn import Answer
from gateway.wire.dialects import DIALECTS
from tests.drivers.cli.parrot_session import (
    ParrotDialect,
    PlainDialect,
    ask,
    definition,
    driving,
    opening,
    say,
    to_end,
    turn,
    until,
)

pytestmark = pytest.mark.anyio


@pytest.fixture(autouse=True)
def parrots(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DIALECTS, "parrot", ParrotDialect)
    monkeypatch.setitem(DIALECTS, "parrot-plain", PlainDialect)


def running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("transport", ["lines", "frames", "http", "websocket"])
@pytest.mark.parametrize("process", ["session", "agent"])
async def test_a_prompt_goes_in_and_its_answer_comes_out_by_every_door(
    transport: str, process: str, tmp_path: Path
) -> None:
    async with driving(definition(transport, process)) as driver:
        session = await driver.open(opening(tmp_path))
        assert session.id is not None and session.id.startswith("parrot-")
        told = await ask(session, "hello")
        assert told["said"] == "hello"
        assert (await ask(session, "again"))["pid"] == told["pid"], "one process serves the thread"
        assert (await driver.handshake_layer())["identity"]["version"] == "1.0-parrot"
        await session.aclose()
    assert not running(told["pid"])


async def test_an_agent_that_prints_one_answer_is_read_whole(tmp_path: Path) -> None:
    async with driving(definition("whole", "turn")) as driver:
        session = await driver.open(opening(tmp_path))
        assert await say(session, "hello\nyou") == "you said: hello\nyou\n"
        assert await say(session, "and again") == "you said: and again\n"


async def test_with_a_process_per_turn_every_turn_has_its_own_which_comes_back_to_the_session(tmp_path: Path) -> None:
    async with driving(definition("lines", "turn")) as driver:
        session = await driver.open(opening(tmp_path))
        first, second = await ask(session, "one"), await ask(session, "two")
        assert first["pid"] != second["pid"]
        assert "--resume" not in first["args"]
        assert second["args"] == ["--resume", session.id]
        assert second["cwd"] == str(tmp_path)


async def test_a_run_with_other_wishes_gets_another_process_that_comes_back(tmp_path: Path) -> None:
    async with driving(definition()) as driver:
        session = await driver.open(opening(tmp_path))
        first = await ask(session, "one")
        second = await ask(session, "two", model="macaw")
        assert second["pid"] != first["pid"]
        assert second["args"] == ["--model", "macaw", "--resume", session.id]
        assert (await ask(session, "three", model="macaw"))["pid"] == second["pid"]
        assert not running(first["pid"])


async def test_what_is_set_between_turns_holds_for_those_that_do_not_say_otherwise(tmp_path: Path) -> None:
    async with driving(definition()) as driver:
        session = await driver.open(opening(tmp_path))
        assert session.controls is not None
        await session.controls.set_model("macaw")
        assert "macaw" in (await ask(session, "one"))["args"]
        assert "cockatoo" in (await ask(session, "two", model="cockatoo"))["args"]
        with pytest.raises(NotCapable, match="no setting for it"):
            await session.controls.set_mode("quiet")
        assert await session.controls.fork() == "fork done"
        with pytest.raises(NotCapable):
            await session.controls.delete()


async def test_two_threads_share_a_process_and_hear_only_what_is_theirs(tmp_path: Path) -> None:
    async with driving(definition("lines", "agent")) as driver:
        one, two = await driver.open(opening(tmp_path)), await driver.open(opening(tmp_path))
        waiting = await one.start(turn("ASK"))
        await until(waiting, InterruptRequested)
        told = await ask(two, "hello")
        assert told["said"] == "hello", "a turn that waits holds up nobody else"
        await waiting.answer({"q1": Answer("q1", "resolved", {"approved": True})})
        events = await to_end(waiting)
        assert "".join(event.text for event in events if isinstance(event, TextMessageContent)).startswith("answered")
        assert (await ask(one, "who?"))["pid"] == told["pid"]
        await one.aclose()
        assert (await ask(two, "still?"))["pid"] == told["pid"]


async def test_a_question_waits_for_its_answer(tmp_path: Path) -> None:
    async with driving(definition()) as driver:
        session = await driver.open(opening(tmp_path))
        live = await session.start(turn("ASK"))
        asked = await until(live, InterruptRequested)
        assert isinstance(asked[-1], InterruptRequested)
        await live.answer({"q1": Answer("q1", "resolved", {"approved": True})})
        events = await to_end(live)
        assert events[0] == TextMessageContent('answered ["resolved", {"approved": true}]')
        assert events[-1] == TurnEnded()


async def test_a_turn_is_stopped_in_the_agents_own_way_and_the_process_goes_on(tmp_path: Path) -> None:
    async with driving(definition()) as driver:
        session = await driver.open(opening(tmp_path))
        before = await ask(session, "hello")
        live = await session.start(turn("HANG"))
        await until(live, TextMessageContent)
        await live.cancel()
        assert (await to_end(live))[-1] == TurnEnded("cancelled")
        assert (await ask(session, "hello"))["pid"] == before["pid"]


async def test_an_agent_without_a_word_for_stop_gets_a_signal(tmp_path: Path) -> None:
    async with driving(definition(params={"own_cancel": False})) as driver:
        session = await driver.open(opening(tmp_path))
        live = await session.start(turn("HANG"))
        await until(live, TextMessageContent)
        await live.cancel()
        assert (await to_end(live))[-1] == TurnEnded("cancelled")
        assert (await ask(session, "hello"))["args"] == ["--resume", session.id]


async def test_an_agent_that_does_not_stop_is_killed_and_the_next_turn_comes_back(tmp_path: Path) -> None:
    async with driving(definition("lines", "session", "--deaf", params={"own_cancel": False})) as driver:
        session = await driver.open(opening(tmp_path))
        pid = (await ask(session, "hello"))["pid"]
        live = await session.start(turn("HANG"))
        await until(live, TextMessageContent)
        await live.cancel()
        await live.aclose()
        told = await ask(session, "hello")
        assert told["args"] == ["--deaf", "--resume", session.id]
        assert not running(pid)


async def test_a_death_in_the_turn_is_told_with_the_last_words(tmp_path: Path) -> None:
    async with driving(definition()) as driver:
        session = await driver.open(opening(tmp_path))
        live = await session.start(turn("DIE 3"))
        with pytest.raises(AgentFault, match=r"exited with code 3.*the parrot is no more") as caught:
            await to_end(live)
        assert caught.value.code == "AGENT_DIED"
        await live.aclose()
        assert "--resume" in (await ask(session, "hello"))["args"], "the next turn has a new process"


async def test_a_session_that_is_gone_at_the_agent_is_told_anew(tmp_path: Path) -> None:
    async with driving(definition()) as driver:
        session = await driver.open(opening(tmp_path, session_id="gone", known=frozenset()))
        events = await to_end(await session.start(turn("and now", "once upon a time")))
        assert [event.code for event in events if isinstance(event, Warning)] == ["HISTORY_REPLAYED"]
        text = "".join(event.text for event in events if isinstance(event, TextMessageContent))
        assert "once upon a time" in text
        assert session.id != "gone"


async def test_a_session_that_turns_out_to_be_gone_when_prompted_is_told_anew(tmp_path: Path) -> None:
    async with driving(definition()) as driver:
        asked = turn("LOST here", "long ago")
        known = frozenset([asked.messages[0]["id"]])
        session = await driver.open(opening(tmp_path, session_id="old", known=known))
        events = await to_end(await session.start(asked))
        assert [event.code for event in events if isinstance(event, Warning)] == ["HISTORY_REPLAYED"]
        assert "long ago" in "".join(event.text for event in events if isinstance(event, TextMessageContent))
        assert isinstance(events[-1], TurnEnded)


async def test_an_agent_that_never_gets_ready_is_not_waited_for(tmp_path: Path) -> None:
    never = definition(start_timeout=0.2)
    assert never.command is not None
    silent = never.model_copy(update={"command": never.command.model_copy(update={"run": ("sleep", "60")})})
    async with driving(silent) as driver:
        with pytest.raises(AgentFault) as caught:
            await driver.open(opening(tmp_path))
        assert caught.value.code == "AGENT_STALLED"
        assert (await driver.availability()).status == "broken"


async def test_what_comes_between_turns_is_told_with_the_next(tmp_path: Path) -> None:
    async with driving(definition()) as driver:
        session = await driver.open(opening(tmp_path))
        await say(session, "LATE")
        text = await say(session, "FLOOD 1")
        while "by the way" not in text:  # it may come a moment after the first turn's end
            text += await say(session, "FLOOD 1")
        assert text.count("by the way") == 1


async def test_a_flood_that_nobody_reads_is_held_up(tmp_path: Path) -> None:
    async with driving(definition()) as driver:
        session = await driver.open(opening(tmp_path))
        live = await session.start(turn("FLOOD 100000"))
        await until(live, TextMessageContent)
        await anyio.sleep(0.5)  # the agent has time to send it all; what is kept is bounded
        kept = len(live._queue)  # type: ignore[attr-defined]  # the bound is what this test is about
        assert kept < turn_base.MAX_UNREAD_EVENTS * 4
        events = await to_end(live)
        assert isinstance(events[-1], TurnEnded)


async def test_an_image_is_written_to_a_file_for_an_agent_that_takes_files_and_is_gone_with_the_session(
    tmp_path: Path,
) -> None:
    told = definition("lines", "turn", flags={"media": ["--image", "{path}"]})
    async with driving(told) as driver:
        session = await driver.open(opening(tmp_path))
        image = {"type": "image", "source": {"type": "data", "value": "aGVsbG8=", "mimeType": "image/png"}}
        parts = [{"type": "text", "text": "look"}, image]
        asked = turn("look")
        asked.messages[-1]["content"] = parts
        events = await to_end(await session.start(asked))
        args = "".join(event.text for event in events if isinstance(event, TextMessageContent))
        path = anyio.Path(args.split('"--image", "')[1].split('"')[0])
        assert await path.read_bytes() == b"hello" and path.suffix == ".png"
        await session.aclose()
        assert not await path.exists()


async def test_a_way_in_that_cannot_be_had_gives_way_to_the_next(tmp_path: Path) -> None:
    first, second = definition("lines", "session", "--unknown-flag"), definition("frames")
    transport = {"name": "frames", "driver": "cli", "command": second.command, "cli": second.cli}
    both = first.model_validate({**dict(first), "fallback": [transport]})
    async with driving(both) as driver:
        session = await driver.open(opening(tmp_path))
        assert (await ask(session, "hello"))["said"] == "hello"
        assert (await driver.handshake_layer())["custom"]["gateway"]["transport"] == "frames"
        await session.aclose()


async def test_a_broken_turn_leaves_the_session_usable(tmp_path: Path) -> None:
    async with driving(definition("lines", "session", "--resume", "x")) as driver:
        session = await driver.open(opening(tmp_path))
        events = await to_end(await session.start(turn("FLOOD 1")))
        assert isinstance(events[-1], TurnEnded)
        broken = await to_end(await session.start(turn("LOST it")))
        assert isinstance(broken[-1], TurnFailed | TurnEnded)
        assert (await ask(session, "hello"))["said"] == "hello"
