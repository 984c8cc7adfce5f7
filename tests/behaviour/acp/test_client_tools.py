"""Client tools at ACP agents: offered through an MCP server of the gateway, called, answered, or not."""

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
OTHER = {"name": "page.title", "description": "Returns the page's title.", "parameters": {"type": "object"}}
TEA = '{"title": "Tea"}'
REPORTING_STYLES = ("claude", "codex", "opencode", "qwen", "grok", "crow", "openhands", "afterwards", "silent")
"""How agents report such a call in ACP; not among them is the one that requests a permission first."""


class StageWithSockets(Stage):
    """A stage whose sockets can be listed. Their directory has a short name, because the path of a socket is
    bounded."""

    def __init__(self, home: Path, runtime: str) -> None:
        super().__init__(home)
        self._env["XDG_RUNTIME_DIR"] = runtime
        self.runtime = Path(runtime)

    @property
    def sockets(self) -> list[Path]:
        return [path for path in self.runtime.glob("*/*") if stat.S_ISSOCK(path.stat().st_mode)]


@pytest.fixture(scope="module")
def stage(tmp_path_factory: pytest.TempPathFactory) -> Iterator[StageWithSockets]:
    with TemporaryDirectory() as runtime:
        yield from start_stage(StageWithSockets(tmp_path_factory.mktemp("tools"), runtime))


def start_stage(stage: StageWithSockets) -> Iterator[StageWithSockets]:
    """With an agent of each kind."""
    stage.agent("plain").agent("bare", "--bare").agent("full", "--full")
    stage.agent("deaf", "--deaf-tools").agent("deaf-bare", "--deaf-tools", "--bare")
    stage.agent("begins", acp={"client_tools": "per-session"})
    stage.agent("leaves-them", capabilities={"tools": {"client_provided": False}})
    with stage:
        yield stage


class ClientWithTools(Talk):
    """A client that offers tools."""

    def __init__(self, stage: Stage, agent: str, *tools: Wire, **options: Any) -> None:
        super().__init__(stage, agent, **options)
        self.tools = list(tools)

    def _body(self, **fields: Any) -> dict[str, Any]:
        return super()._body(**{"tools": self.tools, **fields})

    def send_results(self, *results: tuple[str, Any], **more: Any) -> list[Wire]:
        """The results of its tools: (call id, content) each."""
        messages = [
            {"id": uuid4().hex, "role": "tool", "toolCallId": call, "content": content, **more}
            for call, content in results
        ]
        self._history.add_input(messages)
        return self._play(self._body())


def pending(events: list[Wire]) -> list[str]:
    outcome = events[-1]["outcome"]
    assert outcome["type"] == "success", outcome
    call_ids: list[str] = outcome["pendingToolCallIds"]
    return call_ids


def started(events: list[Wire]) -> list[tuple[str, str]]:
    return [(event["toolCallId"], event["toolCallName"]) for event in of_type(events, "TOOL_CALL_START")]


def arguments(events: list[Wire], call: str) -> Any:
    return json.loads("".join(one["delta"] for one in of_type(events, "TOOL_CALL_ARGS") if one["toolCallId"] == call))


def last_result(client: ClientWithTools) -> Any:
    """Of the agent's newest call, as soon as there is one."""
    call_ids: list[Any] = []

    def has_result() -> bool:
        call_ids.append(json_of(client.say("last")))
        return call_ids[-1] is not None

    until(has_result)
    return call_ids[-1]


# -- one call


@pytest.mark.parametrize("style", REPORTING_STYLES)
def test_a_call_is_reported_once_in_every_style_of_reporting(stage: Stage, style: str) -> None:
    client = ClientWithTools(stage, "plain", CARD)
    run = client.say(f"use {style} show_card {TEA}")
    [(call, name)] = started(run)
    assert name == "show_card"
    assert pending(run) == [call]
    assert arguments(run, call) == {"title": "Tea"}
    answered = client.send_results((call, "it is on the page"))
    assert json_of(answered) == {"content": [{"type": "text", "text": "it is on the page"}], "isError": False}
    assert not [event for event in answered if event["type"].startswith("TOOL_CALL")], "the client has it"
    assert "You said: and now?" in text_of(client.say("and now?"))
    assert not warnings_of(run + answered)


def test_a_permission_is_answered_by_the_user_and_then_the_call_by_the_client(stage: Stage) -> None:
    client = ClientWithTools(stage, "plain", CARD)
    first_run = client.say(f"use gemini show_card {TEA}")
    [(call, name)] = started(first_run)
    [interrupt] = first_run[-1]["outcome"]["interrupts"]
    assert (interrupt["toolCallId"], name, arguments(first_run, call)) == (call, "show_card", {"title": "Tea"})
    run = client.resume({"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": True}})
    assert pending(run) == [call]
    assert not of_type(run, "TOOL_CALL_ARGS"), "the client has them already"
    assert json_of(client.send_results((call, "shown")))["content"][0]["text"] == "shown"


def test_a_denied_permission_calls_no_tool(stage: Stage) -> None:
    client = ClientWithTools(stage, "plain", CARD)
    [interrupt] = client.say(f"use gemini show_card {TEA}")[-1]["outcome"]["interrupts"]
    answer = client.resume({"interruptId": interrupt["id"], "status": "resolved", "payload": {"approved": False}})
    assert text_of(answer) == "not allowed"
    assert [event["toolCallId"] for event in of_type(answer, "TOOL_CALL_RESULT")] == [interrupt["toolCallId"]]


def test_no_permission_is_requested_where_the_run_approves_all(stage: Stage) -> None:
    client = ClientWithTools(stage, "plain", CARD, approvals="auto")
    assert len(pending(client.say(f"use gemini show_card {TEA}"))) == 1


def test_an_image_reaches_the_agent_as_an_image(stage: Stage) -> None:
    client = ClientWithTools(stage, "plain", CARD)
    [call] = pending(client.say(f"use claude show_card {TEA}"))
    source = {"type": "data", "value": "aGk=", "mimeType": "image/png"}
    answer = client.send_results((call, [{"type": "text", "text": "see"}, {"type": "image", "source": source}]))
    image = {"type": "image", "data": "aGk=", "mimeType": "image/png"}
    [text, seen] = json_of(answer)["content"]
    assert text == {"type": "text", "text": "see"}
    assert image.items() <= seen.items()


def test_a_tool_that_failed_is_a_failed_call(stage: Stage) -> None:
    client = ClientWithTools(stage, "plain", CARD)
    [call] = pending(client.say(f"use claude show_card {TEA}"))
    answer = json_of(client.send_results((call, "no room"), error="the page is full"))
    assert answer["isError"] is True
    assert "the page is full" in json.dumps(answer["content"])


@pytest.mark.parametrize("style", REPORTING_STYLES)
def test_two_calls_at_once_are_answered_one_by_one(stage: Stage, style: str) -> None:
    client = ClientWithTools(stage, "plain", CARD)
    runs = [client.say(f"use_twice {style} show_card {TEA}")]
    results: dict[str, str] = {}
    while open_ones := runs[-1][-1].get("outcome", {}).get("pendingToolCallIds", []):
        results |= {call: f"result {len(results)}" for call in open_ones[:1]}
        runs.append(client.send_results((open_ones[0], results[open_ones[0]])))
        assert len(runs) < 6
    events = [event for run in runs for event in run]
    assert len(results) == 2
    assert dict(started(events)) == dict.fromkeys(results, "show_card")
    assert {json.dumps(arguments(events, call)) for call in results} == {TEA, "{}"}
    assert all(text in text_of(events) for text in results.values())


# -- no answer


def test_a_new_message_instead_of_a_result_ends_the_call(stage: Stage) -> None:
    client = ClientWithTools(stage, "plain", CARD)
    [call] = pending(client.say(f"use claude show_card {TEA}"))
    instead = client.say("never mind")
    [result] = [event for event in of_type(instead, "TOOL_CALL_RESULT") if event["toolCallId"] == call]
    assert "gave no result" in result["content"]
    assert "never mind" in text_of(instead)


def test_a_cancelled_run_ends_the_call_and_the_session_goes_on(stage: Stage) -> None:
    client = ClientWithTools(stage, "plain", CARD)
    pending(client.say(f"use claude show_card {TEA}"))
    assert client.cancel() == "cancelled"
    assert "You said: hello" in text_of(client.say("hello"))


def test_a_call_without_an_answer_in_time_is_an_error(tmp_path: Path) -> None:
    stage = Stage(tmp_path, interrupt_ttl=0.3).agent("plain")
    with stage:
        client = ClientWithTools(stage, "plain", CARD)
        pending(client.say(f"use claude show_card {TEA}"))
        answer = last_result(client)
        assert answer["isError"] is True
        assert "gave no result" in answer["content"][0]["text"]


def test_an_agent_that_does_not_wait_gets_the_result_later(stage: Stage) -> None:
    client, other = ClientWithTools(stage, "plain", CARD), Talk(stage)
    [call] = pending(client.say("give_up show_card"))
    other.say("release")
    run = client.send_results((call, "shown at last"))
    assert text_of(run) == "I went on without it."
    assert outcome_of(run) == "success"
    assert "shown at last" in text_of(client.say("and now?")), "the prompt has the result that came too late"


def test_a_call_after_the_turn_is_refused(stage: Stage) -> None:
    client = ClientWithTools(stage, "plain", CARD)
    client.say("use_late")
    assert last_result(client)["isError"] is True


def test_a_tool_that_is_not_offered_is_refused_to_the_agent(stage: Stage) -> None:
    answer = json_of(ClientWithTools(stage, "plain", CARD).say("use_none elsewhere"))
    assert answer["isError"] is True
    assert "does not offer" in answer["content"][0]["text"]


# -- sessions


def test_an_open_session_follows_what_the_client_offers(stage: Stage) -> None:
    client = ClientWithTools(stage, "plain", CARD)
    assert json_of(client.say("list")) == {"agui": ["show_card"]}
    client.tools = [CARD, OTHER]
    assert json_of(client.say("list")) == {"agui": ["show_card", "page_title"]}
    [(_, name)] = started(client.say("use claude page_title"))
    assert name == "page.title", "by the client's own name"
    assert len(stage.received("plain", client.session, "session/load")) == 0, "in the same session"


@pytest.mark.parametrize(("agent", "style"), [("plain", "session/load"), ("full", "session/resume")])
def test_tools_that_come_later_reopen_the_session(stage: Stage, agent: str, style: str) -> None:
    client = ClientWithTools(stage, agent)
    client.say("hello")
    session = client.session
    client.tools = [CARD]
    answer = client.say("list")
    assert json_of(answer) == {"agui": ["show_card"]}
    assert client.session == session, "the same conversation"
    assert len(stage.received(agent, session, style)) == 1
    assert not warnings_of(answer)
    assert len(pending(client.say(f"use claude show_card {TEA}"))) == 1


@pytest.mark.parametrize("agent", ["deaf", "begins"])
def test_a_session_is_reopened_for_an_agent_that_does_not_list_changed_tools(stage: Stage, agent: str) -> None:
    client = ClientWithTools(stage, agent, CARD)
    client.say("hello")
    client.say("again")
    assert stage.received(agent, client.session, "session/load") == [], "the tools are the same"
    client.tools = [OTHER]
    assert json_of(client.say("list")) == {"agui": ["page_title"]}
    assert len(stage.received(agent, client.session, "session/load")) == 1


@pytest.mark.parametrize(("agent", "first"), [("bare", ()), ("deaf-bare", (OTHER,))])
def test_an_agent_that_cannot_resume_causes_one_warning(stage: Stage, agent: str, first: tuple[Wire, ...]) -> None:
    client = ClientWithTools(stage, agent, *first)
    client.say("hello")
    client.tools = [CARD]
    assert warnings_of(client.say("list")) == ["CLIENT_TOOLS_DEFERRED"]
    assert warnings_of(client.say("list")) == []


def test_each_session_has_its_own_tools(stage: Stage) -> None:
    one, two = ClientWithTools(stage, "plain", CARD), ClientWithTools(stage, "plain", OTHER)
    assert (json_of(one.say("list")), json_of(two.say("list"))) == ({"agui": ["show_card"]}, {"agui": ["page_title"]})


def test_a_run_without_tools_starts_nothing(stage: Stage) -> None:
    client = ClientWithTools(stage, "plain")
    client.say("hello")
    assert stage.received("plain", method="session/new")[-1]["params"]["mcpServers"] == []
    assert json_of(client.say("list")) == {}


def test_an_agent_that_ignores_servers_gets_none(stage: Stage) -> None:
    answer = stage.asks("/agents/leaves-them/capabilities?probe=1")
    assert answer["tools"]["clientProvided"] is False
    client = ClientWithTools(stage, "leaves-them", CARD)
    assert warnings_of(client.say("hello")) == ["TOOLS_DROPPED"]
    assert stage.received("leaves-them", method="session/new")[-1]["params"]["mcpServers"] == []


# -- clean-up


def test_the_socket_is_for_this_user_alone_and_goes_with_the_session(stage: StageWithSockets) -> None:
    before = set(stage.sockets)
    client = ClientWithTools(stage, "plain", CARD)
    client.say("hello")
    [own_socket] = set(stage.sockets) - before
    assert stat.S_IMODE(own_socket.parent.stat().st_mode) == 0o700
    assert stat.S_IMODE(own_socket.stat().st_mode) == 0o600
    assert running(str(own_socket)), "the shim runs"
    assert stage.client.delete(client.path).status_code == 204
    until(lambda: not own_socket.exists() and not running(str(own_socket)))


def test_nothing_is_left_of_a_gateway_that_was_killed(tmp_path: Path) -> None:
    with TemporaryDirectory() as runtime, StageWithSockets(tmp_path, runtime).agent("plain") as stage:
        ClientWithTools(stage, "plain", CARD).say("hello")
        [stale_socket] = Path(runtime).glob("*/*")
        stage.kill()
        until(lambda: not running(str(stale_socket)))
        assert os.listdir(runtime), "the killed gateway could not remove it"
        stage.start()
        ClientWithTools(stage, "plain").say("hello")
        assert os.listdir(runtime) == []
        ClientWithTools(stage, "plain", CARD).say("hello")
        assert len(os.listdir(runtime)) == 1
        stage.terminate()
        assert os.listdir(runtime) == []
