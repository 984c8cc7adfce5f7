"""The client's own tools, called by real agents behind the gateway, answered by the official client.

Command-line agents are told of the tools by the gateway itself, and nobody is asked for leave. Agents that speak ACP
reach them by MCP, and most of them ask first, as they do about any server's tools.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from gateway.agui.history import History
from gateway.events import Wire
from tests.clients.install import install as install_clients
from tests.clients.node import Step, play
from tests.fakes.model_server.server import ModelServer
from tests.live.harness import bundled_behind_gateway
from tests.live.scenarios import in_order, yes
from tests.live.selection import LARGE, agents
from tests.support.gateway import Gateway, text_of

CLI = ("claude", "codex", "copilot", "omp")
ACP = ("claude-agent-acp", "codex-acp", "gemini-cli", "opencode-acp", "qwen-code")
AGENTS = (*CLI, *ACP)
SEARCHING = ("qwen-code",)
"""Their model has to search for such tools first, and the scripted one searches for one at a time."""
SEARCHING_BESIDE = (*SEARCHING, "codex-acp")
"""…or not beside another call."""
UNASKED = (*CLI, "opencode-acp")
"""Agents that call such a tool without asking."""
CARD = {
    "name": "show_card",
    "description": "Shows a card on the page.",
    "parameters": {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]},
}
OTHER = {"name": "page.title", "description": "Tells the page's title.", "parameters": {"type": "object"}}

pytestmark = pytest.mark.live


@pytest.fixture(scope="module")
def models() -> Iterator[ModelServer]:
    with ModelServer() as running:
        yield running


def played(gateway: Gateway, agent: str, steps: list[dict[str, Any]], *tools: dict[str, Any]) -> list[Step]:
    install_clients()
    [seen] = play("agui.mjs", gateway.url, [{"agent": agent, "steps": steps, "tools": list(tools) or [CARD]}])
    for step in seen:
        in_order(step.events)
        assert not step.seen["rejected"]
        assert not step.complaints
    return seen


def pending(step: Step) -> list[str]:
    outcome = step.events[-1]["outcome"]
    assert outcome["type"] == "success"
    found: list[str] = outcome["pendingToolCallIds"]
    return found


def card(agent: str) -> list[dict[str, Any]]:
    """The steps until the agent has called for one."""
    allowed: list[dict[str, Any]] = [] if agent in UNASKED else [{"answers": [yes(True)]}]
    return [{"say": 'CALL show_card {"title": "Tea"}'}, *allowed]


@pytest.mark.parametrize("agent", agents(CLI, set(CLI) - set(LARGE)))
def test_a_real_agent_calls_a_tool_of_the_page(agent: str, models: ModelServer, tmp_path: Path) -> None:
    with bundled_behind_gateway(agent, models.url, tmp_path) as gateway:
        told = gateway.client.get(f"/agents/{agent}/capabilities").json()
        assert told["tools"]["clientProvided"] is True
        steps: list[dict[str, Any]] = [
            {"say": 'CALL show_card {"title": "Tea"}'},
            {"results": ["the card is on the page"]},
            {"say": "and now?"},
        ]
        called, answered, after = played(gateway, agent, steps)
        [start] = called.of("TOOL_CALL_START")
        assert start["toolCallName"] == "show_card", "by the client's own name"
        assert pending(called) == [start["toolCallId"]]
        assert json.loads("".join(event["delta"] for event in called.of("TOOL_CALL_ARGS"))) == {"title": "Tea"}
        assert len(called.of("TOOL_CALL_END")) == 1
        assert "done: the card is on the page" in answered.said, "the same turn went on"
        assert not [event for event in answered.events if event["type"].startswith("TOOL_CALL")], "the page has it"
        assert "You said: and now?" in after.said
        warned = [event for step in (called, answered, after) for event in step.of("CUSTOM")]
        assert not [event for event in warned if event["name"] == "gateway.warning"]


@pytest.mark.parametrize("agent", ACP)
def test_a_real_agent_over_acp_calls_a_tool_of_the_page(agent: str, models: ModelServer, tmp_path: Path) -> None:
    with bundled_behind_gateway(agent, models.url, tmp_path) as gateway:
        steps: list[dict[str, Any]] = [{"results": ["the card is on the page"]}, {"say": "and now?"}]
        seen = played(gateway, agent, [*card(agent), *steps])
        called, answered, after = seen[-3:]
        told = gateway.client.get(f"/agents/{agent}/capabilities").json()
        assert told["tools"]["clientProvided"] is True
        cards = [event for event in seen[0].of("TOOL_CALL_START") if event["toolCallName"] == "show_card"]
        assert len(cards) == 1, "by the client's own name"
        [call] = {event["toolCallId"] for event in cards}
        assert bool(seen[0].interrupts) is (agent not in UNASKED)
        assert pending(called) == [call]
        given = [event for step in seen for event in step.of("TOOL_CALL_ARGS") if event["toolCallId"] == call]
        assert json.loads("".join(event["delta"] for event in given)) == {"title": "Tea"}
        assert "the card is on the page" in answered.said, "the same turn went on"
        assert not [event for event in answered.events if event["type"].startswith("TOOL_CALL")], "the page has it"
        assert "You said: and now?" in after.said
        warned = [event for step in seen for event in step.of("CUSTOM")]
        assert not [event for event in warned if event["name"] == "gateway.warning"]


class Page:
    """A client that keeps its conversation, answers every question with yes and does what its tools are called for."""

    def __init__(self, gateway: Gateway, agent: str, *tools: dict[str, Any]) -> None:
        self._gateway, self._agent, self.tools = gateway, agent, list(tools)
        self._history, self._thread = History(), f"page-{agent}"
        self._messages = 0

    def say(self, words: str) -> list[Wire]:
        return self._add({"role": "user", "content": words})

    def allow(self, events: list[Wire]) -> list[Wire]:
        """The run in which nothing is asked any more."""
        while "interrupts" in (outcome := events[-1].get("outcome", {})):
            events = self._run(resume=[{"interruptId": one["id"], **yes(True)} for one in outcome["interrupts"]])
        return events

    def settle(self, events: list[Wire], limit: int = 5) -> list[list[Wire]]:
        """The runs until nothing more is wanted of the page."""
        runs = [events]
        for _ in range(limit):
            match runs[-1][-1].get("outcome"):
                case {"type": "interrupt"}:
                    runs.append(self.allow(runs[-1]))
                case {"pendingToolCallIds": calls}:
                    for call in calls[:-1]:
                        self._note({"role": "tool", "toolCallId": call, "content": f"shown {call}"})
                    runs.append(self._add({"role": "tool", "toolCallId": calls[-1], "content": f"shown {calls[-1]}"}))
                case _:
                    return runs
        raise AssertionError(f"it goes on and on: {runs[-1]}")

    def _add(self, message: Wire) -> list[Wire]:
        self._note(message)
        return self._run()

    def _note(self, message: Wire) -> None:
        self._messages += 1
        self._history.add_input([{"id": f"page-{self._messages}", **message}])

    def _run(self, **fields: Any) -> list[Wire]:
        given = {"threadId": self._thread, "messages": self._history.messages, "tools": self.tools, **fields}
        events = self._gateway.run(self._agent, "", **given)
        in_order(events)
        for event in events:
            self._history.feed(event)
        assert events[-1]["type"] == "RUN_FINISHED", events[-1]
        return events


def started(runs: list[list[Wire]]) -> dict[str, str]:
    """Calls of the page's own tools, by their ids: one that is shown again counts once."""
    starts = [event for events in runs for event in events if event["type"] == "TOOL_CALL_START"]
    names = (CARD["name"], OTHER["name"])
    return {event["toolCallId"]: event["toolCallName"] for event in starts if event["toolCallName"] in names}


@pytest.mark.parametrize("agent", agents(agent for agent in AGENTS if agent not in SEARCHING))
def test_two_calls_in_one_answer_are_both_done(agent: str, models: ModelServer, tmp_path: Path) -> None:
    with bundled_behind_gateway(agent, models.url, tmp_path) as gateway:
        page = Page(gateway, agent, CARD)
        runs = page.settle(page.say('CALL show_card {"title": "one"}\nCALL show_card {"title": "two"}'))
        calls = started(runs)
        assert len(calls) == 2
        assert "done: " in text_of(runs[-1])
        asked = [json.dumps(request["body"]) for request in models.requests()]
        assert [body for body in asked if all(f"shown {call}" in body for call in calls)], "the model has both"


@pytest.mark.parametrize("agent", agents(AGENTS))
def test_a_new_message_instead_of_a_result_begins_a_new_turn(agent: str, models: ModelServer, tmp_path: Path) -> None:
    with bundled_behind_gateway(agent, models.url, tmp_path) as gateway:
        steps = [*card(agent), {"say": f"never mind, {agent}"}, {"say": "and now?"}]
        called, instead, after = played(gateway, agent, steps)[-3:]
        [result] = [event for event in instead.of("TOOL_CALL_RESULT") if event["toolCallId"] in pending(called)]
        assert "gave no result" in result["content"]
        assert [request for request in models.requests() if f"never mind, {agent}" in json.dumps(request["body"])]
        assert "outcome" not in instead.events[-1]
        assert "You said: and now?" in after.said


@pytest.mark.parametrize("agent", agents(AGENTS))
def test_a_page_may_offer_other_tools_later(agent: str, models: ModelServer, tmp_path: Path) -> None:
    with bundled_behind_gateway(agent, models.url, tmp_path) as gateway:
        page = Page(gateway, agent)
        page.settle(page.say("hello"))
        for tool, words in ((CARD, 'CALL show_card {"title": "Tea"}'), (OTHER, "CALL page_title {}")):
            page.tools = [tool]
            runs = page.settle(page.say(words))
            assert list(started(runs).values()) == [tool["name"]]
            assert re.search(r"done: .*shown", text_of(runs[-1]), re.DOTALL)


@pytest.mark.parametrize("agent", agents(agent for agent in AGENTS if agent not in SEARCHING_BESIDE))
def test_a_question_and_a_tool_of_the_page_in_one_answer(agent: str, models: ModelServer, tmp_path: Path) -> None:
    with bundled_behind_gateway(agent, models.url, tmp_path) as gateway:
        page = Page(gateway, agent, CARD)
        runs = page.settle(page.say('SHELL touch mixed.txt\nCALL show_card {"title": "Tea"}'))
        outcomes = [events[-1].get("outcome", {}).get("type") for events in runs]
        assert "interrupt" in outcomes, "it asked about the command"
        assert "success" in outcomes, "and called the page's tool"
        assert "done: " in text_of(runs[-1])
        assert (tmp_path / "work" / "mixed.txt").exists()


@pytest.mark.parametrize("agent", agents(AGENTS))
def test_after_a_restart_a_late_result_is_told_and_the_tools_are_there(
    agent: str, models: ModelServer, tmp_path: Path
) -> None:
    with bundled_behind_gateway(agent, models.url, tmp_path) as gateway:
        page = Page(gateway, agent, CARD)
        called = page.allow(page.say('CALL show_card {"title": "Tea"}'))
        [call] = called[-1]["outcome"]["pendingToolCallIds"]
        gateway.terminate()
        gateway.start()
        page.settle(called)
        asked = [json.dumps(request["body"]) for request in models.requests()]
        assert [body for body in asked if f"shown {call}" in body], "the turn is gone, but its result is not lost"
        again = page.settle(page.say('CALL show_card {"title": "Milk"}'))
        assert list(started(again).values()) == ["show_card"]
