from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given

from gateway.agui.chunks import BadChunk, Chunks
from gateway.agui.ordering import RULES, TRANSITIONS, Order, OutOfOrder, Phase
from gateway.agui.validate import EVENT_TYPES
from gateway.events import Wire
from tests.agui.streams import BAD, CHUNKS, GOOD, INSIDE, WHOLE, runs, steady, streams

START: Wire = {"type": "RUN_STARTED", "threadId": "t", "runId": "r"}
FINISH: Wire = {"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}
ERROR: Wire = {"type": "RUN_ERROR", "message": "boom"}

TOLERATED = {
    # The client drops it with a warning; a producer that sends it has a mistake that we want to see.
    "tolerated/unknown-event": 1,
    # What follows is a matter of a single event's shape, where `validate` stands guard: the order is right.
    "tolerated/unknown-field": None,
    "tolerated/unknown-role": None,
    "tolerated/unknown-part": None,
    "tolerated/unknown-outcome": None,
    "tolerated/unknown-operation": None,
    "tolerated/legacy-nulls": None,
    "tolerated/newer-protocol": None,
    # An order that only goes on: the end is missing, which no event can break a rule by.
    "tolerated/no-terminal": None,
}
"""Streams that the client accepts by leniency → the index at which we refuse, if we do."""


def refusal(events: list[Wire]) -> tuple[int, OutOfOrder] | None:
    """Where a stream with chunks is refused, and why."""
    chunks, order = Chunks(), Order()
    for index, event in enumerate(events):
        try:
            for expanded in chunks.feed(event):
                order.accept(expanded)
        except OutOfOrder as exc:
            return index, exc
    return None


def following(*events: Wire) -> Order:
    order = Order()
    for event in events:
        order.accept(event)
    return order


def obedient(events: list[Wire]) -> list[Wire]:
    """What is left of a stream when every refused event is left out."""
    order, taken = Order(), []
    for event in events:
        try:
            order.accept(event)
        except OutOfOrder:
            continue
        taken.append(event)
    return taken


def readable(order: Order) -> dict[str, Any]:
    names = ("phase", *(name for name in dir(order) if name.startswith("open_")))
    return {name: getattr(order, name) for name in names} | {
        "unanswered": order.unanswered_calls(),
        "close": order.close_events(),
    }


@pytest.mark.parametrize("case", [c for c in BAD if c["stage"] != "enforce"], ids=lambda case: str(case["name"]))
def test_what_the_client_rejects_is_refused_at_the_same_event(case: dict[str, Any]) -> None:
    found = refusal(case["events"])
    assert found is not None
    index, why = found
    assert index == case["at"]
    assert isinstance(why, BadChunk) == (case["stage"] == "chunks")


@pytest.mark.parametrize("case", [c for c in BAD if c["stage"] == "verify"], ids=lambda case: str(case["name"]))
def test_a_refusal_names_the_rule_the_event_and_what_it_is_about(case: dict[str, Any]) -> None:
    found = refusal(case["events"])
    assert found is not None
    event, why = case["events"][case["at"]], found[1]
    assert why.rule in {f"V{number}" for number in range(1, 24)}
    assert str(why).startswith(f"{why.rule}: {event['type'].replace('_CHUNK', '_START')} ")
    if why.rule not in {"V1", "V2", "V3", "V4", "V5"}:
        keys = ("messageId", "toolCallId", "stepName", "subagentRunId", "entityId")
        assert any(repr(event[key]) in str(why) for key in keys if key in event)


def test_every_rule_that_a_stream_can_break_has_a_stream_that_breaks_it() -> None:
    found = [refusal(case["events"]) for case in BAD if case["stage"] == "verify"]
    # V22 says what is on record, V23 is broken by nulls: both have their own tests below.
    assert {why[1].rule for why in found if why} == {f"V{number}" for number in range(1, 22)}


@pytest.mark.parametrize("case", GOOD, ids=lambda case: str(case["name"]))
def test_what_the_client_accepts_is_accepted(case: dict[str, Any]) -> None:
    found = refusal(case["events"])
    assert (found and found[0]) == TOLERATED.get(case["name"])


def test_each_stream_that_needs_leniency_has_its_expectation() -> None:
    assert set(TOLERATED) == {case["name"] for case in GOOD if case["name"].startswith("tolerated/")}


PHASES: dict[Phase, list[Wire]] = {
    "before": [],
    "running": [START],
    "finished": [START, FINISH],
    "errored": [ERROR],
}


@pytest.mark.parametrize("phase", PHASES)
@pytest.mark.parametrize("event", [START, FINISH, ERROR], ids=lambda event: str(event["type"]))
def test_a_run_moves_between_its_phases_by_the_table(phase: Phase, event: Wire) -> None:
    order = following(*PHASES[phase])
    assert order.phase == phase
    if event["type"] in TRANSITIONS[phase]:
        order.accept(event)
        assert order.phase == TRANSITIONS[phase][event["type"]]
    else:
        with pytest.raises(OutOfOrder):
            order.accept(event)
        assert order.phase == phase


@pytest.mark.parametrize("phase", ["before", "finished", "errored"])
def test_outside_a_run_nothing_but_the_runs_own_events_may_come(phase: Phase) -> None:
    order = following(*PHASES[phase])
    for kind in INSIDE:
        with pytest.raises(OutOfOrder):
            order.check({"type": kind})


def test_every_event_but_the_chunks_is_known() -> None:
    order = following(START)
    known = set(EVENT_TYPES) - set(CHUNKS)
    assert set(RULES) == known
    for kind in (*CHUNKS, "FUTURE_EVENT"):
        with pytest.raises(OutOfOrder, match=f"unknown: {kind}"):
            order.accept({"type": kind})


def test_an_event_without_a_type_is_refused() -> None:
    with pytest.raises(OutOfOrder, match="unknown"):
        following(START).accept({})


NULLS: dict[str, Wire] = {
    "an event's tag": {"type": "CUSTOM", "name": "n", "value": 1, "subagentRunId": None},
    "a start's tag": {"type": "TEXT_MESSAGE_START", "messageId": "m", "subagentRunId": None},
    "a step's tag": {"type": "STEP_STARTED", "stepName": "s", "subagentRunId": None},
    "a delta's tag": {"type": "TEXT_MESSAGE_CONTENT", "messageId": "open", "delta": "x", "subagentRunId": None},
    "a subagent's parent": {
        "type": "SUBAGENT_STARTED",
        "subagentRunId": "s",
        "name": "n",
        "parentSubagentRunId": None,
    },
    "a subagent's outcome": {"type": "SUBAGENT_FINISHED", "subagentRunId": "sub", "outcome": None},
    "a subagent's interrupts": {
        "type": "SUBAGENT_FINISHED",
        "subagentRunId": "sub",
        "outcome": {"type": "suspended", "interruptIds": None},
    },
    "a subagent's error code": {"type": "SUBAGENT_ERROR", "subagentRunId": "sub", "message": "m", "code": None},
    "a message's tag": {
        "type": "MESSAGES_SNAPSHOT",
        "messages": [{"id": "m", "role": "user", "content": "", "subagentRunId": None}],
    },
}


@pytest.mark.parametrize("event", NULLS.values(), ids=NULLS.keys())
def test_a_null_around_subagents_is_refused(event: Wire) -> None:
    order = following(
        START,
        {"type": "TEXT_MESSAGE_START", "messageId": "open"},
        {"type": "SUBAGENT_STARTED", "subagentRunId": "sub", "name": "n"},
    )
    with pytest.raises(OutOfOrder, match="V23"):
        order.accept(event)


def test_a_null_tag_in_the_runs_own_events_is_refused() -> None:
    message = {"id": "m", "role": "user", "content": "", "subagentRunId": None}
    with pytest.raises(OutOfOrder, match="V23"):
        Order().accept({**START, "input": {"threadId": "t", "runId": "r", "messages": [message]}})
    interrupt = {"id": "i", "reason": "r", "subagentRunId": None}
    with pytest.raises(OutOfOrder, match="V23"):
        following(START).accept({**FINISH, "outcome": {"type": "interrupt", "interrupts": [interrupt]}})


def test_what_is_open_is_listed_in_opening_order_with_its_owner() -> None:
    order = following(
        START,
        {"type": "SUBAGENT_STARTED", "subagentRunId": "outer", "name": "n"},
        {"type": "SUBAGENT_STARTED", "subagentRunId": "inner", "name": "n", "parentSubagentRunId": "outer"},
        {"type": "STEP_STARTED", "stepName": "step"},
        {"type": "STEP_STARTED", "stepName": "step", "subagentRunId": "inner"},
        {"type": "TEXT_MESSAGE_START", "messageId": "b", "subagentRunId": "inner"},
        {"type": "TEXT_MESSAGE_START", "messageId": "a"},
        {"type": "REASONING_START", "messageId": "z", "subagentRunId": "inner"},
        {"type": "REASONING_MESSAGE_START", "messageId": "z", "role": "reasoning"},
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f", "parentMessageId": "b"},
    )
    assert list(order.open_text_messages.items()) == [("b", "inner"), ("a", None)]
    assert list(order.open_subagents.items()) == [("outer", None), ("inner", "outer")]
    owners = {(event["type"], event.get("stepName")): event.get("subagentRunId") for event in order.close_events()}
    assert owners["REASONING_END", None] == "inner"
    assert owners["REASONING_MESSAGE_END", None] == "inner", "span and message share the record of their owner"
    assert owners["TOOL_CALL_END", None] == "inner", "inherited from its parent message"
    steps = [event.get("subagentRunId") for event in order.close_events() if event["type"] == "STEP_FINISHED"]
    assert steps == ["inner", None], "last opened first"


def test_closing_goes_from_the_inside_out_in_each_owners_name() -> None:
    order = following(
        START,
        {"type": "SUBAGENT_STARTED", "subagentRunId": "outer", "name": "n"},
        {"type": "SUBAGENT_STARTED", "subagentRunId": "inner", "name": "n", "parentSubagentRunId": "outer"},
        {"type": "STEP_STARTED", "stepName": "step", "subagentRunId": "inner"},
        {"type": "TOOL_CALL_START", "toolCallId": "c", "toolCallName": "f"},
        {"type": "REASONING_START", "messageId": "z"},
        {"type": "REASONING_MESSAGE_START", "messageId": "zm", "role": "reasoning"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "subagentRunId": "inner"},
    )
    assert order.close_events() == [
        {"type": "TEXT_MESSAGE_END", "messageId": "m", "subagentRunId": "inner"},
        {"type": "REASONING_MESSAGE_END", "messageId": "zm"},
        {"type": "REASONING_END", "messageId": "z"},
        {"type": "TOOL_CALL_END", "toolCallId": "c"},
        {"type": "STEP_FINISHED", "stepName": "step", "subagentRunId": "inner"},
        {"type": "SUBAGENT_FINISHED", "subagentRunId": "inner"},
        {"type": "SUBAGENT_FINISHED", "subagentRunId": "outer"},
    ]


def test_outside_a_run_there_is_nothing_to_close() -> None:
    order = following(START, {"type": "TEXT_MESSAGE_START", "messageId": "m"}, ERROR)
    assert order.close_events() == []
    assert order.open_text_messages == {"m": None}, "what the error left open can still be read"


def test_a_snapshot_changes_the_owner_of_what_is_open() -> None:
    order = following(
        START,
        {"type": "TEXT_MESSAGE_START", "messageId": "m"},
        {
            "type": "MESSAGES_SNAPSHOT",
            "messages": [{"id": "m", "role": "assistant", "content": "", "subagentRunId": "s"}],
        },
    )
    assert order.close_events() == [{"type": "TEXT_MESSAGE_END", "messageId": "m", "subagentRunId": "s"}]


def test_calls_without_a_result_are_listed_in_the_order_made() -> None:
    calls: list[Wire] = [
        event
        for key in ("c2", "c1", "c3")
        for event in (
            {"type": "TOOL_CALL_START", "toolCallId": key, "toolCallName": "f"},
            {"type": "TOOL_CALL_END", "toolCallId": key},
        )
    ]
    result = {"type": "TOOL_CALL_RESULT", "messageId": "r", "toolCallId": "c1", "content": "ok"}
    order = following(START, *calls, result)
    assert order.unanswered_calls() == ["c2", "c3"]
    order.accept(FINISH)
    assert order.unanswered_calls() == ["c2", "c3"], "still to be read when the run is over"
    order.accept(START)
    assert order.unanswered_calls() == []


def test_a_new_run_remembers_nothing_of_the_last_one() -> None:
    order = following(
        START,
        {"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "n"},
        {"type": "TEXT_MESSAGE_START", "messageId": "m", "subagentRunId": "s"},
        ERROR,
        START,
    )
    order.accept({"type": "TEXT_MESSAGE_START", "messageId": "m", "subagentRunId": "t"})
    order.accept({"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "n"})
    assert order.open_text_messages == {"m": "t"}


@steady
@given(streams(*WHOLE))
def test_a_refused_event_leaves_no_trace(events: list[Wire]) -> None:
    everything, taken_only = Order(), Order()
    for event in events:
        try:
            everything.accept(event)
        except OutOfOrder:
            with pytest.raises(OutOfOrder):
                taken_only.check(event)
        else:
            taken_only.accept(event)
    assert readable(everything) == readable(taken_only)


@steady
@given(runs(*(kind for kind in INSIDE if kind not in CHUNKS)))
def test_a_check_foretells_what_take_does_and_records_nothing(events: list[Wire]) -> None:
    order = Order()
    for event in events:
        before = readable(order)
        try:
            order.check(event)
        except OutOfOrder as exc:
            with pytest.raises(OutOfOrder) as again:
                order.accept(event)
            assert str(again.value) == str(exc)
        else:
            assert readable(order) == before
            order.accept(event)


@steady
@given(runs(*(kind for kind in INSIDE if kind not in CHUNKS)))
def test_after_closing_the_run_may_finish(events: list[Wire]) -> None:
    order = following(*obedient(events))
    for event in order.close_events():
        order.accept(event)
    order.accept(FINISH)
    assert order.phase == "finished"


@steady
@given(streams())
def test_every_valid_event_is_taken_or_refused_whatever_came_before(events: list[Wire]) -> None:
    """No third way: no KeyError, no TypeError."""
    order = following(START)
    for event in events:
        try:
            order.accept(event)
        except OutOfOrder as exc:
            assert event["type"] in str(exc)
