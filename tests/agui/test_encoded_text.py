"""Plain text of an agent that speaks AG-UI itself takes a short way. It must come out as on the long one."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.agui.outbound import Outbound
from gateway.events import AguiEvent, EncodedText, Event, TextMessageContent, TextMessageEnd, TurnEnded, Wire
from gateway.jsonio import dumps

IDS = st.sampled_from(["a", "b", "c"])
TEXTS = st.sampled_from(["x", "word ", "", "é", "\ud83d", "\ude00", 7, None])
CONTENT = st.fixed_dictionaries({"type": st.just("TEXT_MESSAGE_CONTENT"), "messageId": IDS, "delta": TEXTS})
MORE = st.sampled_from([{"subagentRunId": "s"}, {"timestamp": 1}])
TAGGED = st.builds(lambda event, more: {**event, **more}, CONTENT, MORE)
OTHERS = st.one_of(
    st.builds(lambda i: {"type": "TEXT_MESSAGE_START", "messageId": i, "role": "assistant"}, IDS),
    st.builds(lambda i: {"type": "TEXT_MESSAGE_END", "messageId": i}, IDS),
    st.builds(lambda i: {"type": "TEXT_MESSAGE_CHUNK", "messageId": i, "delta": "chunk"}, IDS),
    st.just({"type": "RUN_FINISHED", "threadId": "t", "runId": "r"}),
    st.just({"type": "SUBAGENT_STARTED", "subagentRunId": "s", "name": "s"}),
    st.just({"type": "NOBODY_KNOWS", "messageId": "a", "delta": "x"}),
)
OWN = st.sampled_from(
    [TextMessageContent("own "), TextMessageContent("named", message_id="a"), TextMessageEnd(), TurnEnded()]
)
STEPS = st.one_of(CONTENT, CONTENT, CONTENT, TAGGED, OTHERS, OWN)


def played(batches: list[list[Any]], merging: bool, *, slowly: bool) -> list[Wire]:
    """`slowly`: no event is a plain dict, so none can take the short way."""
    outbound = Outbound("t", "r", "p", merging=merging)
    out = outbound.started()
    for batch in batches:
        events: list[Event] = []
        for step in batch:
            wire = MappingProxyType(step) if slowly and isinstance(step, dict) else step
            events.append(AguiEvent(wire) if isinstance(step, dict) else step)
        out += outbound.feed(events)
    return out + outbound.finished()


@given(st.lists(st.lists(STEPS, max_size=8), max_size=6), st.booleans())
def test_the_short_way_changes_nothing(batches: list[list[Any]], merging: bool) -> None:
    assert played(batches, merging, slowly=False) == played(batches, merging, slowly=True)


@pytest.mark.parametrize("merging", [True, False])
def test_what_passes_is_a_copy(merging: bool) -> None:
    outbound = Outbound("t", "r", "p", merging=merging)
    outbound.started()
    outbound.feed([AguiEvent({"type": "TEXT_MESSAGE_START", "messageId": "a", "role": "assistant"})])
    own = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "first"}
    [sent] = outbound.feed([AguiEvent(own)])
    own["delta"] = "changed by its author afterwards"
    assert sent["delta"] == "first"


# -- lines that are written already

KEYS = st.sampled_from(["a", "b"])
LINES = st.builds(EncodedText, KEYS, st.lists(st.sampled_from(["x", "word ", "é", "line\n"]), min_size=1, max_size=3))
"""With texts in the place of lines: `lined` makes the lines, `apart` the events."""


def lined(step: EncodedText) -> EncodedText:
    return EncodedText(step.message_id, [dumps(event) for event in apart(step)])


def apart(step: EncodedText) -> list[Wire]:
    texts: list[Any] = step.lines
    return [{"type": "TEXT_MESSAGE_CONTENT", "messageId": step.message_id, "delta": text} for text in texts]


def through(batches: list[list[Any]], merging: bool, *, whole: bool) -> list[bytes]:
    """What is logged. `whole`: lines stay lines, and pass where they may."""
    outbound = Outbound("t", "r", "p", merging=merging)
    out = [dumps(event) for event in outbound.started()]
    for batch in batches:
        events: list[Event] = []
        for step in batch:
            if isinstance(step, EncodedText):
                events += [lined(step)] if whole else [AguiEvent(event) for event in apart(step)]
            else:
                events.append(AguiEvent(step) if isinstance(step, dict) else step)
        passed = outbound.encoded_lines(events) if events else None
        out += [dumps(event) for event in outbound.feed(events)] if passed is None else passed
    return out + [dumps(event) for event in outbound.finished()]


@given(st.lists(st.lists(LINES | STEPS, max_size=6), max_size=6), st.booleans())
def test_lines_are_the_events_they_hold(batches: list[list[Any]], merging: bool) -> None:
    assert through(batches, merging, whole=True) == through(batches, merging, whole=False)


@pytest.mark.parametrize(("merging", "passes"), [(False, True), (True, False)])
def test_lines_of_an_open_message_pass_unless_they_are_to_be_joined(merging: bool, passes: bool) -> None:
    outbound = Outbound("t", "r", "p", merging=merging)
    outbound.started()
    two, one = lined(EncodedText("a", ["x", "y"])), lined(EncodedText("a", ["z"]))  # type: ignore[list-item]
    assert outbound.encoded_lines([two]) is None, "the message is not open"
    outbound.feed([AguiEvent({"type": "TEXT_MESSAGE_START", "messageId": "a", "role": "assistant"})])
    assert outbound.encoded_lines([two, one]) == ([*two.lines, *one.lines] if passes else None)
    assert outbound.encoded_lines([one]) == one.lines, "there is nothing to join it with"
    assert outbound.encoded_lines([one, TextMessageContent("own")]) is None
    outbound.feed([AguiEvent({"type": "TEXT_MESSAGE_END", "messageId": "a"})])
    assert outbound.encoded_lines([one]) is None
