"""Tool calls of a turn: whatever an agent reports in whatever order, each call starts, ends and is answered once."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gateway.events import (
    ActivityDelta,
    ActivitySnapshot,
    Event,
    ToolCallArgs,
    ToolCallEnd,
    ToolCallResult,
    ToolCallStart,
)
from gateway.turn import CANCELLED, UNREPORTED
from gateway.wire.ids import UniqueIds
from gateway.wire.tool_calls import ToolCall, ToolCalls
from tests.agui.streams import steady


def in_turn(agent_id: str) -> str:
    return f"t1:{agent_id}"


def calls() -> ToolCalls[ToolCall]:
    return ToolCalls(in_turn, ToolCall)


@dataclass(slots=True)
class NamedCall(ToolCall):
    title: str = ""


def test_a_call_with_whole_arguments() -> None:
    call = calls().add("c", "shell", "sub")
    assert [*call.start({"x": {}}), *call.end({"command": "ls"}), *call.answer("a.txt", {"x": {"code": 0}}, False)] == [
        ToolCallStart("t1:c", "shell", subagent="sub", metadata={"x": {}}),
        ToolCallArgs("t1:c", '{"command":"ls"}'),
        ToolCallEnd("t1:c"),
        ToolCallResult("t1:c", "a.txt", subagent="sub", metadata={"x": {"code": 0}}, is_error=False),
    ]


def test_arguments_that_streamed_are_not_sent_again() -> None:
    call = calls().add("c", "shell")
    events = [*call.add_arguments('{"a"'), *call.add_arguments(""), *call.add_arguments(":1}")]
    assert events == [ToolCallStart("t1:c", "shell"), ToolCallArgs("t1:c", '{"a"'), ToolCallArgs("t1:c", ":1}")]
    assert (call.has_streamed_other({"a": 1}), call.has_streamed_other({"a": 2})) == (False, True)
    assert call.end({"a": 2}, {"x": 1}) == [ToolCallEnd("t1:c", {"x": 1})]
    assert (call.end(), call.add_arguments("more"), call.start()) == ([], [], [])


def test_a_result_closes_what_is_open_and_comes_once() -> None:
    call = calls().add("c")
    assert call.answer("done") == [ToolCallStart("t1:c", "tool"), ToolCallEnd("t1:c"), ToolCallResult("t1:c", "done")]
    assert (call.answer("again"), call.close(cancelled=True)) == ([], [])


def test_an_id_that_comes_again_after_its_result_is_another_call() -> None:
    table = calls()
    first = table.add("call_0")
    assert table.add("call_0") is first
    first.answer("")
    second = table.add("call_0")
    assert (second.id, table.get("call_0")) == ("t1:call_0.2", second)


def test_an_agent_with_unique_ids_means_the_same_call() -> None:
    table = ToolCalls(UniqueIds(in_turn), ToolCall, reuses_ids=False)
    call = table.add("c")
    call.answer("")
    assert table.add("c") is call


def test_the_clients_own_tools_are_reported_by_the_clients_names() -> None:
    table = calls()
    table.offer({"mcp__agui__pick": "pick"})
    assert (table.add("a", "mcp__agui__pick").name, table.add("b", "shell").name) == ("pick", "shell")


def test_what_a_tool_prints_is_an_activity_of_its_call() -> None:
    call = calls().add("c", subagent="sub")
    shown = {"toolCallId": "t1:c", "output": ["a"]}
    assert call.replace_output("a") == [ActivitySnapshot("t1:c:output", "tool_output", shown, subagent="sub")]
    patch = [{"op": "add", "path": "/output/-", "value": "b"}]
    assert call.append_output("b") == [ActivityDelta("t1:c:output", "tool_output", patch, subagent="sub")]


def test_the_end_of_a_turn_closes_the_calls_that_a_client_has_seen() -> None:
    table = calls()
    table.add("unseen")
    table.add("running").end({})
    table.add("open").start()
    table.add("done").answer("ok")
    assert [type(event) for event in table.end_all()] == [ToolCallEnd]
    assert table.close(cancelled=False) == [
        ToolCallResult("t1:running", UNREPORTED),
        ToolCallResult("t1:open", UNREPORTED),
    ]
    table.add("next").start()
    assert table.close(cancelled=True)[-1] == ToolCallResult("t1:next", CANCELLED)


def test_a_dialect_adds_fields_to_a_call() -> None:
    table = ToolCalls(in_turn, NamedCall)
    table.add("c").title = "Run it"
    known = table.get("c")
    assert known is not None and known.title == "Run it"
    assert [call.agent_id for call in table] == ["c"]


def test_calls_without_a_result_may_stay_known_in_the_next_turn() -> None:
    table = calls()
    table.add("open")
    table.add("done").answer("")
    table.begin_turn(keeps_open=True)
    assert [call.agent_id for call in table.open_calls] == ["open"]
    table.begin_turn()
    assert (table.get("open"), table.get(None), table.get([])) == (None, None, None)


STEPS = st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from(("start", "piece", "end", "answer", "print"))))


@steady
@given(STEPS, st.booleans())
def test_any_order_of_reports_gives_each_call_one_start_one_end_and_one_result(
    steps: list[tuple[str, str]], cancelled: bool
) -> None:
    table = calls()
    events: list[Event] = []
    for agent_id, step in steps:
        call = table.add(agent_id)
        match step:
            case "start":
                events += call.start()
            case "piece":
                events += call.add_arguments("1")
            case "end":
                events += call.end({})
            case "answer":
                events += call.answer("")
            case _:
                call.append_output("x")
    events += table.close(cancelled=cancelled)
    per_call: dict[Any, list[Any]] = {}
    for event in events:
        assert isinstance(event, ToolCallStart | ToolCallArgs | ToolCallEnd | ToolCallResult)
        per_call.setdefault(event.id, []).append(type(event))
    for kinds in per_call.values():
        counts = Counter(kinds)
        assert (counts[ToolCallStart], counts[ToolCallEnd], counts[ToolCallResult]) == (1, 1, 1)
        assert (kinds[0], kinds[-2:]) == (ToolCallStart, [ToolCallEnd, ToolCallResult])
