"""Playbooks for `outbound`: what an agent does goes in, what a client sees comes out, checked by the client's rules.

`AGENT_EVENTS` is a hypothesis strategy for any event of an agent, from the same tiny alphabets as `streams.events()`,
so that the two meet.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy

from gateway import events as e
from gateway.agui.chunks import Chunks
from gateway.agui.history import History
from gateway.agui.ordering import Order
from gateway.agui.outbound import Outbound
from gateway.agui.validate import validate
from gateway.events import Event, Wire
from tests.agui.streams import (
    COUNTS,
    FIELDS,
    IDS,
    MESSAGES,
    OBJECTS,
    PARTS,
    PATCHES,
    ROLES,
    TAGS,
    TEXTS,
    VALUES,
    events,
)


def outbound(**options: Any) -> Outbound:
    return Outbound("t", "r", "x", **options)


def accepted(stream: list[Wire]) -> list[Wire]:
    """The same events, if the official client takes each of them where it stands, to the end."""
    chunks, order = Chunks(), Order()
    for event in stream:
        assert validate(event) == event
        for expanded in chunks.feed(event):
            order.accept(expanded)
    assert order.phase in ("finished", "errored")
    assert not order.close_events(), "an error may leave it open, but a frontend would show it as still streaming"
    return stream


def played(*batches: Sequence[Event], **options: Any) -> list[Wire]:
    """The events between RUN_STARTED and the end of a run in which the agent does this."""
    out = outbound(**options)
    stream = out.started()
    for batch in batches:
        stream += out.feed(batch)
    last = out.ended
    stream += out.failed(last.message, last.code) if isinstance(last, e.TurnFailed) else out.finished()
    return accepted(stream)[1:]


def client_state(stream: list[Wire]) -> tuple[object, ...]:
    """What a client has in the end."""
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


def text_of(stream: list[Wire], kind: str = "TEXT_MESSAGE_CONTENT") -> str:
    return "".join(event["delta"] for event in stream if event["type"] == kind)


def types(stream: list[Wire]) -> list[str]:
    return [event["type"] for event in stream]


OWNERS = st.none() | TAGS
MAYBE_ID = st.none() | IDS
MAYBE_METADATA = st.none() | OBJECTS
ONE_QUESTION = st.builds(e.Interrupt, id=IDS, reason=TEXTS, message=st.none() | TEXTS, tool_call_id=MAYBE_ID)

AGENT_EVENTS: SearchStrategy[Event] = st.one_of(
    st.builds(e.TextMessageContent, TEXTS),
    st.builds(e.TextMessageContent, TEXTS, MAYBE_ID, OWNERS, st.none() | ROLES, MAYBE_METADATA),
    st.builds(e.TextMessageEnd, MAYBE_ID, OWNERS),
    st.builds(e.ReasoningMessageContent, TEXTS, MAYBE_ID, OWNERS, MAYBE_METADATA),
    st.builds(e.ReasoningMessageEnd, MAYBE_ID, OWNERS),
    st.builds(e.ReasoningEncryptedValue, st.sampled_from(("message", "tool-call")), IDS, TEXTS, OWNERS),
    st.builds(e.ToolCallStart, IDS, TEXTS, MAYBE_ID, OWNERS, MAYBE_METADATA),
    st.builds(e.ToolCallArgs, IDS, TEXTS),
    st.builds(e.ToolCallEnd, IDS, MAYBE_METADATA),
    st.builds(e.ToolCallResult, IDS, TEXTS | PARTS, MAYBE_ID, OWNERS, MAYBE_METADATA),
    st.builds(e.StateSnapshot, VALUES, OWNERS),
    st.builds(e.StateDelta, PATCHES, OWNERS),
    st.builds(e.MessagesSnapshot, MESSAGES),
    st.builds(e.ActivitySnapshot, IDS, IDS, OBJECTS, st.booleans(), OWNERS),
    st.builds(e.ActivityDelta, IDS, IDS, PATCHES, OWNERS),
    st.builds(e.StepStarted, IDS, OWNERS),
    st.builds(e.StepFinished, IDS, OWNERS),
    st.builds(e.SubagentStarted, TAGS, TEXTS, st.none() | TEXTS, OWNERS, MAYBE_ID, MAYBE_ID),
    st.builds(e.SubagentFinished, TAGS, VALUES),
    st.builds(e.SubagentError, TAGS, TEXTS, st.none() | TEXTS),
    st.builds(e.Custom, TEXTS, VALUES, OWNERS),
    st.builds(e.Raw, VALUES, st.none() | TEXTS),
    st.builds(e.Warning, TEXTS, TEXTS, OBJECTS),
    st.builds(e.TokenUsage, input_tokens=st.none() | COUNTS, output_tokens=st.none() | COUNTS, model=st.none() | TEXTS),
)
"""All that an agent may do inside a run, but asking and ending."""

NATIVE = events(*(kind for kind in FIELDS if kind not in ("RUN_FINISHED", "RUN_ERROR"))).map(e.AguiEvent)
ENDS = (
    events("RUN_FINISHED", "RUN_ERROR").map(e.AguiEvent)
    | st.builds(e.TurnFailed, TEXTS, TEXTS)
    | st.builds(e.TurnEnded)
)

TURNS = st.lists(AGENT_EVENTS | NATIVE, max_size=25) | st.lists(AGENT_EVENTS | NATIVE | ENDS, max_size=25)
"""An agent's whole turn, in any order; some end before the end."""


@st.composite
def in_batches(draw: st.DrawFn, turn: list[Event]) -> list[list[Event]]:
    """The same turn, cut anywhere."""
    batches: list[list[Event]] = [[]]
    for event in turn:
        if draw(st.booleans()):
            batches.append([])
        batches[-1].append(event)
    return batches
