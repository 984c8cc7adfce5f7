"""The MCP server of the client's own tools, without a connection."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given

from gateway.turn import Answer
from gateway.wire.mcp_server import (
    MAX_OPEN_CALLS,
    VERSIONS,
    CallCancelled,
    Offer,
    ToolCall,
    ToolServer,
    agent_call_id,
    result_of,
)
from tests.agui.streams import VALUES, steady

PICK = {"name": "pick", "description": "Pick one", "parameters": {"type": "object"}}


def offer(*tools: dict[str, Any]) -> Offer:
    new_offer = Offer()
    new_offer.change(tools)
    return new_offer


def send(server: ToolServer, *messages: dict[str, Any]) -> list[ToolCall | CallCancelled]:
    return server.read([json.dumps({"jsonrpc": "2.0", **message}).encode() for message in messages])


def call(number: int, name: str = "pick", **params: Any) -> dict[str, Any]:
    return {"id": number, "method": "tools/call", "params": {"name": name, **params}}


def tools_state(server: ToolServer) -> tuple[bool, bool]:
    return server.has_listed_tools, server.has_read_tools


def take_outbox(server: ToolServer) -> list[dict[str, Any]]:
    messages = [json.loads(line) for line in server.outbox]
    server.outbox.clear()
    return messages


def test_the_newest_known_version_is_agreed_on() -> None:
    for requested, agreed in ((VERSIONS[-1], VERSIONS[-1]), ("2099-01-01", VERSIONS[0]), (7, VERSIONS[0])):
        result = result_of("initialize", {"protocolVersion": requested}, Offer())
        assert result is not None and result["protocolVersion"] == agreed


def test_tools_are_listed_under_safe_names() -> None:
    result = result_of("tools/list", None, offer({**PICK, "name": "pick one"}))
    assert result is not None
    assert [(tool["name"], tool["description"]) for tool in result["tools"]] == [("pick_one", "Pick one")]


def test_a_call_waits_for_the_clients_answer() -> None:
    server = ToolServer(offer(PICK))
    [called] = send(server, call(7, arguments={"a": 1}, _meta={"callId": "c7", "progressToken": "p"}))
    assert called == ToolCall(7, "pick", {"a": 1}, "c7", "p")
    assert server.outbox == []
    server.report_progress(called, 1)
    server.answer(called, Answer("c", "resolved", {"content": "red"}))
    server.answer(called, Answer("c", "resolved", {"content": "blue"}))
    progress, reply = take_outbox(server)
    assert progress["params"]["progressToken"] == "p"
    assert reply == {
        "jsonrpc": "2.0",
        "id": 7,
        "result": {"content": [{"type": "text", "text": "red"}], "isError": False},
    }


def test_a_cancelled_call_is_not_answered() -> None:
    server = ToolServer(offer(PICK))
    [called] = send(server, call(7))
    assert isinstance(called, ToolCall)
    cancelled = {"method": "notifications/cancelled", "params": {"requestId": 7}}
    assert send(server, cancelled, cancelled) == [CallCancelled(7)]
    server.answer(called, Answer("c", "resolved", {"content": "red"}))
    assert server.outbox == []


def test_calls_that_cannot_be_made_are_refused() -> None:
    server = ToolServer(offer(PICK))
    assert send(server, call(1, "other"), call(2, arguments=[1]), {"id": 3, "method": "prompts/list"}) == []
    unknown, invalid, unserved = take_outbox(server)
    assert unknown["result"]["isError"] is True
    assert (invalid["error"]["code"], unserved["error"]["code"]) == (-32602, -32601)
    assert len(send(server, *(call(10 + number) for number in range(MAX_OPEN_CALLS + 1)))) == MAX_OPEN_CALLS
    assert take_outbox(server)[0]["error"]["code"] == -32600


def test_an_agent_has_read_changed_tools_when_it_answers_the_ping_behind_them() -> None:
    tools = offer(PICK)
    server = ToolServer(tools)
    send(server, {"method": "notifications/initialized"}, {"id": 1, "method": "tools/list"})
    assert tools_state(server) == (True, True)
    assert not tools.change([PICK]) and tools.change([])
    server.announce_change()
    assert tools_state(server) == (False, False)
    take_outbox(server)
    send(server, {"id": 2, "method": "tools/list"})
    ping = take_outbox(server)[-1]
    assert tools_state(server) == (True, False)
    send(server, {"id": ping["id"], "result": {}})
    assert tools_state(server) == (True, True)


@steady
@given(VALUES, VALUES)
def test_any_params_are_read(params: Any, meta: Any) -> None:
    server = ToolServer(offer(PICK))
    for number, method in enumerate(("initialize", "tools/list", "tools/call", "ping", "?")):
        send(server, {"id": number, "method": method, "params": params})
        result_of(method, params, offer(PICK))
    agent_call_id({"_meta": meta})
    send(server, {"id": 99, "method": "tools/call", "params": {"name": "pick", "_meta": meta}})
