"""Whatever an agent does, in whatever order and however it arrives: what a client may rely on."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from gateway import events as e
from gateway.agui.outbound import Outbound
from gateway.agui.passthrough import OUT_OF_ORDER
from gateway.events import Event, Wire
from tests.agui.replay import TURNS, accepted, client_state, in_batches, outbound
from tests.agui.streams import CHUNKS, INTERRUPTS, steady

ENDINGS = st.sampled_from(("finished", "failed", "cancelled")) | INTERRUPTS.map(
    lambda interrupts: list({interrupt["id"]: interrupt for interrupt in interrupts}.values())
)


def ended(out: Outbound, ending: Any) -> list[Wire]:
    match ending:
        case "finished":
            return out.finished()
        case "failed":
            return out.failed("it broke", "BROKEN")
        case "cancelled":
            return out.finished(cancelled=True)
        case interrupts:
            return out.finished(out.check_interrupts(interrupts))


def stream(batches: list[list[Event]], ending: Any, *, merging: bool) -> list[Wire]:
    out = outbound(merging=merging)
    events = out.started()
    for batch in batches:
        events += out.feed(batch)
    return [*events, *ended(out, ending)]


@steady
@given(TURNS.flatmap(in_batches), ENDINGS, st.booleans())
def test_every_client_accepts_the_stream(batches: list[list[Event]], ending: Any, merging: bool) -> None:
    accepted(stream(batches, ending, merging=merging))


@steady
@given(st.data(), TURNS, ENDINGS)
def test_a_client_holds_the_same_however_the_turn_arrives(data: st.DataObject, turn: list[Event], ending: Any) -> None:
    one_by_one = stream([[event] for event in turn], ending, merging=False)
    question_window = stream(data.draw(in_batches(turn)), ending, merging=True)
    assert client_state(question_window) == client_state(one_by_one)


@steady
@given(TURNS)
def test_no_text_of_an_agent_is_lost(turn: list[Event]) -> None:
    out = outbound(merging=False)
    sent = out.started()
    for event in turn:
        came = out.feed([event])
        sent += came
        if out.ended is not None:
            break
        if isinstance(event, e.AguiEvent):
            assert_same_text(event.event, came, sent)


def assert_same_text(event: Wire, came: list[Wire], sent: list[Wire]) -> None:
    """The event, or what a chunk stands for, is there as itself or inside a RAW event; or it was all said before."""
    kind = event["type"]
    if {"type": "RAW", "event": event, "source": OUT_OF_ORDER} in came or event in came or kind == "RUN_STARTED":
        return
    if kind in CHUNKS:
        for key in event.keys() & {"delta", "rawEvent", "metadata"}:
            assert any(wire.get(key) == event[key] for wire in unpacked(came))
        for key in event.keys() & {"messageId", "toolCallId", "toolCallName", "parentMessageId", "role", "name"}:
            assert any(wire.get(key) == event[key] for wire in unpacked(sent)), "its first chunk said so"
    elif kind.endswith(("_START", "_STARTED")):
        before = [{"role": "assistant", **wire} for wire in sent if wire["type"] == kind]
        assert any(event.items() <= wire.items() for wire in before), "a start of what is open"
    else:
        assert kind.endswith(("_END", "_FINISHED"))
        assert event.keys() <= {"type", "messageId", "toolCallId", "stepName", "subagentRunId"}, "an end says no more"


def unpacked(events: list[Wire]) -> list[Wire]:
    return [event["event"] if event.get("source") == OUT_OF_ORDER else event for event in events]


UNITS = st.text(st.sampled_from("a\N{GRINNING FACE}\N{SNOWMAN}"), min_size=1, max_size=8).map(
    lambda text: [unit for character in text for unit in halves(character)]
)


def halves(character: str) -> list[str]:
    data = character.encode("utf-16-le")
    return [data[at : at + 2].decode("utf-16-le", "surrogatepass") for at in range(0, len(data), 2)]


def whole(units: list[str]) -> str:
    return "".join(units).encode("utf-16-le", "surrogatepass").decode("utf-16-le")


SPLIT: dict[str, Callable[[str], Event]] = {
    "TEXT_MESSAGE_CONTENT": lambda unit: e.TextMessageContent(unit, "m", "s"),
    "REASONING_MESSAGE_CONTENT": lambda unit: e.ReasoningMessageContent(unit, "n"),
    "TOOL_CALL_ARGS": lambda unit: e.ToolCallArgs("c", unit),
}


@steady
@given(st.data(), st.fixed_dictionaries(dict.fromkeys(SPLIT, UNITS)), st.booleans())
def test_surrogate_pairs_cut_anywhere_arrive_whole(
    data: st.DataObject, texts: dict[str, list[str]], merging: bool
) -> None:
    waiting = {kind: iter(units) for kind, units in texts.items()}
    order = data.draw(st.permutations([kind for kind, units in texts.items() for _ in units]))
    turn: list[Event] = [e.ToolCallStart("c", "f"), *(SPLIT[kind](next(waiting[kind])) for kind in order)]
    events = accepted(stream(data.draw(in_batches(turn)), "finished", merging=merging))
    for kind, units in texts.items():
        sent = [event["delta"] for event in events if event["type"] == kind]
        assert "".join(sent) == whole(units)
        assert all(delta.encode() or not delta for delta in sent), "each is well-formed by itself"
