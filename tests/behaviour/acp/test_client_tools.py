"""The client's own tools at ACP agents: offered through an MCP server of the gateway's, called, answered, or not."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from uuid import uuid4

import pytest

from gateway.events import Wire
from tests.behaviour.acp.harness import Stage, Talk, json_of, of_type, outcome_of, warnings_of
from tests.drivers.process_watch import running, until
from tests.support.gateway import text_of

PARAMETERS = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
CARD = {"name": "show_card", "description": "Shows a card on the page.", "parameters": PARAMETERS}
OTHER = {"name": "page.title", "description": "Tells the page's title.", "parameters": {"type": "object"}}
TEA = '{"title": "Tea"}'
WAYS = ("claude", "codex", "opencode", "qwen", "grok", "crow", "openhands", "afterwards", "silent")
"""In which agents tell of such a call, all but the one that asks first."""


class Home(Stage):
    """One whose sockets can be looked at. Their folder has a short name, for a socket's path is bounded."""

    def __init__(self, home: Path, runtime: str) -> None:
        super().__init__(home)
        self._env["XDG_RUNTIME_DIR"] = runtime
        self.runtime = Path(runtime)

    @property
    def sockets(self) -> list[Path]:
        return [path for path in self.runtime.glob("*/*") if stat.S_ISSOCK(path.stat().st_mode)]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Home]:
    with TemporaryDirectory() as runtime:
        yield from playing(Home(tmp_path_factory.mktemp("tools"), runtime))


def playing(stage: Home) -> Iterator[Home]:
    """With agents of every kind."""
    stage.agent("plain").agent("bare", "--bare").agent("full", "--full")
    stage.agent("deaf", "--deaf-tools").agent("deaf-bare", "--deaf-tools", "--bare")
    stage.agent("begins", acp={"client_tools": "per-session"})
    stage.agent("leaves-them", capabilities={"tools": {"client_provided": False}})
    with stage:
        yield stage


class Page(Talk):
    """A client with tools of its own."""

    def __init__(self, stage: Stage, agent: str, *tools: Wire, **wishes: Any) -> None:
        super().__init__(stage, agent, **wishes)
        self.tools = list(tools)

    def _body(self, **fields: Any) -> dict[str, Any]:
        return super()._body(**{"tools": self.tools, **fields})

    def give(self, *results: tuple[str, Any], **more: Any) -> list[Wire]:
        """What its tools gave back: (call, content) each."""
        told = [{"id": uuid4().hex, "role": "tool", "toolCallId": call, "content": it, **more} for call, it in results]
        self._history.add_input(told)
        return self._play(self._body())


def pending(events: list[Wire]) -> list[str]:
    outcome = events[-1]["outcome"]
    assert outcome["type"] == "success", outcome
    found: list[str] = outcome["pendingToolCallIds"]
    return found


def started(events: list[Wire]) -> list[tuple[str, str]]:
    return [(event["toolCallId"], event["toolCallName"]) for event in of_type(events, "TOOL_CALL_START")]


def arguments(events: list[Wire], call: str) -> Any:
    return json.loads("".join(one["delta"] for one in of_type(events, "TOOL_CALL_ARGS") if one["toolCallId"] == call))


def last_result(page: Page) -> Any:
    """Of the agent's newest call, as soon as it has one."""
    found: list[Any] = []

    def came() -> bool:
        found.append(json_of(page.say("last")))
        return found[-1] is not None

    until(came)
    return found[-1]


# -- one call


@pytest.mark.parametrize("way", WAYS)
def test_a_call_is_told_once_however_the_agent_tells_of_it(stage: Stage, way: str) -> None:
    page = Page(stage, "plain", CARD)
    called = page.say(f"use {way} show_card {TEA}")
    [(call, name)] = started(called)
    assert name == "show_card"
    assert pending(called) == [call]
    assert arguments(called, call) == {"title": "Tea"}
    answered = page.give((call, "it is on the page"))
    assert json_of(answered) == {"content": [{"type": "text", "text": "it is on the page"}], "isError": False}
    assert not [event for event in answered if event["type"].startswith("TOOL_CALL")], "the page has it"
    assert "You said: and now?" in text_of(page.say("and now?"))
    assert not warnings_of(called + answered)


def test_an_agent_that_asks_first_is_answered_by_a_person_and_then_by_the_page(stage: Stage) -> None:
    page = Page(stage, "plain", CARD)
    asked = page.say(f"use gemini show_card {TEA}")
    [(call, name)] = started(asked)
    [interrupt] = asked[-1]["outcome"]["interrupts"]
    assert (interrupt["toolCallId"], name, arguments(asked, call)) == (call, "show_card", {"title": "Tea"})
    called = page.resume({"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}})
    assert pending(called) == [call]
    assert not of_type(called, "TOOL_CALL_ARGS"), "the page has them already"
    assert json_of(page.give((call, "shown")))["content"][0]["text"] == "shown"


def test_a_no_to_the_agents_question_reaches_no_tool(stage: Stage) -> None:
    page = Page(stage, "plain", CARD)
    [interrupt] = page.say(f"use gemini show_card {TEA}")[-1]["outcome"]["interrupts"]
    told = page.resume({"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": False}})
    assert text_of(told) == "not allowed"
    assert [event["toolCallId"] for event in of_type(told, "TOOL_CALL_RESULT")] == [interrupt["toolCallId"]]


def test_nobody_is_asked_where_the_run_says_so(stage: Stage) -> None:
    page = Page(stage, "plain", CARD, approvals="auto")
    assert len(pending(page.say(f"use gemini show_card {TEA}"))) == 1


def test_an_image_reaches_the_agent_as_an_image(stage: Stage) -> None:
    page = Page(stage, "plain", CARD)
    [call] = pending(page.say(f"use claude show_card {TEA}"))
    source = {"type": "data", "value": "aGk=", "mimeType": "image/png"}
    told = page.give((call, [{"type": "text", "text": "see"}, {"type": "image", "source": source}]))
    image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    [words, seen] = json_of(told)["content"]
    assert words == {"type": "text", "text": "see"}
    assert image.items() <= seen.items()


def test_a_tool_that_failed_is_a_failed_call(stage: Stage) -> None:
    page = Page(stage, "plain", CARD)
    [call] = pending(page.say(f"use claude show_card {TEA}"))
    told = json_of(page.give((call, "no room"), error="the page is full"))
    assert told["isError"] is True
    assert "the page is full" in json.dumps(told["content"])


@pytest.mark.parametrize("way", WAYS)
def test_two_calls_at_once_are_answered_one_by_one(stage: Stage, way: str) -> None:
    page = Page(stage, "plain", CARD)
    runs = [page.say(f"use_twice {way} show_card {TEA}")]
    given: dict[str, str] = {}
    while open_ones := runs[-1][-1].get("outcome", {}).get("pendingToolCallIds", []):
        given |= {call: f"result {len(given)}" for call in open_ones[:1]}
        runs.append(page.give((open_ones[0], given[open_ones[0]])))
        assert len(runs) < 6
    told = [event for events in runs for event in events]
    assert len(given) == 2
    assert dict(started(told)) == dict.fromkeys(given, "show_card")
    assert {json.dumps(arguments(told, call)) for call in given} == {TEA, "{}"}
    assert all(words in text_of(told) for words in given.values())


# -- no answer


def test_a_new_message_instead_of_a_result_ends_the_call(stage: Stage) -> None:
    page = Page(stage, "plain", CARD)
    [call] = pending(page.say(f"use claude show_card {TEA}"))
    instead = page.say("never mind")
    [result] = [event for event in of_type(instead, "TOOL_CALL_RESULT") if event["toolCallId"] == call]
    assert "gave no result" in result["content"]
    assert "never mind" in text_of(instead)


def test_a_cancelled_run_ends_the_call_and_the_session_goes_on(stage: Stage) -> None:
    page = Page(stage, "plain", CARD)
    pending(page.say(f"use claude show_card {TEA}"))
    assert page.cancel() == "cancelled"
    assert "You said: hello" in text_of(page.say("hello"))


def test_a_call_that_nobody_answers_in_time_is_an_error_that_says_so(tmp_path: Path) -> None:
    stage = Stage(tmp_path, interrupt_ttl=0.3).agent("plain")
    with stage:
        page = Page(stage, "plain", CARD)
        pending(page.say(f"use claude show_card {TEA}"))
        told = last_result(page)
        assert told["isError"] is True
        assert "gave no result" in told["content"][0]["text"]


def test_an_agent_that_does_not_wait_goes_on_and_is_told_later(stage: Stage) -> None:
    page, other = Page(stage, "plain", CARD), Talk(stage)
    [call] = pending(page.say("give_up show_card"))
    other.say("release")
    went_on = page.give((call, "shown at last"))
    assert text_of(went_on) == "I went on without it."
    assert outcome_of(went_on) == "success"
    assert "shown at last" in text_of(page.say("and now?")), "the result that came too late is told"


def test_a_call_after_the_turn_is_refused(stage: Stage) -> None:
    page = Page(stage, "plain", CARD)
    page.say("use_late")
    assert last_result(page)["isError"] is True


def test_a_tool_that_is_not_offered_is_refused_to_the_agent(stage: Stage) -> None:
    told = json_of(Page(stage, "plain", CARD).say("use_none elsewhere"))
    assert told["isError"] is True
    assert "does not offer" in told["content"][0]["text"]


# -- sessions


def test_an_open_session_follows_what_the_page_offers(stage: Stage) -> None:
    page = Page(stage, "plain", CARD)
    assert json_of(page.say("list")) == {"agui": ["show_card"]}
    page.tools = [CARD, OTHER]
    assert json_of(page.say("list")) == {"agui": ["show_card", "page_title"]}
    [(_, name)] = started(page.say("use claude page_title"))
    assert name == "page.title", "by the client's own name"
    assert len(stage.heard("plain", page.session, "session/load")) == 0, "in the same session"


@pytest.mark.parametrize(("agent", "way"), [("plain", "session/load"), ("full", "session/resume")])
def test_tools_that_come_later_open_the_session_anew(stage: Stage, agent: str, way: str) -> None:
    page = Page(stage, agent)
    page.say("hello")
    session = page.session
    page.tools = [CARD]
    told = page.say("list")
    assert json_of(told) == {"agui": ["show_card"]}
    assert page.session == session, "the same conversation"
    assert len(stage.heard(agent, session, way)) == 1
    assert not warnings_of(told)
    assert len(pending(page.say(f"use claude show_card {TEA}"))) == 1


@pytest.mark.parametrize("agent", ["deaf", "begins"])
def test_an_agent_that_does_not_ask_again_or_in_vain_is_opened_anew(stage: Stage, agent: str) -> None:
    page = Page(stage, agent, CARD)
    page.say("hello")
    page.say("again")
    assert stage.heard(agent, page.session, "session/load") == [], "the tools are the same"
    page.tools = [OTHER]
    assert json_of(page.say("list")) == {"agui": ["page_title"]}
    assert len(stage.heard(agent, page.session, "session/load")) == 1


@pytest.mark.parametrize(("agent", "first"), [("bare", ()), ("deaf-bare", (OTHER,))])
def test_an_agent_that_cannot_come_back_says_once_that_they_are_too_late(
    stage: Stage, agent: str, first: tuple[Wire, ...]
) -> None:
    page = Page(stage, agent, *first)
    page.say("hello")
    page.tools = [CARD]
    assert warnings_of(page.say("list")) == ["CLIENT_TOOLS_DEFERRED"]
    assert warnings_of(page.say("list")) == []


def test_each_session_has_its_own_tools(stage: Stage) -> None:
    one, two = Page(stage, "plain", CARD), Page(stage, "plain", OTHER)
    assert (json_of(one.say("list")), json_of(two.say("list"))) == ({"agui": ["show_card"]}, {"agui": ["page_title"]})


def test_a_run_without_tools_starts_nothing(stage: Stage) -> None:
    page = Page(stage, "plain")
    page.say("hello")
    assert stage.heard("plain", method="session/new")[-1]["params"]["mcpServers"] == []
    assert json_of(page.say("list")) == {}


def test_an_agent_known_to_leave_servers_alone_is_not_given_one(stage: Stage) -> None:
    told = stage.asks("/agents/leaves-them/capabilities?probe=1")
    assert told["tools"]["clientProvided"] is False
    page = Page(stage, "leaves-them", CARD)
    assert warnings_of(page.say("hello")) == ["TOOLS_DROPPED"]
    assert stage.heard("leaves-them", method="session/new")[-1]["params"]["mcpServers"] == []


def test_any_other_agent_says_that_it_takes_them(stage: Stage) -> None:
    assert stage.asks("/agents/bare/capabilities?probe=1")["tools"]["clientProvided"] is True


# -- nothing is left


def test_the_socket_is_for_this_user_alone_and_goes_with_the_session(stage: Home) -> None:
    before = set(stage.sockets)
    page = Page(stage, "plain", CARD)
    page.say("hello")
    [mine] = set(stage.sockets) - before
    assert stat.S_IMODE(mine.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(mine.stat().st_mode) == 0o600
    assert running(str(mine)), "the shim runs"
    assert stage.client.delete(page.path).status_code == 204
    until(lambda: not mine.exists() and not running(str(mine)))


def test_nothing_is_left_of_a_gateway_that_was_killed(tmp_path: Path) -> None:
    with TemporaryDirectory() as runtime, Home(tmp_path, runtime).agent("plain") as stage:
        Page(stage, "plain", CARD).say("hello")
        [left] = Path(runtime).glob("*/*")
        stage.kill()
        until(lambda: not running(str(left)))
        assert os.listdir(runtime), "what the dead cannot remove"
        stage.start()
        Page(stage, "plain").say("hello")
        assert os.listdir(runtime) == []
        Page(stage, "plain", CARD).say("hello")
        assert len(os.listdir(runtime)) == 1
        stage.terminate()
        assert os.listdir(runtime) == []
