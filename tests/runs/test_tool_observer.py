"""A session with what the gateway learns of its tools: which calls count, what is reusable, what stays as it was."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping
from pathlib import Path
from typing import Any

import anyio
import pytest
from ag_ui.core import ToolCallStartEvent

from gateway.capability_paths import SEEN_TOOLS
from gateway.drivers import Opening
from gateway.drivers.mcp_client import McpServers
from gateway.events import AguiEvent, Custom, Event, Layer, TextMessageContent, ToolCallStart, TurnEnded
from gateway.runs.tool_observer import MAX_NAME_CHARS, MAX_TOOLS, ObservedSession
from gateway.turn import Answer, Turn

pytestmark = pytest.mark.anyio


class Scripted:
    """A session and its turn, whose batches are given."""

    id, reusable, is_alive, controls = "s1", True, True, None

    def __init__(self, *batches: list[Event]) -> None:
        self.session_layer: Layer = {"custom.session.cwd": "/"}
        self._batches = [*batches]
        self.done: list[str] = []

    async def start(self, turn: Turn) -> Scripted:
        return self

    async def next(self) -> list[Event]:
        return self._batches.pop(0) if self._batches else []

    async def answer(self, answers: Mapping[str, Answer]) -> None:
        self.done.append("answer")

    async def steer(self, message_id: str, text: str) -> bool:
        self.done.append(f"steer {message_id} {text}")
        return True

    async def cancel(self) -> None:
        self.done.append("cancel")

    async def aclose(self) -> None:
        self.done.append("aclose")


@pytest.fixture
async def servers() -> AsyncIterator[McpServers]:
    async with anyio.create_task_group() as tasks:
        yield McpServers(tasks, private=False)


def watched(servers: McpServers, session: Scripted) -> ObservedSession:
    return ObservedSession(session, servers.use(Opening("t").mcp_servers, Path(), lambda: None))


async def seen(servers: McpServers, *events: Event, tools: tuple[str, ...] = ()) -> Any:
    session = watched(servers, Scripted([*events]))
    live = await session.start(Turn("t", "r", tools=[{"name": name} for name in tools]))
    assert await live.next() == [*events]
    return session.session_layer.get(SEEN_TOOLS)


@pytest.mark.parametrize(
    ("event", "name"),
    [
        (ToolCallStart("c", "Bash"), "Bash"),
        (ToolCallStart("c", "Bash", subagent="a1", metadata={"codex": {}}), "Bash"),
        (
            ToolCallStart("c", "mcp__calc__add", metadata={"acp": {"name": "mcp__calc__add", "kind": "other"}}),
            "mcp__calc__add",
        ),
        (AguiEvent({"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "weather"}), "weather"),
        (AguiEvent({"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "toolCallName": "weather"}), "weather"),
        (AguiEvent(ToolCallStartEvent(tool_call_id="c", tool_call_name="weather")), "weather"),
    ],
)
async def test_a_call_shows_that_the_session_has_the_tool(servers: McpServers, event: Event, name: str) -> None:
    assert await seen(servers, TextMessageContent("x"), event, event) == [name]


@pytest.mark.parametrize(
    "event",
    [
        ToolCallStart("c", "edit", metadata={"acp": {"kind": "edit"}}),
        ToolCallStart("c", "own"),
        ToolCallStart("c", "x" * (MAX_NAME_CHARS + 1)),
    ],
    ids=["a kind", "the client's own", "too long"],
)
async def test_a_call_without_a_name_of_the_agents_own_is_seen_all_the_same(servers: McpServers, event: Event) -> None:
    assert await seen(servers, event, tools=("own",)) == []


@pytest.mark.parametrize(
    "event",
    [
        AguiEvent({"type": "TOOL_CALL_CHUNK", "toolCallId": "c", "delta": "{"}),
        AguiEvent({"type": "CUSTOM", "toolCallName": "no call"}),
        Custom("tool", {"name": "no call"}),
    ],
    ids=["a later chunk", "another event", "no call"],
)
async def test_what_is_no_call_is_not_taken_for_one(servers: McpServers, event: Event) -> None:
    assert await seen(servers, event) is None


async def test_only_so_many_names_are_kept(servers: McpServers) -> None:
    assert (
        len(await seen(servers, *(ToolCallStart(f"c{number}", f"tool{number}") for number in range(1000)))) == MAX_TOOLS
    )


async def test_what_was_seen_in_one_turn_is_known_in_the_next(servers: McpServers) -> None:
    session = watched(servers, Scripted([ToolCallStart("c", "Bash")], [TurnEnded()], [ToolCallStart("c", "Grep")]))
    for expected in (["Bash"], ["Bash"], ["Bash", "Grep"]):
        await (await session.start(Turn("t", "r"))).next()
        assert session.session_layer == {"custom.session.cwd": "/", SEEN_TOOLS: expected}


async def test_a_session_of_which_nothing_more_is_known_is_as_it_was(servers: McpServers) -> None:
    inner = Scripted([TextMessageContent("x")])
    session = watched(servers, inner)
    live = await session.start(Turn("t", "r"))
    await live.next()
    assert session.session_layer is inner.session_layer
    assert (session.id, session.reusable, session.is_alive, session.controls) == ("s1", True, True, None)
    await live.answer({})
    assert await live.steer("m", "hurry")
    await live.cancel()
    await live.aclose()
    session.leave_servers()
    await session.aclose()
    assert inner.done == ["answer", "steer m hurry", "cancel", "aclose", "aclose"]
