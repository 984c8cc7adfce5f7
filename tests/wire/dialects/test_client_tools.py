"""The client's own tools in the recordings of four agents: offered, called by their own names, answered, told once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import orjson
import pytest

from gateway.events import (
    ClientToolCall,
    ClientToolsCalled,
    Event,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallResult,
    ToolCallStart,
    TurnEnded,
)
from gateway.turn import NO_RESULT, Answer
from gateway.wire.dialects import DIALECTS, Dialect, Prompt, SessionStart
from tests import replay

TRANSCRIPTS = replay.TRANSCRIPTS
CARD = {"name": "show_card", "description": "Shows a card.", "parameters": {"type": "object", "required": ["title"]}}
IMAGE = {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}}

Json = dict[str, Any]


class Play:
    """A recording, as the gateway would have it: what it is asked it answers like the host that was recorded."""

    def __init__(self, dialect: str, recording: str, renamed: Callable[[Json], Json]) -> None:
        self.dialect: Dialect = DIALECTS[dialect]()
        self.events: list[Event] = []
        self.sent: list[Json] = []
        entries = map(orjson.loads, (TRANSCRIPTS / f"{recording}.jsonl").read_bytes().splitlines())
        self._lines = [renamed(entry["line"]) for entry in entries if entry["dir"] == "out"]

    def until(self, kind: type[Event]) -> Any:
        """The first event of that kind, from here on."""
        while self._lines:
            found = self.dialect.read([orjson.dumps(self._lines.pop(0))])
            self._take()
            self.events += found
            for event in found:
                if isinstance(event, kind):
                    return event
        raise AssertionError(f"there was no {kind.__name__}: {self.events}")

    def answer(self, call: ClientToolCall, answer: Answer) -> None:
        self.dialect.answer(call.id, answer)
        self._take()

    def _take(self) -> None:
        self.sent += [orjson.loads(message) for message in self.dialect.outbox]
        self.dialect.outbox.clear()


def given(call: ClientToolCall, content: str | list[Json] = "card shown", **fields: str) -> Answer:
    return Answer(call.id, "resolved", {"role": "tool", "toolCallId": call.id, "content": content, **fields})


# -- the four


def _claude() -> Play:
    play = Play("claude", "claude/bidir-sdk-mcp-tool", lambda line: _told(line, {"req_1": "s-1"}))
    play.dialect.start_session(SessionStart("/workspace"))
    play.dialect.read(
        [orjson.dumps({"type": "control_response", "response": {"subtype": "success", "request_id": "s-1"}})]
    )
    play.dialect.prompt(_prompt())
    return play


def _codex() -> Play:
    play = Play("codex", "codex/appserver-dynamic-tool", _codex_id)
    play.dialect.start_session(SessionStart("/workspace", tools=(CARD,)))
    while not play.dialect.is_ready:
        play.dialect.read([orjson.dumps(play._lines.pop(0))])
    play._take()
    play.dialect.prompt(_prompt())
    return play


def _codex_id(line: Json) -> Json:
    """Our requests have other ids: the third is the turn's."""
    ours = "method" not in line and isinstance(line.get("id"), int)
    return {**line, "id": f"s:{line['id'] + 1}"} if ours else line


def _copilot() -> Play:
    play = Play("copilot", "copilot/headless-sdk", lambda line: line)
    play.dialect.start_session(SessionStart("/workspace", tools=(CARD,)))
    session = next(line["params"]["sessionId"] for line in play._lines if line.get("method") == "session.event")
    play.dialect.read([orjson.dumps({"jsonrpc": "2.0", "id": "s.2", "result": {"sessionId": session}})])
    play._take()
    play.dialect.prompt(_prompt())
    play.dialect.read([orjson.dumps({"jsonrpc": "2.0", "id": "s.3", "result": {}})])
    first = next(n for n, line in enumerate(play._lines) if "call_141bf3c261b7" in orjson.dumps(line).decode())
    said = [n for n, line in enumerate(play._lines[:first]) if '"user.message"' in orjson.dumps(line).decode()]
    play._lines = play._lines[said[-1] :]
    return play


def _omp() -> Play:
    play = Play("omp", "omp/rpc-host-tool", lambda line: line)
    play.dialect.start_session(SessionStart("/workspace"))
    ready: Json = {"type": "response", "command": "get_state", "success": True, "data": {"sessionId": "x"}}
    play.dialect.read([orjson.dumps({"type": "ready", "supportedProtocolVersions": [1]})])
    play.dialect.read([orjson.dumps({**ready, "id": "s-2"})])
    play.dialect.prompt(_prompt())
    for number in (3, 4):
        play.dialect.read([orjson.dumps({"type": "response", "id": f"s-{number}", "success": True})])
    play._lines = [line for line in play._lines if line.get("type") not in ("ready", "response")]
    return play


def _prompt(**fields: Any) -> Prompt:
    return Prompt([{"type": "text", "text": "show me"}], "k", **{"tools": (CARD,), **fields})


def _told(line: Any, names: dict[str, str]) -> Any:
    text = orjson.dumps(line)
    for old, new in names.items():
        text = text.replace(f'"{old}"'.encode(), f'"{new}"'.encode())
    return orjson.loads(text)


STAGES = {"claude": _claude, "codex": _codex, "copilot": _copilot, "omp": _omp}


@pytest.fixture(params=sorted(STAGES))
def play(request: pytest.FixtureRequest) -> Play:
    found = STAGES[request.param]()
    found._take()
    return found


def replies(play: Play, agent: str) -> Sequence[tuple[str, bool]]:
    """Of what was sent: the results of calls, as text, and whether they failed."""
    match agent:
        case "claude":
            told = [obj["response"]["response"].get("mcp_response", {}) for obj in play.sent if "response" in obj]
            results = [reply["result"] for reply in told if "content" in reply.get("result", {})]
            return [(result["content"][0]["text"], result.get("isError", False)) for result in results]
        case "codex":
            results = [message["result"] for message in play.sent if "contentItems" in message.get("result", {})]
            return [(result["contentItems"][0]["text"], not result["success"]) for result in results]
        case "copilot":
            given = [one["params"] for one in play.sent if one["method"] == "session.tools.handlePendingToolCall"]
            return [(one.get("result") or one["error"], "error" in one) for one in given]
        case _:
            results = [message for message in play.sent if message["type"] == "host_tool_result"]
            return [(one["result"]["content"][0]["text"], one.get("isError", False)) for one in results]


def test_a_call_is_told_once_by_the_clients_own_name_and_waits(play: Play) -> None:
    [call] = play.until(ClientToolsCalled).calls
    [start] = [event for event in play.events if isinstance(event, ToolCallStart)]
    assert (start.id, start.name) == (call.id, call.name) == (call.id, "show_card")
    assert "".join(event.delta for event in play.events if isinstance(event, ToolCallArgs)).replace(" ", "") in (
        '{"title":"hello"}',
        '{"title":"Hi"}',
    )
    assert [event.id for event in play.events if isinstance(event, ToolCallEnd)] == [call.id]
    assert not replies(play, play.dialect.name), "nothing is answered for the client"


def test_what_the_client_gave_goes_to_the_agent_and_the_turn_goes_on(play: Play) -> None:
    [call] = play.until(ClientToolsCalled).calls
    play.answer(call, given(call))
    assert replies(play, play.dialect.name) == [("card shown", False)]
    ended = play.until(TurnEnded)
    assert ended.stop_reason == "end_turn"
    assert [event.id for event in play.events if isinstance(event, ToolCallResult)] == [call.id], "for who drops it"


@pytest.mark.parametrize("lost", [True, False])
def test_a_result_that_is_none_is_told_as_a_failure(play: Play, lost: bool) -> None:
    [call] = play.until(ClientToolsCalled).calls
    play.answer(call, Answer(call.id, "cancelled") if lost else given(call, "", error="the page is closed"))
    assert replies(play, play.dialect.name) == [(NO_RESULT if lost else "the page is closed", True)]


def test_an_image_reaches_the_agents_that_take_one(play: Play) -> None:
    [call] = play.until(ClientToolsCalled).calls
    play.answer(call, given(call, [{"type": "text", "text": "look"}, IMAGE]))
    [(words, failed)] = replies(play, play.dialect.name)
    assert words.startswith("look")
    assert not failed
    if play.dialect.name != "copilot":
        assert "aGk=" in orjson.dumps(play.sent[-1]).decode()


# -- one by one


def test_claude_is_told_of_the_tools_right_before_the_prompt_and_again_when_they_change() -> None:
    dialect = DIALECTS["claude"]()
    dialect.start_session(SessionStart("/workspace"))
    subtypes = []
    for tools in ((), (CARD,), (CARD,), ({**CARD, "name": "other"},)):
        dialect.outbox.clear()
        dialect.prompt(_prompt(tools=tools))
        sent = [orjson.loads(message) for message in dialect.outbox]
        subtypes.append([one["request"]["subtype"] for one in sent if one["type"] == "control_request"])
        assert sent[-1]["type"] == "user"
    assert subtypes == [[], ["mcp_set_servers"], [], ["mcp_message"]]


def test_claude_need_not_ask_anybody_for_leave_to_use_a_tool_of_the_clients() -> None:
    play = _claude()
    play.until(ClientToolsCalled)
    allowed = [one["response"]["response"] for one in play.sent if one["type"] == "control_response"]
    assert {"behavior": "allow", "updatedInput": {"title": "hello"}} in allowed


def test_codex_begins_another_thread_when_the_old_one_lacks_a_tool() -> None:
    play = _codex()
    thread = play.dialect.session_id
    for tools, method, anew in (
        ((CARD,), "thread/resume", False),
        (({**CARD, "name": "other"},), "thread/start", True),
    ):
        play.dialect.outbox.clear()
        play.dialect.start_session(SessionStart("/workspace", thread, tools=tools, params={"connected": True}))
        [opening] = [orjson.loads(message) for message in play.dialect.outbox]
        assert (opening["method"], play.dialect.has_lost_history) == (method, anew)
    assert [tool["name"] for tool in opening["params"]["dynamicTools"]] == ["other"]


def test_copilots_tools_need_no_leave() -> None:
    dialect = DIALECTS["copilot"]()
    dialect.start_session(SessionStart("/workspace", tools=(CARD,)))
    create = orjson.loads(dialect.outbox[-1])
    assert [(tool["name"], tool["skipPermission"]) for tool in create["params"]["tools"]] == [("show_card", True)]


def test_omps_approval_of_a_tool_of_the_clients_is_given_at_once() -> None:
    play = _omp()
    ask = {"type": "extension_ui_request", "id": "q", "method": "select", "options": ["Approve", "Deny"]}
    assert not play.dialect.read([orjson.dumps({**ask, "title": "Allow tool: show_card"})])
    assert orjson.loads(play.dialect.outbox[-1])["value"] == "Approve"
    assert play.dialect.read([orjson.dumps({**ask, "title": "Allow tool: bash"})]), "the others are asked about"


def test_tools_that_omp_does_not_take_are_told_as_dropped_and_the_turn_goes_on() -> None:
    dialect = DIALECTS["omp"]()
    dialect.start_session(SessionStart("/workspace"))
    dialect.prompt(_prompt(tools=({**CARD, "name": "bash"},)))
    offer = orjson.loads(dialect.outbox[-1])
    refused = {"type": "response", "id": offer["id"], "success": False, "error": "conflicts with an existing tool"}
    [warned] = dialect.read([orjson.dumps(refused)])
    assert "conflicts" in getattr(warned, "message", "")
    assert orjson.loads(dialect.outbox[-1])["type"] == "prompt"
    ask = {"type": "extension_ui_request", "id": "q", "method": "select", "options": ["Approve", "Deny"]}
    assert dialect.read([orjson.dumps({**ask, "title": "Allow tool: bash"})]), "its own bash is asked about"


def test_a_name_that_no_model_takes_is_shown_as_the_client_wrote_it() -> None:
    dialect = DIALECTS["copilot"]()
    dialect.start_session(SessionStart("/workspace", tools=({**CARD, "name": "page.title"},)))
    dialect.read([orjson.dumps({"jsonrpc": "2.0", "id": "s.2", "result": {"sessionId": "x"}})])
    dialect.prompt(_prompt())
    data = {"requestId": "r", "toolCallId": "c", "toolName": "page_title", "arguments": {}}
    event = {"type": "external_tool.requested", "data": data}
    told = {"jsonrpc": "2.0", "method": "session.event", "params": {"sessionId": "x", "event": event}}
    found = dialect.read([orjson.dumps(told)])
    assert [event.name for event in found if isinstance(event, ToolCallStart)] == ["page.title"]
    assert isinstance(found[-1], ClientToolsCalled)
