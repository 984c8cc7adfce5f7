"""Words of the user's for a turn under way, to real agents by their drivers, with the scripted model: taken up once, or
not at all, and never later."""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any
from uuid import uuid4

import anyio
import pytest

from gateway.catalog.load import bundled, load_file
from gateway.drivers.acp import AcpDriver
from gateway.drivers.base import LiveTurn, Opening, Session
from gateway.drivers.cli import CliDriver
from gateway.events import (
    Event,
    InterruptRequested,
    TextMessageContent,
    ToolCallEnd,
    ToolCallStart,
    TurnEnded,
    UserMessageAccepted,
)
from gateway.turn import Answer, Turn
from tests.fakes.model_server.server import ModelServer
from tests.live.harness import bundled_behind_gateway, confined, overlay
from tests.live.install import install, programs
from tests.live.recipes import load_recipes, prepare
from tests.live.selection import EVERY_TIME, agents

CLI = ("claude", "codex", "copilot", "opencode", "pi", "omp", "hermes")
ACP = ("claude-agent-acp", "codex-acp")
LIMIT = 120.0

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


@pytest.fixture
def driven(
    agent: str, models: ModelServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> tuple[type[CliDriver] | type[AcpDriver], Path]:
    """The driver, and the definition that it takes; the agent's settings are in the environment."""
    recipes = load_recipes()
    recipe = recipes.agents[agent]
    install(recipe, recipes)
    ready = prepare(recipe, paths=programs(recipe), home=tmp_path / "home", models=models.url)
    (tmp_path / "work").mkdir()
    if agent in ACP:
        return AcpDriver, overlay(agent, ready, tmp_path / "agents") / f"{agent}.toml"
    for name in os.environ:
        if name.endswith(("_API_KEY", "_AUTH_TOKEN")) or name.startswith("XDG_"):
            monkeypatch.delenv(name)
    for name, value in ready.env.items():
        monkeypatch.setenv(name, value)
    return CliDriver, bundled() / f"{agent}.toml"


class Talk:
    """A conversation that keeps itself; whatever the agent asks is allowed."""

    def __init__(self, session: Session, models: ModelServer) -> None:
        self._session, self._models = session, models
        self._messages: list[dict[str, Any]] = []

    async def says(self, words: str) -> LiveTurn:
        self._add(f"u{len(self._messages)}", words)
        return await self._session.start(Turn("t1", f"r{len(self._messages)}", list(self._messages)))

    async def ends(self, live: LiveTurn, words: str = "", when: type[Event] | str = "", *, cancel: bool = False) -> Any:
        """All of the turn; at the first moment from `when` on that the agent takes them, the words are said in it."""
        seen: list[Event] = []
        said, due = not words, False
        with anyio.fail_after(LIMIT):
            while batch := await live.next():
                seen += batch
                due = due or any(_is(event, when) for event in batch)
                if due and not said:
                    said = await live.steer(words, words)
                    if said and cancel:
                        await live.cancel()
                await live.answer({one.id: _yes(one.id) for event in batch for one in _questions(event)})
        await live.aclose()
        for event in seen:
            if isinstance(event, UserMessageAccepted):
                self._add(event.message_id, event.text)
        return seen

    def _add(self, message_id: str, words: str) -> None:
        self._messages.append({"id": message_id, "role": "user", "content": words})

    def times_told(self, words: str) -> int:
        """How often the words stand in the newest request that has any of this conversation's."""
        bodies = [json.dumps(request["body"]) for request in self._models.requests()]
        return next((body.count(words) for body in reversed(bodies) if self._messages[-1]["content"] in body), 0)

    def reached(self, words: str) -> bool:
        return any(words in json.dumps(request["body"]) for request in self._models.requests())


def _is(event: Event, when: type[Event] | str) -> bool:
    if isinstance(when, str):
        return isinstance(event, TextMessageContent) and bool(when) and when in event.text
    return isinstance(event, when)


def _yes(question_id: str) -> Answer:
    return Answer(question_id, "resolved", {"approved": True})


def _questions(event: Event) -> tuple[Any, ...]:
    return event.interrupts if isinstance(event, InterruptRequested) else ()


def heard(seen: list[Event]) -> list[str]:
    return [event.text for event in seen if isinstance(event, UserMessageAccepted)]


def stop_reason(seen: list[Event]) -> str:
    last = seen[-1]
    assert isinstance(last, TurnEnded), last
    return last.stop_reason


@asynccontextmanager
async def talking(driven: Any, models: ModelServer, work: Path) -> AsyncIterator[Talk]:
    driver, file = driven
    definition = load_file(file)
    with confined(definition, models.url, work) as confinement:
        async with anyio.create_task_group() as tasks:
            running = driver(definition, tasks)
            try:
                session = await running.open(Opening("t1", cwd=work, confinement=confinement))
                handshake_layer = await running.handshake_layer()
                assert handshake_layer["custom"]["gateway"]["steering"] is True
                yield Talk(session, models)
            finally:
                with anyio.CancelScope(shield=True):
                    await running.aclose()
                tasks.cancel_scope.cancel()


def runs_a_tool(agent: str) -> type[Event]:
    return ToolCallStart if agent in (*ACP, "hermes") else ToolCallEnd


@pytest.mark.parametrize("agent", agents([*CLI, *ACP], [*EVERY_TIME, "pi"]))
def test_words_reach_the_turn_under_way_once(agent: str, driven: Any, models: ModelServer, tmp_path: Path) -> None:
    async def play() -> None:
        async with talking(driven, models, tmp_path / "work") as talk:
            words = f"LONG 2 {uuid4().hex}"
            # The model repeats the first 200 characters of a result; Hermes puts the words at the end of one.
            seen = await talk.ends(await talk.says("SHELL sleep 2; seq 200"), words, runs_a_tool(agent))
            assert heard(seen) == [words]
            assert stop_reason(seen) == "end_turn"
            assert talk.reached(words), "the model was asked with them in the same turn"
            late = f"LONG 2 {uuid4().hex}"
            seen = await talk.ends(await talk.says("SLOW 5"), late, "w4")
            assert stop_reason(seen) == "end_turn"
            taken = heard(seen)
            assert taken in ([], [late]), "at the very end they are taken up, or they are not"
            after = await talk.ends(await talk.says(f"and {uuid4().hex}"))
            assert stop_reason(after) == "end_turn"
            assert heard(after) == []
            assert talk.times_told(words) == 1
            assert talk.times_told(late) == len(taken), "nothing is lost, and nothing comes later"

    anyio.run(play)


@pytest.mark.parametrize("agent", agents([*CLI, *ACP], ["claude", "codex"]))
def test_words_of_a_cancelled_turn_do_not_come_later(
    agent: str, driven: Any, models: ModelServer, tmp_path: Path
) -> None:
    async def play() -> None:
        async with talking(driven, models, tmp_path / "work") as talk:
            words = f"LONG 2 {uuid4().hex}"
            live = await talk.says("SHELL sleep 30; echo slept")
            seen = await talk.ends(live, words, runs_a_tool(agent), cancel=True)
            assert stop_reason(seen) == "cancelled"
            taken = heard(seen)
            assert taken in ([], [words])
            after = await talk.ends(await talk.says(f"and {uuid4().hex}"))
            assert stop_reason(after) == "end_turn", "the session takes the next turn"
            assert heard(after) == []
            assert talk.times_told(words) == len(taken)

    anyio.run(play)


def test_a_message_posted_to_a_thread_reaches_its_run(models: ModelServer, tmp_path: Path) -> None:
    words = f"LONG 2 {uuid4().hex}"
    posted = {"message": {"id": "m1", "content": words}, "delivery": "next-tool-call"}
    with bundled_behind_gateway("claude", models.url, tmp_path) as gateway:
        gateway.run("claude", "hello", threadId="t1")  # the agent has stated by then what it can
        events: list[dict[str, Any]] = []
        with gateway.stream("claude", "SHELL sleep 3; echo slept", threadId="t1") as stream:
            for event in stream:
                events.append(event)
                if event["type"] == "TOOL_CALL_END":
                    told = gateway.client.post("/agents/claude/threads/t1/messages", json=posted)
                    assert told.status_code == 202, told.text
        assert events[-1]["type"] == "RUN_FINISHED"
        [start] = [event for event in events if event["type"] == "TEXT_MESSAGE_START" and event["role"] == "user"]
        assert start["messageId"] == "m1"
        body = json.dumps(models.requests()[-1]["body"])
        assert body.count(words) == 1
