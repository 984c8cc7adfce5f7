from __future__ import annotations

import copy

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.agui.deltas import merge, split
from gateway.agui.history import History
from gateway.agui.ordering import Order, OutOfOrder
from gateway.events import Wire
from tests.agui.streams import DELTAS, WHOLE, events, runs, steady, streams


def content(delta: str, key: str = "m", **more: object) -> Wire:
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": key, "delta": delta, **more}


def result(stream: list[Wire]) -> tuple[object, ...]:
    history = History()
    for event in stream:
        history.feed(event)
    return (
        history.messages,
        history.state,
        history.pending_interrupts,
        history.pending_tool_call_ids,
        history.result,
        history.run_error,
    )


def accepted(stream: list[Wire]) -> bool:
    order = Order()
    try:
        for event in stream:
            order.accept(event)
    except OutOfOrder:
        return False
    return True


def obedient(stream: list[Wire]) -> list[Wire]:
    order, taken = Order(), []
    for event in stream:
        try:
            order.accept(event)
        except OutOfOrder:
            continue
        taken.append(event)
    return taken


def test_neighbours_of_one_message_become_one_event() -> None:
    assert merge([content("a"), content(""), content("b")]) == [content("ab")]


@pytest.mark.parametrize(
    ("kind", "key"),
    [
        ("TEXT_MESSAGE_CONTENT", "messageId"),
        ("REASONING_MESSAGE_CONTENT", "messageId"),
        ("TOOL_CALL_ARGS", "toolCallId"),
    ],
)
def test_all_kinds_of_deltas_are_joined(kind: str, key: str) -> None:
    assert merge([{"type": kind, key: "x", "delta": delta} for delta in "abc"]) == [
        {"type": kind, key: "x", "delta": "abc"}
    ]


def test_a_tag_is_kept_and_must_be_the_same() -> None:
    s, t = content("1", subagentRunId="s"), content("2", subagentRunId="t")
    assert merge([s, s, t, content("3"), content("4"), s]) == [
        content("11", subagentRunId="s"),
        t,
        content("34"),
        s,
    ]


def test_what_stands_between_keeps_apart() -> None:
    raw: Wire = {"type": "RAW", "event": 1}
    stream = [content("a"), raw, content("b"), content("c", key="n"), content("d")]
    merged = merge(stream)
    assert merged == stream
    assert all(new is old for new, old in zip(merged, stream, strict=True))


def test_reasoning_and_text_under_one_id_are_two_things() -> None:
    thought = {**content("b"), "type": "REASONING_MESSAGE_CONTENT"}
    assert merge([content("a"), thought, content("c")]) == [content("a"), thought, content("c")]


@pytest.mark.parametrize("more", [{"timestamp": 1}, {"metadata": {}}, {"rawEvent": 1}], ids=str)
def test_an_event_with_more_fields_is_not_merged(more: Wire) -> None:
    one, other = {**content("c"), **more}, {**content("d"), **more}
    stream = [content("a"), content("b"), one, other, content("e"), content("f")]
    assert merge(stream) == [content("ab"), one, other, content("ef")]


def test_a_tag_and_something_else_do_not_pass_for_each_other() -> None:
    tagged, dated = content("a", subagentRunId="s"), content("b", timestamp=1)
    assert merge([tagged, dated, tagged]) == [tagged, dated, tagged]


def test_no_events_are_no_events() -> None:
    assert merge([]) == []


def test_a_single_event_is_the_same_object() -> None:
    event = content("a")
    assert merge([event])[0] is event


@steady
@given(streams(*WHOLE) | runs(*DELTAS))
def test_merging_does_not_change_its_arguments(stream: list[Wire]) -> None:
    before = copy.deepcopy(stream)
    merge(stream)
    assert stream == before


def opened(stream: list[Wire]) -> list[Wire]:
    """With every message and call of the small alphabet open, so that deltas find something to add to."""
    starts: list[Wire] = [
        start
        for key in ("a", "b", "")
        for start in (
            {"type": "TEXT_MESSAGE_START", "messageId": key},
            {"type": "REASONING_MESSAGE_START", "messageId": "z" + key, "role": "reasoning"},
            {"type": "TOOL_CALL_START", "toolCallId": key, "toolCallName": "f"},
        )
    ]
    return [stream[0], *starts, *stream[1:]]


@steady
@given(streams(*WHOLE) | runs(*DELTAS).map(opened))
def test_merging_never_changes_what_a_client_holds(stream: list[Wire]) -> None:
    assert result(merge(stream)) == result(stream)


@steady
@given(streams(*WHOLE) | runs(*DELTAS).map(opened))
def test_merging_twice_is_merging_once(stream: list[Wire]) -> None:
    once = merge(stream)
    twice = merge(once)
    assert all(new is old for new, old in zip(twice, once, strict=True))


@steady
@given(streams(*WHOLE) | runs(*DELTAS).map(opened) | runs(*DELTAS).map(opened).map(obedient))
def test_a_merged_stream_is_in_order_if_and_only_if_the_stream_was(stream: list[Wire]) -> None:
    assert accepted(merge(stream)) == accepted(stream)


@steady
@given(runs(*DELTAS))
def test_neighbours_that_could_be_joined_are_never_left(stream: list[Wire]) -> None:
    merged = merge(stream)
    for one, other in zip(merged, merged[1:], strict=False):
        plain = one.keys() <= {"type", "messageId", "toolCallId", "delta", "subagentRunId"}
        assert not (plain and {**one, "delta": ""} == {**other, "delta": ""})


def test_a_short_delta_is_the_same_object() -> None:
    event = content("abc")
    assert split(event, 3)[0] is event


def test_a_long_delta_is_cut() -> None:
    assert split(content("abcde"), 2) == [content("ab"), content("cd"), content("e")]


def test_only_the_first_piece_has_the_other_fields() -> None:
    event = content("abc", subagentRunId="s", metadata={"k": 1}, timestamp=5)
    assert split(event, 2) == [
        content("ab", subagentRunId="s", metadata={"k": 1}, timestamp=5),
        content("c", subagentRunId="s"),
    ]


def test_what_is_no_delta_is_never_cut() -> None:
    event: Wire = {"type": "STATE_DELTA", "delta": [1, 2, 3]}
    assert split(event, 1) == [event]


def test_a_piece_has_a_size() -> None:
    with pytest.raises(ValueError, match="at least one"):
        split(content("abc"), 0)


PAIR = "\ud83d\ude00"


@pytest.mark.parametrize(
    ("text", "limit", "pieces"),
    [
        ("ab" + PAIR + "c", 3, ["ab", PAIR + "c"]),
        (PAIR + PAIR, 3, [PAIR, PAIR]),
        (PAIR + "a", 1, [PAIR, "a"]),
        ("a\ud83d", 1, ["a", "\ud83d"]),
        ("a\ud83db", 2, ["a\ud83d", "b"]),
        ("a\ude00b", 1, ["a", "\ude00", "b"]),
        ("\N{GRINNING FACE}" * 3, 2, ["\N{GRINNING FACE}" * 2, "\N{GRINNING FACE}"]),
    ],
)
def test_a_surrogate_pair_is_never_cut(text: str, limit: int, pieces: list[str]) -> None:
    assert [event["delta"] for event in split(content(text), limit)] == pieces


@steady
@given(st.text(st.sampled_from("ab\ud83d\ude00"), max_size=12), st.integers(1, 5))
def test_the_pieces_together_are_the_whole(text: str, limit: int) -> None:
    pieces = [event["delta"] for event in split(content(text), limit)]
    assert "".join(pieces) == text
    assert all(len(piece) <= max(limit, 2) for piece in pieces)
    seams = [one[-1:] + other[:1] for one, other in zip(pieces, pieces[1:], strict=False)]
    assert PAIR not in seams


@steady
@given(events(*DELTAS), st.integers(1, 3))
def test_cutting_never_changes_what_a_client_holds(event: Wire, limit: int) -> None:
    starts = opened([{"type": "RUN_STARTED", "threadId": "t", "runId": "r"}])
    assert result([*starts, *split(event, limit)]) == result([*starts, event])
