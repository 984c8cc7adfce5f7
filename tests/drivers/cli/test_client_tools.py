"""The client's own tools at the driver of command-line agents: offered, called, answered, too late, or not at all."""

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

begun: list[SessionStart] = []


class Noting(ParrotDialect):
    def start_session(self, begin: SessionStart) -> None:
        begun.append(begin)
        super().start_session(begin)


@pytest.fixture(autouse=True)
def parrots(monkeypatch: pytest.MonkeyPatch) -> None:
    begun.clear()
    monkeypatch.setitem(DIALECTS, "parrot", Noting)
    monkeypatch.setitem(DIALECTS, "parrot-plain", PlainDialect)


def offering(text: str, *tools: dict[str, Any]) -> Turn:
    return replace(turn(text), tools=list(tools or (CARD,)))


def said(events: list[Event]) -> str:
    return "".join(event.text for event in events if isinstance(event, TextMessageContent))


def called(events: list[Event]) -> str:
    [call] = [call for event in events if isinstance(event, ClientToolsCalled) for call in event.calls]
    return call.id


def message(call: str, words: str) -> dict[str, Any]:
    return {"id": f"result-{call}", "role": "tool", "toolCallId": call, "content": words}


async def test_a_call_waits_for_what_the_client_gives(tmp_path: Path) -> None:
    async with driving(definition()) as driver:
        session = await driver.open(opening(tmp_path, tools=(CARD,)))
        live = await session.start(offering("CALL c1"))
        call = called(await until(live, ClientToolsCalled))
        await live.answer({call: Answer(call, "resolved", message(call, "shown"))})
        assert '"shown"' in said(await to_end(live))
        await session.aclose()


async def test_a_result_that_comes_after_its_turn_is_told_as_a_message(tmp_path: Path) -> None:
    async with driving(definition()) as driver:
        session = await driver.open(opening(tmp_path))
        asked = offering("CALL c1")
        live = await session.start(asked)
        call = called(await until(live, ClientToolsCalled))
        await live.answer({call: Answer(call, "cancelled")})
        await to_end(live)
        late = replace(asked, messages=[*asked.messages, message(call, "shown at last")])
        told = said(await to_end(await session.start(late)))
        assert "Result of the tool" in told
        assert "shown at last" in told
        await session.aclose()


@pytest.mark.parametrize(("when", "begins"), [("begin", 3), ("prompt", 1)])
async def test_other_tools_begin_a_session_anew_only_where_the_definition_says_so(
    when: str, begins: int, tmp_path: Path
) -> None:
    async with driving(definition("lines", "agent", params={"tools": when})) as driver:
        session = await driver.open(opening(tmp_path, tools=(CARD,)))
        for tools in ((CARD,), (CARD, OTHER), (CARD, OTHER), (OTHER,)):
            await to_end(await session.start(offering("hello", *tools)))
        assert len(begun) == begins
        assert begun[0].tools == (CARD,)
        await session.aclose()


async def test_an_agent_that_cannot_call_them_says_so_once(tmp_path: Path) -> None:
    async with driving(definition("whole", "turn")) as driver:
        session = await driver.open(opening(tmp_path))
        warned = []
        for text in ("one", "two"):
            events = await to_end(await session.start(offering(text)))
            warned += [event.code for event in events if isinstance(event, Warning)]
        assert warned == ["TOOLS_DROPPED"]
        await session.aclose()
