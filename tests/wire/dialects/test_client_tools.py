"""The client's own tools in the recordings of four agents: offered, called by name, answered, reported once."""

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
from tests.replay import TRANSCRIPTS

CARD = {"name": "show_card", "description": "Shows a card.", "parameters": {"type": "object", "required": ["title"]}}
IMAGE = {"type": "image", "source": {"type": "data", "value": "aGk=", "mimeType": "image/png"}}

Json = dict[str, Any]


class ToolReplay:
    """A recording in which the agent calls a tool of its client; the dialect takes the place of the recorded client."""

    def __init__(self, dialect: str, recording: str, translate: Callable[[Json], Json]) -> None:
        self.dialect: Dialect = DIALECTS[dialect]()
        self.events: list[Event] = []
        self.sent: list[Json] = []
        entries = map(orjson.loads, (TRANSCRIPTS / f"{recording}.jsonl").read_bytes().splitlines())
        self.lines = [translate(entry["line"]) for entry in entries if entry["dir"] == "out"]

    def until(self, kind: type[Event]) -> Any:
        """The first event of that kind, from here on."""
        while self.lines:
            events = self.dialect.read([orjson.dumps(self.lines.pop(0))])
            self.collect_sent()
            self.events += events
            for event in events:
                if isinstance(event, kind):
                    return event
        raise AssertionError(f"there was no {kind.__name__}: {self.events}")

    def answer(self, call: ClientToolCall, answer: Answer) -> None:
        self.dialect.answer(call.id, answer)
        self.collect_sent()

    def collect_sent(self) -> None:
        self.sent += [orjson.loads(message) for message in self.dialect.outbox]
        self.dialect.outbox.clear()


def tool_result(call: ClientToolCall, content: str | list[Json] = "card shown", **fields: str) -> Answer:
    return Answer(call.id, "resolved", {"role": "tool", "toolCallId": call.id, "content": content, **fields})


# -- the four


def _claude() -> ToolReplay:
    replay = ToolReplay("claude", "claude/bidir-sdk-mcp-tool", lambda line: _rename_ids(line, {"req_1": "s-1"}))
    replay.dialect.start_session(SessionStart("/workspace"))
    replay.dialect.read(
        [orjson.dumps({"type": "control_response", "response": {"subtype": "success", "request_id": "s-1"}})]
    )
    replay.dialect.prompt(_prompt())
    return replay


def _codex() -> ToolReplay:
    replay = ToolReplay("codex", "codex/appserver-dynamic-tool", _codex_id)
    replay.dialect.start_session(SessionStart("/workspace", tools=(CARD,)))
    while not replay.dialect.is_ready:
        replay.dialect.read([orjson.dumps(replay.lines.pop(0))])
    replay.collect_sent()
    replay.dialect.prompt(_prompt())
    return replay


def _codex_id(line: Json) -> Json:
    """The dialect's requests have other ids: the third is the turn's."""
    is_response = "method" not in line and isinstance(line.get("id"), int)
    return {**line, "id": f"s:{line['id'] + 1}"} if is_response else line


def _copilot() -> ToolReplay:
    replay = ToolReplay("copilot", "copilot/headless-sdk", lambda line: line)
    replay.dialect.start_session(SessionStart("/workspace", tools=(CARD,)))
    session = next(line["params"]["sessionId"] for line in replay.lines if line.get("method") == "session.event")
    replay.dialect.read([orjson.dumps({"jsonrpc": "2.0", "id": "s.2", "result": {"sessionId": session}})])
    replay.collect_sent()
    replay.dialect.prompt(_prompt())
    replay.dialect.read([orjson.dumps({"jsonrpc": "2.0", "id": "s.3", "result": {}})])
    first = next(n for n, line in enumerate(replay.lines) if "call_141bf3c261b7" in orjson.dumps(line).decode())
    prompts = [n for n, line in enumerate(replay.lines[:first]) if '"user.message"' in orjson.dumps(line).decode()]
    replay.lines = replay.lines[prompts[-1] :]
    return replay


def _omp() -> ToolReplay:
    replay = ToolReplay("omp", "omp/rpc-host-tool", lambda line: line)
    replay.dialect.start_session(SessionStart("/workspace"))
    ready: Json = {"type": "response", "command": "get_state", "success": True, "data": {"sessionId": "x"}}
    replay.dialect.read([orjson.dumps({"type": "ready", "supportedProtocolVersions": [1]})])
    replay.dialect.read([orjson.dumps({**ready, "id": "s-2"})])
    replay.dialect.prompt(_prompt())
    for number in (3, 4):
        replay.dialect.read([orjson.dumps({"type": "response", "id": f"s-{number}", "success": True})])
    replay.lines = [line for line in replay.lines if line.get("type") not in ("ready", "response")]
    return replay


def _prompt(**fields: Any) -> Prompt:
    return Prompt([{"type": "text", "text": "show me"}], "k", **{"tools": (CARD,), **fields})


def _rename_ids(line: Any, names: dict[str, str]) -> Any:
    text = orjson.dumps(line)
    for old, new in names.items():
        text = text.replace(f'"{old}"'.encode(), f'"{new}"'.encode())
    return orjson.loads(text)


REPLAYS = {"claude": _claude, "codex": _codex, "copilot": _copilot, "omp": _omp}


@pytest.fixture(params=sorted(REPLAYS))
def replay(request: pytest.FixtureRequest) -> ToolReplay:
    replay = REPLAYS[request.param]()
    replay.collect_sent()
    return replay


def replies(replay: ToolReplay, agent: str) -> Sequence[tuple[str, bool]]:
    """Of what was sent: the results of calls, as text, and whether they failed."""
    match agent:
        case "claude":
            responses = [
                obj["response"]["response"].get("mcp_response", {}) for obj in replay.sent if "response" in obj
            ]
            results = [reply["result"] for reply in responses if "content" in reply.get("result", {})]
            return [(result["content"][0]["text"], result.get("isError", False)) for result in results]
        case "codex":
            results = [message["result"] for message in replay.sent if "contentItems" in message.get("result", {})]
            return [(result["contentItems"][0]["text"], not result["success"]) for result in results]
        case "copilot":
            responses = [one["params"] for one in replay.sent if one["method"] == "session.tools.handlePendingToolCall"]
            return [(one.get("result") or one["error"], "error" in one) for one in responses]
        case _:
            results = [message for message in replay.sent if message["type"] == "host_tool_result"]
            return [(one["result"]["content"][0]["text"], one.get("isError", False)) for one in results]


def test_a_call_is_reported_once_by_the_clients_own_name_and_waits(replay: ToolReplay) -> None:
    [call] = replay.until(ClientToolsCalled).calls
    [start] = [event for event in replay.events if isinstance(event, ToolCallStart)]
    assert (start.id, start.name) == (call.id, call.name) == (call.id, "show_card")
    assert "".join(event.delta for event in replay.events if isinstance(event, ToolCallArgs)).replace(" ", "") in (
        '{"title":"hello"}',
        '{"title":"Hi"}',
    )
    assert [event.id for event in replay.events if isinstance(event, ToolCallEnd)] == [call.id]
    assert not replies(replay, replay.dialect.name), "nothing is answered for the client"


def test_the_clients_result_goes_to_the_agent_and_the_turn_goes_on(replay: ToolReplay) -> None:
    [call] = replay.until(ClientToolsCalled).calls
    replay.answer(call, tool_result(call))
    assert replies(replay, replay.dialect.name) == [("card shown", False)]
    ended = replay.until(TurnEnded)
    assert ended.stop_reason == "end_turn"
    assert [event.id for event in replay.events if isinstance(event, ToolCallResult)] == [call.id], (
        "the driver drops it"
    )


@pytest.mark.parametrize("lost", [True, False])
def test_a_missing_result_is_reported_as_a_failure(replay: ToolReplay, lost: bool) -> None:
    [call] = replay.until(ClientToolsCalled).calls
    replay.answer(call, Answer(call.id, "cancelled") if lost else tool_result(call, "", error="the page is closed"))
    assert replies(replay, replay.dialect.name) == [(NO_RESULT if lost else "the page is closed", True)]


def test_an_image_reaches_the_agents_that_take_one(replay: ToolReplay) -> None:
    [call] = replay.until(ClientToolsCalled).calls
    replay.answer(call, tool_result(call, [{"type": "text", "text": "look"}, IMAGE]))
    [(text, failed)] = replies(replay, replay.dialect.name)
    assert text.startswith("look")
    assert not failed
    if replay.dialect.name != "copilot":
        assert "aGk=" in orjson.dumps(replay.sent[-1]).decode()


# -- one by one


def test_claude_gets_the_tools_right_before_the_prompt_and_again_when_they_change() -> None:
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


def test_claude_needs_no_approval_for_a_client_tool() -> None:
    replay = _claude()
    replay.until(ClientToolsCalled)
    allowed = [one["response"]["response"] for one in replay.sent if one["type"] == "control_response"]
    assert {"behavior": "allow", "updatedInput": {"title": "hello"}} in allowed


def test_codex_begins_another_thread_when_the_old_one_lacks_a_tool() -> None:
    replay = _codex()
    thread = replay.dialect.session_id
    for tools, method, has_lost_history in (
        ((CARD,), "thread/resume", False),
        (({**CARD, "name": "other"},), "thread/start", True),
    ):
        replay.dialect.outbox.clear()
        replay.dialect.start_session(SessionStart("/workspace", thread, tools=tools, params={"connected": True}))
        [opening] = [orjson.loads(message) for message in replay.dialect.outbox]
        assert (opening["method"], replay.dialect.has_lost_history) == (method, has_lost_history)
    assert [tool["name"] for tool in opening["params"]["dynamicTools"]] == ["other"]


def test_copilot_needs_no_approval_for_a_client_tool() -> None:
    dialect = DIALECTS["copilot"]()
    dialect.start_session(SessionStart("/workspace", tools=(CARD,)))
    create = orjson.loads(dialect.outbox[-1])
    assert [(tool["name"], tool["skipPermission"]) for tool in create["params"]["tools"]] == [("show_card", True)]


def test_omp_gets_approval_for_a_client_tool_at_once() -> None:
    replay = _omp()
    ask = {"type": "extension_ui_request", "id": "q", "method": "select", "options": ["Approve", "Deny"]}
    assert not replay.dialect.read([orjson.dumps({**ask, "title": "Allow tool: show_card"})])
    assert orjson.loads(replay.dialect.outbox[-1])["value"] == "Approve"
    assert replay.dialect.read([orjson.dumps({**ask, "title": "Allow tool: bash"})]), "the others are asked about"


def test_tools_that_omp_refuses_are_a_warning_and_the_turn_goes_on() -> None:
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
    notification = {"jsonrpc": "2.0", "method": "session.event", "params": {"sessionId": "x", "event": event}}
    found = dialect.read([orjson.dumps(notification)])
    assert [event.name for event in found if isinstance(event, ToolCallStart)] == ["page.title"]
    assert isinstance(found[-1], ClientToolsCalled)
