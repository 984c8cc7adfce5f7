"""Client tools at the driver of command-line agents: offered, called, answered, too late, or not at all."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from gateway.events import ClientToolsCalled, Event, TextMessageContent, Warning
from gateway.turn import Answer, Turn
from gateway.wire.dialects import DIALECTS, SessionStart
from tests.drivers.cli.parrot_session import (
    ParrotDialect,
    PlainDialect,
    definition,
    driving,
    opening,
    to_end,
    turn,
    until,
)

pytestmark = pytest.mark.anyio

CARD = {"name": "show_card", "description": "Shows a card.", "parameters": {"type": "object"}}
OTHER = {**CARD, "name": "other"}

beginnings: list[SessionStart] = []


class RecordingDialect(ParrotDialect):
    def start_session(self, start_session: SessionStart) -> None:
        beginnings.append(start_session)
        super().start_session(start_session)


@pytest.fixture(autouse=True)
def parrots(monkeypatch: pytest.MonkeyPatch) -> None:
    beginnings.clear()
    monkeypatch.setitem(DIALECTS, "parrot", RecordingDialect)
    monkeypatch.setitem(DIALECTS, "parrot-plain", PlainDialect)


def turn_with_tools(text: str, *tools: dict[str, Any]) -> Turn:
    return replace(turn(text), tools=list(tools or (CARD,)))


def read_text(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextMessageContent))


def read_call_id(events: list[Event]) -> str:
    [call] = [call for event in events if isinstance(event, ClientToolsCalled) for call in event.calls]
    return call.id


def tool_message(call: str, content: str) -> dict[str, Any]:
    return {"id": f"result-{call}", "role": "tool", "toolCallId": call, "content": content}


async def test_a_call_waits_for_the_clients_result(tmp_path: Path) -> None:
    async with driving(definition()) as driver:
        session = await driver.open(opening(tmp_path, tools=(CARD,)))
        live = await session.start(turn_with_tools("CALL c1"))
        call = read_call_id(await until(live, ClientToolsCalled))
        await live.answer({call: Answer(call, "resolved", tool_message(call, "shown"))})
        assert '"shown"' in read_text(await to_end(live))
        await session.aclose()


async def test_a_result_that_comes_after_its_turn_goes_into_the_prompt(tmp_path: Path) -> None:
    async with driving(definition()) as driver:
        session = await driver.open(opening(tmp_path))
        first_turn = turn_with_tools("CALL c1")
        live = await session.start(first_turn)
        call = read_call_id(await until(live, ClientToolsCalled))
        await live.answer({call: Answer(call, "cancelled")})
        await to_end(live)
        late = replace(first_turn, messages=[*first_turn.messages, tool_message(call, "shown at last")])
        text = read_text(await to_end(await session.start(late)))
        assert "Result of the tool" in text
        assert "shown at last" in text
        await session.aclose()


@pytest.mark.parametrize(("client_tools", "begins"), [("per-session", 3), ("per-turn", 1)])
async def test_changed_tools_restart_a_session_only_where_the_definition_has_it(
    client_tools: str, begins: int, tmp_path: Path
) -> None:
    async with driving(definition("lines", "agent", client_tools=client_tools)) as driver:
        session = await driver.open(opening(tmp_path, tools=(CARD,)))
        for tools in ((CARD,), (CARD, OTHER), (CARD, OTHER), (OTHER,)):
            await to_end(await session.start(turn_with_tools("hello", *tools)))
        assert len(beginnings) == begins
        assert beginnings[0].tools == (CARD,)
        await session.aclose()


async def test_an_agent_that_takes_no_tools_causes_one_warning(tmp_path: Path) -> None:
    async with driving(definition("whole", "turn")) as driver:
        session = await driver.open(opening(tmp_path))
        warnings = []
        for text in ("one", "two"):
            events = await to_end(await session.start(turn_with_tools(text)))
            warnings += [event.code for event in events if isinstance(event, Warning)]
        assert warnings == ["TOOLS_DROPPED"]
        await session.aclose()
