from __future__ import annotations

import pytest

from gateway.agui.deltas import SurrogatePairs
from gateway.events import Wire

HIGH, LOW = "\ud83d", "\ude00"
FACE = "\N{GRINNING FACE}"


def text(delta: str, key: str = "m", **more: object) -> Wire:
    return {"type": "TEXT_MESSAGE_CONTENT", "messageId": key, "delta": delta, **more}


END: Wire = {"type": "TEXT_MESSAGE_END", "messageId": "m"}


def test_the_first_half_waits_for_the_second() -> None:
    pairs = SurrogatePairs()
    assert pairs.feed([text("a" + HIGH)]) == [text("a")]
    assert pairs.has_half
    assert pairs.feed([text(LOW + "b")]) == [text(FACE + "b")]
    assert not pairs.has_half


def test_a_delta_that_is_only_the_first_half_is_no_event_yet() -> None:
    pairs = SurrogatePairs()
    assert pairs.feed([text(HIGH)]) == []
    assert pairs.feed([text(LOW)]) == [text(FACE)]


def test_the_other_fields_of_such_a_delta_do_not_wait() -> None:
    pairs = SurrogatePairs()
    deltas = {"metadata": {"k": 1}, "timestamp": 5, "rawEvent": [1], "subagentRunId": "s"}
    assert pairs.feed([text(HIGH) | deltas]) == [text("") | deltas]
    assert pairs.feed([text(LOW, subagentRunId="s")]) == [text(FACE, subagentRunId="s")]


def test_two_halves_in_one_delta_become_one_character() -> None:
    assert SurrogatePairs().feed([text("a" + HIGH + LOW)]) == [text("a" + FACE)]


def test_a_half_that_meets_something_else_stays_as_it_is() -> None:
    pairs = SurrogatePairs()
    assert pairs.feed([text(HIGH), text("b")]) == [text(HIGH + "b")]
    assert pairs.feed([text(LOW)]) == [text(LOW)], "a second half alone waits for nothing"


def test_first_halves_one_after_the_other_each_have_their_chance() -> None:
    assert SurrogatePairs().feed([text(HIGH), text(HIGH), text(LOW)]) == [text(HIGH), text(FACE)]


def test_every_message_has_its_own_half() -> None:
    pairs = SurrogatePairs()
    thought: Wire = {"type": "REASONING_MESSAGE_CONTENT", "messageId": "m", "delta": HIGH}
    args: Wire = {"type": "TOOL_CALL_ARGS", "toolCallId": "m", "delta": HIGH}
    assert pairs.feed([text(HIGH), text(HIGH, "n"), thought, args]) == []
    assert pairs.feed([args | {"delta": LOW}, thought | {"delta": LOW}, text(LOW, "n"), text(LOW)]) == [
        args | {"delta": FACE},
        thought | {"delta": FACE},
        text(FACE, "n"),
        text(FACE),
    ]


def test_the_end_of_the_message_brings_out_the_half_before_it() -> None:
    assert SurrogatePairs().feed([text(HIGH), END]) == [text(HIGH), END]


@pytest.mark.parametrize("other", [{"type": "RAW", "event": HIGH}, {"type": "TEXT_MESSAGE_END", "messageId": "n"}])
def test_other_events_pass_a_half_that_waits(other: Wire) -> None:
    pairs = SurrogatePairs()
    assert pairs.feed([text(HIGH), other, text(LOW)]) == [other, text(FACE)]


def test_at_the_end_halves_go_out_as_they_are() -> None:
    pairs = SurrogatePairs()
    pairs.feed([text(HIGH), text(HIGH, "n")])
    assert pairs.flush() == [text(HIGH), text(HIGH, "n")]
    assert pairs.flush() == []


def test_an_event_without_surrogates_is_the_same_object() -> None:
    event = text("a" + FACE)
    assert SurrogatePairs().feed([event])[0] is event


def test_an_empty_delta_is_an_event() -> None:
    pairs = SurrogatePairs()
    assert pairs.feed([text("")]) == [text("")]
    assert pairs.feed([text(HIGH), text(""), text(LOW)]) == [text(""), text(FACE)]
