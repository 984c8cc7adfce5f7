"""The table in the package's docstring: each row is played, and gives the events it names and no others."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

import gateway.wire.acp as package
from gateway.agui.ordering import Order
from gateway.agui.outbound import Outbound
from gateway.events import Event, InterruptRequested, TurnEnded, TurnFailed
from gateway.wire.acp.session import SessionReader
from gateway.wire.jsonrpc import Fault
from tests.replay.runs import interrupt_json

Scene = tuple[list[Event], list[Event]]
"""What sets the scene, and what the row is about."""
Row = Callable[[SessionReader], Scene]


def text(content: str) -> dict[str, Any]:
    return {"type": "text", "text": content}


def updates(*changes: dict[str, Any]) -> Row:
    return lambda reader: ([], [event for change in changes for event in reader.read(change)])


def after(scene: dict[str, Any], *changes: dict[str, Any]) -> Row:
    return lambda reader: (reader.read(scene), updates(*changes)(reader)[1])


def call(**fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call", "toolCallId": "c", "title": "Run it", "kind": "execute", **fields}


def change(**fields: Any) -> dict[str, Any]:
    return {"sessionUpdate": "tool_call_update", "toolCallId": "c", **fields}


def child(**state: Any) -> dict[str, Any]:
    return {"sessionUpdate": "subagent_update", "sessionId": "kid", "title": "helper", "state": state}


def ending(reason: str, *, cancelled: bool = False) -> Row:
    scene = {"sessionUpdate": "agent_message_chunk", "content": text("hi")}
    return lambda reader: (reader.read(scene), reader.end_turn(reason, cancelled=cancelled))


def interrupted_by(method: str, params: dict[str, Any]) -> Row:
    def play(reader: SessionReader) -> Scene:
        scene = reader.read(call(rawInput={}))
        ask = reader.read_permission if method == "permission" else reader.read_elicitation
        events, question = ask(1, params)
        return [*scene, *events, *reader.park()], [InterruptRequested((question,))]

    return play


PRINTED = [{"type": "content", "content": text("one")}]
MORE = [{"type": "content", "content": text("one two")}]
CHUNK = {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "c", "content": PRINTED[0]}
ENTRY = {"content": "first", "priority": "high", "status": "pending"}

ROWS: dict[str, Row] = {
    "`agent_message_chunk`": updates({"sessionUpdate": "agent_message_chunk", "content": text("hi")}),
    "`agent_thought_chunk`": updates({"sessionUpdate": "agent_thought_chunk", "content": text("hm")}),
    "`user_message_chunk`": updates({"sessionUpdate": "user_message_chunk", "content": text("hi")}),
    "`agent_message`": updates({"sessionUpdate": "agent_message", "messageId": "m", "content": [text("hi")]}),
    "`agent_thought`": updates({"sessionUpdate": "agent_thought", "messageId": "m", "content": [text("hm")]}),
    "`user_message`": updates({"sessionUpdate": "user_message", "messageId": "m", "content": [text("hi")]}),
    "image or audio": updates(
        {
            "sessionUpdate": "agent_message_chunk",
            "content": {"type": "image", "data": "AA==", "mimeType": "image/png"},
        }
    ),
    "`tool_call`": updates(call()),
    "`rawInput`": after(call(), change(rawInput={"command": "ls"}, status="in_progress")),
    "`status` completed": after(call(status="in_progress"), change(status="completed", content=PRINTED)),
    "`status` failed": after(call(status="in_progress"), change(status="failed", content=PRINTED)),
    "`tool_call_update`": after(call(status="in_progress"), change(title="Run it now")),
    "`content` in progress": after(call(status="in_progress"), change(content=PRINTED), change(content=MORE)),
    "`tool_call_content_chunk`": after(call(status="in_progress"), CHUNK, CHUNK),
    "`_meta.terminal_output`": after(
        call(status="in_progress"),
        change(_meta={"terminal_output": {"terminal_id": "t", "data": "one"}}),
        change(_meta={"terminal_exit": {"terminal_id": "t", "exit_code": 0}}),
    ),
    "`terminal_update`": updates(
        {"sessionUpdate": "terminal_update", "terminalId": "t", "command": "ls"},
        {"sessionUpdate": "terminal_update", "terminalId": "t", "exitStatus": {"exitCode": 0}},
    ),
    "`terminal_output_chunk`": updates(
        {"sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": "b25l"},
        {"sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": "b25l"},
    ),
    "`plan`": updates(
        {"sessionUpdate": "plan", "entries": [ENTRY]},
        {"sessionUpdate": "plan", "entries": [{**ENTRY, "status": "completed"}]},
    ),
    "`plan_update`": updates(
        {"sessionUpdate": "plan_update", "plan": {"type": "items", "planId": "p", "entries": [ENTRY]}},
        {"sessionUpdate": "plan_update", "plan": {"type": "items", "planId": "p", "entries": []}},
    ),
    "`plan_removed`": updates(
        {"sessionUpdate": "plan_update", "plan": {"type": "markdown", "planId": "p", "content": "do it"}},
        {"sessionUpdate": "plan_removed", "planId": "p"},
    ),
    "`available_commands_update`": updates(
        {"sessionUpdate": "available_commands_update", "availableCommands": [{"name": "go", "description": "Go"}]}
    ),
    "`current_mode_update`": updates({"sessionUpdate": "current_mode_update", "currentModeId": "plan"}),
    "`config_option_update`": updates(
        {"sessionUpdate": "config_option_update", "configOptions": [{"id": "fast", "name": "Fast", "type": "boolean"}]}
    ),
    "`session_info_update`": updates({"sessionUpdate": "session_info_update", "title": "A talk"}),
    "`usage_update`": updates({"sessionUpdate": "usage_update", "used": 5, "size": 100}),
    "`notice`": updates({"sessionUpdate": "notice", "severity": "warning", "title": "Careful"}),
    "`compaction_update`": updates(
        {"sessionUpdate": "compaction_update", "compactionId": "k", "status": "in_progress"}
    ),
    "`compaction_summary_chunk`": updates(
        {"sessionUpdate": "compaction_summary_chunk", "compactionId": "k", "content": text("short")}
    ),
    "`subagent_update`": updates(child(state="running"), child(state="idle", stopReason="end_turn")),
    "`subagent_update` error": updates(
        child(state="running"), child(state="idle", stopReason="error", error={"code": 1, "message": "no"})
    ),
    "`session_message`": updates(
        {"sessionUpdate": "session_message", "messageId": "m", "senderSessionId": "a", "content": [text("go")]}
    ),
    "`session_message_chunk`": updates(
        {"sessionUpdate": "session_message_chunk", "messageId": "m", "content": text("go")}
    ),
    "`state_update`": after(
        {"sessionUpdate": "agent_message_chunk", "content": text("hi")},
        {"sessionUpdate": "state_update", "state": "idle", "stopReason": "end_turn"},
    ),
    "any other update": updates({"sessionUpdate": "_vendor_thing", "value": 1}),
    "`session/request_permission`": interrupted_by(
        "permission",
        {"toolCall": {"toolCallId": "c"}, "options": [{"optionId": "y", "name": "Yes", "kind": "allow_once"}]},
    ),
    "`elicitation/create`": interrupted_by(
        "elicitation", {"mode": "form", "message": "Which?", "requestedSchema": {"type": "object"}}
    ),
    "`end_turn`": ending("end_turn"),
    "`end_turn` and no output": lambda reader: ([], reader.end_turn("end_turn")),
    "`cancelled`": ending("end_turn", cancelled=True),
    "`max_tokens`": ending("max_tokens"),
    "`max_turn_requests`": ending("max_turn_requests"),
    "`refusal`": ending("refusal"),
    "error answer": lambda reader: ([], reader.fail_turn(Fault(-32603, "Internal error"))),
}


def table() -> dict[str, set[str]]:
    rows = re.findall(r"^\| (.+?) \| (.+?) \| .*\|$", package.__doc__ or "", re.MULTILINE)
    named = {name: set(re.findall(r"`(.+?)`", events)) for name, events in rows if name not in ("ACP", "---")}
    assert len(named) + 1 == len(rows)
    return named


def seen(scene: list[Event], events: list[Event]) -> list[str]:
    """What the events are on AG-UI's wire, by type, and by name where the type says little."""
    outbound, order = Outbound("t", "r", "m"), Order()
    before = outbound.started() + outbound.feed(scene)
    stream = outbound.feed(events)
    match outbound.ended:
        case TurnFailed() as broke:
            closing = outbound.failed(broke.message, broke.code)
        case ended:
            cancelled = isinstance(ended, TurnEnded) and ended.stop_reason == "cancelled"
            closing = outbound.finished([interrupt_json(q) for q in outbound.open_interrupts], cancelled=cancelled)
    for event in before + stream + closing:
        order.accept(event)
    over = outbound.ended is not None or bool(outbound.open_interrupts)
    return [_named(event) for event in stream + closing[-1:] * over]


def _named(event: dict[str, Any]) -> str:
    if event["type"] == "CUSTOM":
        return f"CUSTOM {event['name']}"
    outcome = event.get("outcome")
    return f"{event['type']} {outcome['type']}" if outcome else str(event["type"])


def test_the_table_and_the_tests_name_the_same_rows() -> None:
    assert list(table()) == list(ROWS)


@pytest.mark.parametrize("name", ROWS)
def test_a_row_produces_the_events_it_names(name: str) -> None:
    reader = SessionReader()
    reader.begin_turn("t1")
    found, promised = set(seen(*ROWS[name](reader))), table()[name]
    for family in {event for event in promised if event.endswith("*")}:
        members = {event for event in found if event.startswith(family[:-1])}
        assert members
        promised = promised - {family} | members
    assert found == promised
