"""What commands print: an activity that grows, and the text of the result."""

from __future__ import annotations

from base64 import b64encode
from typing import Any

from gateway.events import ActivityDelta, ActivitySnapshot, Event, ToolCallResult
from gateway.wire.activities import OUTPUT_MAX_CHARS
from tests.wire.acp.session_helper import call, change, read, reader

SHOWS = [{"type": "terminal", "terminalId": "x"}]


def add(value: str) -> list[dict[str, Any]]:
    return [{"op": "add", "path": "/output/-", "value": value}]


def chunk(octets: bytes) -> dict[str, Any]:
    return {"sessionUpdate": "terminal_output_chunk", "terminalId": "x", "data": b64encode(octets).decode()}


def activities(events: list[Event]) -> list[Event]:
    return [event for event in events if isinstance(event, ActivitySnapshot | ActivityDelta)]


def test_vendors_meta_is_a_terminal() -> None:
    session = reader()
    events = read(
        session,
        call(status="in_progress", content=SHOWS, _meta={"terminal_info": {"terminal_id": "x", "cwd": "/w"}}),
        change(_meta={"terminal_output": {"terminal_id": "x", "data": "a\n"}}),
        change(_meta={"terminal_output_delta": {"terminal_id": "x", "data": "b\n"}}),
        change(status="completed", _meta={"terminal_exit": {"terminal_id": "x", "exit_code": 2, "signal": None}}),
    )
    assert activities(events) == [
        ActivitySnapshot(
            "t1:terminal:x", "terminal", {"terminalId": "x", "toolCallId": "t1:c", "cwd": "/w", "output": []}
        ),
        ActivityDelta("t1:terminal:x", "terminal", add("a\n")),
        ActivityDelta("t1:terminal:x", "terminal", add("b\n")),
        ActivityDelta("t1:terminal:x", "terminal", [{"op": "add", "path": "/exitCode", "value": 2}]),
    ]
    assert isinstance(events[-1], ToolCallResult)
    assert events[-1].content == "a\nb\n"
    assert (events[-1].metadata or {})["acp"]["exitCode"] == 2


def test_nothing_else_of_meta_gets_out() -> None:
    events = read(reader(), call(_meta={"terminal_output": {"data": "no id"}, "apiKey": "sk-1"}))
    assert "sk-1" not in str(events)
    assert "no id" not in str(events)


def test_version_2s_terminal_is_linked_to_its_call() -> None:
    session = reader()
    events = read(
        session,
        {"sessionUpdate": "terminal_update", "terminalId": "x"},
        call(content=SHOWS),
        {"sessionUpdate": "terminal_update", "terminalId": "x", "command": "ls", "exitStatus": {"signal": "TERM"}},
    )
    assert activities(events) == [
        ActivitySnapshot("t1:terminal:x", "terminal", {"terminalId": "x", "output": []}),
        ActivityDelta(
            "t1:terminal:x",
            "terminal",
            [
                {"op": "add", "path": "/toolCallId", "value": "t1:c"},
                {"op": "add", "path": "/command", "value": "ls"},
                {"op": "add", "path": "/signal", "value": "TERM"},
            ],
        ),
    ]


def test_a_character_cut_between_two_chunks_is_whole() -> None:
    octets = "ä".encode()
    events = read(reader(), chunk(octets[:1]), chunk(octets[1:]))
    assert events == [
        ActivitySnapshot("t1:terminal:x", "terminal", {"terminalId": "x", "output": []}),
        ActivityDelta("t1:terminal:x", "terminal", add("ä")),
    ]


def test_output_that_comes_whole_appends_what_is_new_of_it() -> None:
    def outputs(output: str) -> dict[str, Any]:
        data = b64encode(output.encode()).decode()
        return {"sessionUpdate": "terminal_update", "terminalId": "x", "output": {"data": data}}

    session = reader()
    events = read(
        session, {"sessionUpdate": "terminal_update", "terminalId": "x"}, outputs("a"), outputs("ab"), outputs("c")
    )
    assert [event.patch for event in events if isinstance(event, ActivityDelta)] == [
        add("a"),
        add("b"),
        [{"op": "replace", "path": "/output", "value": ["c"]}],
    ]


def test_bytes_that_are_none_say_nothing() -> None:
    update = {"sessionUpdate": "terminal_output_chunk", "terminalId": "x", "data": "A"}
    assert activities(read(reader(), update)) == [
        ActivitySnapshot("t1:terminal:x", "terminal", {"terminalId": "x", "output": []})
    ]


def test_a_terminal_without_an_id_is_handed_on() -> None:
    for kind in ("terminal_update", "terminal_output_chunk"):
        (event,) = read(reader(), {"sessionUpdate": kind})
        assert type(event).__name__ == "Raw"


def test_the_gateways_own_terminal_is_shown_and_is_the_result() -> None:
    session = reader()
    read(session, call(status="in_progress", content=SHOWS))
    events = [*session.show_terminal("x", "hi\n", command="echo hi"), *session.show_terminal("x", exitCode=0)]
    about = {"terminalId": "x", "toolCallId": "t1:c", "command": "echo hi"}
    assert events == [
        ActivitySnapshot("t1:terminal:x", "terminal", {**about, "output": []}),
        ActivityDelta("t1:terminal:x", "terminal", add("hi\n")),
        ActivityDelta("t1:terminal:x", "terminal", [{"op": "add", "path": "/exitCode", "value": 0}]),
    ]
    (result,) = read(session, change(status="completed"))
    assert isinstance(result, ToolCallResult)
    assert result.content == "hi\n"


def test_of_a_long_output_the_result_has_the_end() -> None:
    session = reader()
    read(session, call(status="in_progress", content=SHOWS))
    for _ in range(30):
        session.show_terminal("x", "y" * 20_000)
    session.show_terminal("x", "the end")
    (result,) = read(session, change(status="completed"))
    assert isinstance(result, ToolCallResult)
    assert isinstance(result.content, str)
    assert result.content.startswith("[the first ")
    assert result.content.endswith("the end")
    assert len(result.content) < 2 * OUTPUT_MAX_CHARS + 100
