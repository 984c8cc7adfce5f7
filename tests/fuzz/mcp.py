"""Targets: what an MCP server lists as its tools, and what an agent asks of the client's tools."""

from __future__ import annotations

from random import Random
from typing import Any

import orjson

from gateway.drivers.mcp_client.tool_list import ToolCollector, truncate_page
from gateway.errors import NotJson
from gateway.jsonio import dumps, loads
from gateway.turn import Answer
from gateway.wire.mcp_server import Offer, ToolCall, ToolServer
from tests.fuzz.answers import UNCLEAR_PAYLOADS
from tests.fuzz.target import Sample, Target, batches

SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]}
ANNOTATIONS = {"readOnlyHint": True, "destructiveHint": False, "title": "Weather"}
TOOL = {"name": "weather", "title": "Weather", "description": "Now", "inputSchema": SCHEMA, "annotations": ANNOTATIONS}
PAGES: tuple[Any, ...] = (
    {"jsonrpc": "2.0", "id": 1, "result": {"tools": [TOOL, {**TOOL, "name": "rain"}], "nextCursor": "2"}},
    {"jsonrpc": "2.0", "id": 2, "result": {"tools": [{"name": "plain", "inputSchema": {}}, TOOL], "nextCursor": "3"}},
    {"jsonrpc": "2.0", "id": 3, "result": {"tools": [{**TOOL, "name": f"t{number}"} for number in range(20)]}},
    {"jsonrpc": "2.0", "id": 4, "result": {"tools": [{**TOOL, "name": "n" * 300, "description": "d" * 9000}]}},
)
CLIENT = {"name": "agent", "version": "1"}
INITIALIZE = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": CLIENT}
META = {"progressToken": "p1", "claudecode/toolUseId": "toolu_1", "callId": "call_1"}
CALL = {"name": "weather", "arguments": {"city": "Bonn"}, "_meta": META}
REQUESTS: tuple[Any, ...] = (
    {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": INITIALIZE},
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 1, "method": "tools/list", "params": {}},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": CALL},
    {"jsonrpc": "2.0", "id": "3", "method": "tools/call", "params": {**CALL, "name": "rain"}},
    {"jsonrpc": "2.0", "id": 4, "method": "tools/call", "params": CALL},
    {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 4, "reason": "no need"}},
    {"jsonrpc": "2.0", "id": 5, "method": "tools/list", "params": {"cursor": "x"}},
    {"jsonrpc": "2.0", "id": 0, "result": {}},
    {"jsonrpc": "2.0", "id": 6, "method": "ping"},
    {"jsonrpc": "2.0", "id": 7, "method": "resources/list"},
)


def mcp_targets() -> list[Target]:
    return [
        Target("mcp/tool-list", [Sample("pages", tuple(map(orjson.dumps, PAGES)))], _check_tool_list),
        Target("mcp/server", [Sample("requests", tuple(map(orjson.dumps, REQUESTS)))], _check_server),
    ]


def _check_tool_list(sample: Sample, lines: list[bytes], rng: Random) -> None:
    """Every list can be written, whatever the pages hold."""
    tools = ToolCollector()
    for line in lines:
        try:
            message = loads(line)
        except NotJson:
            continue
        page = truncate_page(message) if isinstance(message, dict) else None
        match page:
            case {"result": {"tools": list(listed)}}:
                tools.add([tool for tool in listed if isinstance(tool, dict)])
    tool_list = tools.to_list(has_more=rng.random() < 0.5)
    dumps({"tools": tool_list.tools})


def _check_server(sample: Sample, lines: list[bytes], rng: Random) -> None:
    """Every answer to the agent is one line of JSON."""
    offer = Offer()
    offer.change([{"name": "weather", "description": "Now", "parameters": SCHEMA}, {"name": "rain", "description": ""}])
    server = ToolServer(offer)
    for batch in batches(rng, lines):
        for call in server.read(batch):
            if isinstance(call, ToolCall):
                server.report_progress(call, 1)
                server.answer(call, Answer("i", "resolved", rng.choice(UNCLEAR_PAYLOADS)))
        if rng.random() < 0.1:
            offer.change([{"name": "rain", "description": ""}])
            server.announce_change()
    for line in server.outbox:
        assert isinstance(loads(line), dict)
