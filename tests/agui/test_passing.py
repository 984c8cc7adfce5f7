"""Plain text of an agent that speaks AG-UI itself takes a short way. It must come out as on the long one."""

from __future__ import annotations

from types import MappingProxyType
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from gateway.agui.outbound import Outbound
from gateway.events import Ended, Event, Native, TextDelta, TextEnd, Wire

IDS = st.sampled_from(["a", "b", "c"])
WORDS = st.sampled_from(["x", "word ", "", "é", "\ud83d", "\ude00", 7, None])
CONTENT = st.fixed_dictionaries({"type": st.just("TEXT_MESSAGE_CONTENT"), "messageId": IDS, "delta": WORDS})
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
OWN = st.sampled_from([TextDelta("own "), TextDelta("named", message_id="a"), TextEnd(), Ended()])
STEPS = st.one_of(CONTENT, CONTENT, CONTENT, TAGGED, OTHERS, OWN)


def played(batches: list[list[Any]], merging: bool, *, slowly: bool) -> list[Wire]:
    """`slowly`: no event is a plain dict, so none can take the short way."""
    outbound = Outbound("t", "r", "p", merging=merging)
    out = outbound.started()
    for batch in batches:
        events: list[Event] = []
        for step in batch:
            wire = MappingProxyType(step) if slowly and isinstance(step, dict) else step
            events.append(Native(wire) if isinstance(step, dict) else step)
        out += outbound.feed(events)
    return out + outbound.finished()


@given(st.lists(st.lists(STEPS, max_size=8), max_size=6), st.booleans())
def test_the_short_way_changes_nothing(batches: list[list[Any]], merging: bool) -> None:
    assert played(batches, merging, slowly=False) == played(batches, merging, slowly=True)


@pytest.mark.parametrize("merging", [True, False])
def test_what_passes_is_a_copy(merging: bool) -> None:
    outbound = Outbound("t", "r", "p", merging=merging)
    outbound.started()
    outbound.feed([Native({"type": "TEXT_MESSAGE_START", "messageId": "a", "role": "assistant"})])
    mine = {"type": "TEXT_MESSAGE_CONTENT", "messageId": "a", "delta": "first"}
    [sent] = outbound.feed([Native(mine)])
    mine["delta"] = "changed by its author afterwards"
    assert sent["delta"] == "first"
