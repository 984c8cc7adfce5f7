"""The driver of command-line agents, with a real process behind every transport."""

from __future__ import annotations

import os
from pathlib import Path

import anyio
import pytest

from gateway.drivers import turn_base
from gateway.errors import AgentFault, NotCapable
from gateway.events import InterruptRequested, TextMessageContent, TurnEnded, TurnFailed, Warning
from gateway.turn import Answer, Options
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
async def test_a_prompt_is_answered_by_every_transport(transport: str, process: str, tmp_path: Path) -> None:
    async with driving(definition(transport, process)) as driver:
        session = await driver.open(opening(tmp_path))
        assert session.id is not None and session.id.startswith("parrot-")
        report = await ask(session, "hello")
        assert report["said"] == "hello"
        assert (await ask(session, "again"))["pid"] == report["pid"], "one process serves the thread"
        assert (await driver.handshake_layer())["identity"]["version"] == "1.0-parrot"
        await session.aclose()
    assert not running(report["pid"])


async def test_all_output_of_an_agent_may_be_one_answer(tmp_path: Path) -> None:
    async with driving(definition("whole", "turn")) as driver:
        session = await driver.open(opening(tmp_path))
        assert await say(session, "hello\nyou") == "you said: hello\nyou\n"
        assert await say(session, "and again") == "you said: and again\n"


async def test_with_a_process_per_turn_each_process_resumes_the_session(tmp_path: Path) -> None:
    async with driving(definition("lines", "turn")) as driver:
        session = await driver.open(opening(tmp_path))
        first, second = await ask(session, "one"), await ask(session, "two")
        assert first["pid"] != second["pid"]
        assert "--resume" not in first["args"]
        assert second["args"] == ["--resume", session.id]
        assert second["cwd"] == str(tmp_path)


async def test_a_run_with_other_options_gets_another_process_that_resumes(tmp_path: Path) -> None:
    async with driving(definition()) as driver:
        session = await driver.open(opening(tmp_path))
        first = await ask(session, "one")
        second = await ask(session, "two", model="macaw")
        assert second["pid"] != first["pid"]
        assert second["args"] == ["--model", "macaw", "--resume", session.id]
        assert (await ask(session, "three", model="macaw"))["pid"] == second["pid"]
        assert not running(first["pid"])


MODE_FLAGS = {"mode": ["--mode", "{mode}"], "resume": ["--resume", "{session}"]}


async def test_a_mode_that_the_session_does_not_list_is_refused_by_every_route(tmp_path: Path) -> None:
    """With the modes that there are: between runs, by a run, and by the run that opens the session."""
    agent = definition(params={"modes": ["plan", "build"]}, flags=MODE_FLAGS)
    async with driving(agent) as driver:
        session = await driver.open(opening(tmp_path))
        assert session.controls is not None
        with pytest.raises(NotCapable, match="it has: plan, build") as refused:
            await session.controls.set_mode("zz")
        assert refused.value.extra["known"] == ["plan", "build"]
        with pytest.raises(NotCapable, match="no mode 'zz'"):
            await session.start(turn("hello", mode="zz"))
        with pytest.raises(NotCapable, match="no mode 'zz'"):
            await driver.open(opening(tmp_path, options=Options(mode="zz")))
        await session.controls.set_mode("plan")
        assert "plan" in (await ask(session, "one"))["args"]


async def test_the_limit_of_a_run_s_steps_is_in_the_session_s_layer(tmp_path: Path) -> None:
    """AG-UI execution.maxIterations, from the option maxTurns."""
    async with driving(definition()) as driver:
        session = await driver.open(opening(tmp_path))
        assert "execution.maxIterations" not in session.session_layer
        await ask(session, "one", max_turns=7)
        assert session.session_layer["execution.maxIterations"] == 7
        await ask(session, "two")
        assert "execution.maxIterations" not in session.session_layer


async def test_a_setting_holds_for_runs_that_name_no_other(tmp_path: Path) -> None:
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


async def test_two_threads_share_a_process_and_get_only_their_own_events(tmp_path: Path) -> None:
    async with driving(definition("lines", "agent")) as driver:
        one, two = await driver.open(opening(tmp_path)), await driver.open(opening(tmp_path))
        waiting = await one.start(turn("ASK"))
        await until(waiting, InterruptRequested)
        report = await ask(two, "hello")
        assert report["said"] == "hello", "a turn that waits delays no other"
        await waiting.answer({"q1": Answer("q1", "resolved", {"approved": True})})
        events = await to_end(waiting)
        assert "".join(event.text for event in events if isinstance(event, TextMessageContent)).startswith("answered")
        assert (await ask(one, "who?"))["pid"] == report["pid"]
        await one.aclose()
        assert (await ask(two, "still?"))["pid"] == report["pid"]


async def test_an_interrupt_waits_for_its_answer(tmp_path: Path) -> None:
    async with driving(definition()) as driver:
        session = await driver.open(opening(tmp_path))
        live = await session.start(turn("ASK"))
        events = await until(live, InterruptRequested)
        assert isinstance(events[-1], InterruptRequested)
        await live.answer({"q1": Answer("q1", "resolved", {"approved": True})})
        events = await to_end(live)
        assert events[0] == TextMessageContent('answered ["resolved", {"approved": true}]')
        assert events[-1] == TurnEnded()


async def test_a_turn_is_cancelled_by_the_dialect_and_the_process_goes_on(tmp_path: Path) -> None:
    async with driving(definition()) as driver:
        session = await driver.open(opening(tmp_path))
        before = await ask(session, "hello")
        live = await session.start(turn("HANG"))
        await until(live, TextMessageContent)
        await live.cancel()
        assert (await to_end(live))[-1] == TurnEnded("cancelled")
        assert (await ask(session, "hello"))["pid"] == before["pid"]


async def test_a_dialect_that_cannot_cancel_has_a_signal_sent(tmp_path: Path) -> None:
    async with driving(definition(params={"own_cancel": False})) as driver:
        session = await driver.open(opening(tmp_path))
        live = await session.start(turn("HANG"))
        await until(live, TextMessageContent)
        await live.cancel()
        assert (await to_end(live))[-1] == TurnEnded("cancelled")
        assert (await ask(session, "hello"))["args"] == ["--resume", session.id]


async def test_an_agent_that_does_not_stop_is_killed_and_the_next_turn_resumes(tmp_path: Path) -> None:
    async with driving(definition("lines", "session", "--deaf", params={"own_cancel": False})) as driver:
        session = await driver.open(opening(tmp_path))
        pid = (await ask(session, "hello"))["pid"]
        live = await session.start(turn("HANG"))
        await until(live, TextMessageContent)
        await live.cancel()
        await live.aclose()
        report = await ask(session, "hello")
        assert report["args"] == ["--deaf", "--resume", session.id]
        assert not running(pid)


async def test_a_death_in_the_turn_is_an_error_with_the_end_of_stderr(tmp_path: Path) -> None:
    async with driving(definition()) as driver:
        session = await driver.open(opening(tmp_path))
        live = await session.start(turn("DIE 3"))
        with pytest.raises(AgentFault, match=r"exited with code 3.*the parrot is no more") as caught:
            await to_end(live)
        assert caught.value.code == "AGENT_DIED"
        await live.aclose()
        assert "--resume" in (await ask(session, "hello"))["args"], "the next turn has a new process"


async def test_a_session_that_is_gone_gets_the_whole_conversation(tmp_path: Path) -> None:
    async with driving(definition()) as driver:
        session = await driver.open(opening(tmp_path, session_id="gone", known=frozenset()))
        events = await to_end(await session.start(turn("and now", "once upon a time")))
        assert [event.code for event in events if isinstance(event, Warning)] == ["HISTORY_REPLAYED"]
        text = "".join(event.text for event in events if isinstance(event, TextMessageContent))
        assert "once upon a time" in text
        assert session.id != "gone"


async def test_a_session_that_is_gone_when_prompted_gets_the_whole_conversation(tmp_path: Path) -> None:
    async with driving(definition()) as driver:
        question_turn = turn("LOST here", "long ago")
        known = frozenset([question_turn.messages[0]["id"]])
        session = await driver.open(opening(tmp_path, session_id="old", known=known))
        events = await to_end(await session.start(question_turn))
        assert [event.code for event in events if isinstance(event, Warning)] == ["HISTORY_REPLAYED"]
        assert "long ago" in "".join(event.text for event in events if isinstance(event, TextMessageContent))
        assert isinstance(events[-1], TurnEnded)


async def test_an_agent_that_never_gets_ready_is_broken(tmp_path: Path) -> None:
    never = definition(start_timeout=0.2)
    assert never.command is not None
    silent = never.model_copy(update={"command": never.command.model_copy(update={"run": ("sleep", "60")})})
    async with driving(silent) as driver:
        with pytest.raises(AgentFault) as caught:
            await driver.open(opening(tmp_path))
        assert caught.value.code == "AGENT_STALLED"
        assert (await driver.availability()).status == "broken"


async def test_events_between_turns_come_with_the_next_turn(tmp_path: Path) -> None:
    async with driving(definition()) as driver:
        session = await driver.open(opening(tmp_path))
        await say(session, "LATE")
        text = await say(session, "FLOOD 1")
        while "by the way" not in text:  # it may come a moment after the first turn's end
            text += await say(session, "FLOOD 1")
        assert text.count("by the way") == 1


async def test_an_agent_whose_flood_is_not_read_has_to_wait(tmp_path: Path) -> None:
    async with driving(definition()) as driver:
        session = await driver.open(opening(tmp_path))
        live = await session.start(turn("FLOOD 100000"))
        await until(live, TextMessageContent)
        await anyio.sleep(0.5)  # the agent has time to send all of it; the queue is bounded
        unread = len(live._queue)  # type: ignore[attr-defined]  # the bound is what this test is about
        assert unread < turn_base.MAX_UNREAD_EVENTS * 4
        events = await to_end(live)
        assert isinstance(events[-1], TurnEnded)


async def test_an_image_goes_by_a_file_that_is_removed_with_the_session(
    tmp_path: Path,
) -> None:
    with_media = definition("lines", "turn", flags={"media": ["--image", "{path}"]})
    async with driving(with_media) as driver:
        session = await driver.open(opening(tmp_path))
        image = {"type": "image", "source": {"type": "data", "value": "aGVsbG8=", "mimeType": "image/png"}}
        parts = [{"type": "text", "text": "look"}, image]
        question_turn = turn("look")
        question_turn.messages[-1]["content"] = parts
        events = await to_end(await session.start(question_turn))
        args = "".join(event.text for event in events if isinstance(event, TextMessageContent))
        path = anyio.Path(args.split('"--image", "')[1].split('"')[0])
        assert await path.read_bytes() == b"hello" and path.suffix == ".png"
        await session.aclose()
        assert not await path.exists()


async def test_a_transport_that_does_not_work_is_replaced_by_the_next(tmp_path: Path) -> None:
    first, second = definition("lines", "session", "--unknown-flag"), definition("frames")
    transport = {"name": "frames", "driver": "cli", "command": second.command, "cli": second.cli}
    both = first.model_validate({**dict(first), "fallback": [transport]})
    async with driving(both) as driver:
        session = await driver.open(opening(tmp_path))
        assert (await ask(session, "hello"))["said"] == "hello"
        assert (await driver.handshake_layer())["custom"]["gateway"]["transport"] == "frames"
        await session.aclose()


async def test_a_session_is_usable_after_a_broken_turn(tmp_path: Path) -> None:
    async with driving(definition("lines", "session", "--resume", "x")) as driver:
        session = await driver.open(opening(tmp_path))
        events = await to_end(await session.start(turn("FLOOD 1")))
        assert isinstance(events[-1], TurnEnded)
        broken = await to_end(await session.start(turn("LOST it")))
        assert isinstance(broken[-1], TurnFailed | TurnEnded)
        assert (await ask(session, "hello"))["said"] == "hello"
