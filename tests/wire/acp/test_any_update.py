"""Updates of any shape: the recorded ones with parts dropped, retyped and renamed. Nothing raises, no stream breaks."""

from __future__ import annotations

from copy import deepcopy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.agui.ordering import Order
from gateway.agui.outbound import Outbound
from gateway.agui.validate import validate
from gateway.events import Event
from gateway.wire.acp.session import SessionReader
from gateway.wire.jsonrpc import Fault
from tests.agui.streams import VALUES, steady
from tests.wire.acp.replay import NAMES, entries

KIDS = ("kid", "other")


def _samples() -> list[dict[str, Any]]:
    """One recorded update of every set of keys, and what no recording has."""
    found: dict[tuple[str, ...], dict[str, Any]] = {}
    for name in NAMES:
        for entry in entries(name):
            params = entry.get("msg", {}).get("params") if isinstance(entry.get("msg"), dict) else None
            if entry.get("dir") == "in" and isinstance(params, dict) and isinstance(params.get("update"), dict):
                update = params["update"]
                found.setdefault((update["sessionUpdate"], *sorted(update)), update)
    return [*found.values(), *UNRECORDED]


UNRECORDED: list[dict[str, Any]] = [
    {"sessionUpdate": "plan_update", "plan": {"type": "items", "planId": "p", "entries": [{"content": "x"}]}},
    {"sessionUpdate": "plan_removed", "planId": "p"},
    {"sessionUpdate": "compaction_summary_chunk", "compactionId": "k", "content": {"type": "text", "text": "x"}},
    {"sessionUpdate": "session_message_chunk", "messageId": "m", "content": {"type": "text", "text": "x"}},
    {"sessionUpdate": "tool_call_content_chunk", "toolCallId": "c", "content": {"type": "content", "content": {}}},
    {"sessionUpdate": "terminal_output_chunk", "terminalId": "t", "data": "eA=="},
    {"sessionUpdate": "subagent_update", "sessionId": "kid", "state": {"state": "running"}},
    {"sessionUpdate": "subagent_update", "sessionId": "kid", "state": {"state": "idle"}},
]
SAMPLES = _samples()
TEXTS = ("completed", "failed", "in_progress", "pending", "running", "idle", "error", "text", "diff", "terminal", "c")


def places(value: Any, path: tuple[Any, ...] = ()) -> list[tuple[Any, ...]]:
    inner: list[tuple[Any, ...]] = []
    if isinstance(value, dict | list):
        for key in value if isinstance(value, dict) else range(len(value)):
            inner += places(value[key], (*path, key))
    return [*([path] if path else []), *inner]


@st.composite
def mutated(draw: st.DrawFn) -> dict[str, Any]:
    update: dict[str, Any] = deepcopy(draw(st.sampled_from(SAMPLES)))
    for _ in range(draw(st.integers(0, 3))):
        spots = places(update)
        if not spots:
            break
        *path, last = draw(st.sampled_from(spots))
        holder: Any = update
        for key in path:
            holder = holder[key]
        if draw(st.booleans()):
            holder[last] = draw(VALUES | st.sampled_from(TEXTS))
        else:
            del holder[last]
    return update


def play(updates: list[tuple[Any, str | None]], permissions: list[Any]) -> None:
    reader = SessionReader()
    reader.begin_turn("t1")
    events: list[Event] = []
    for number, (update, whose) in enumerate(updates):
        events += reader.read(update, whose)
        if number < len(permissions):
            events += reader.read_permission(number, permissions[number])[0]
            events += reader.read_elicitation(number, permissions[number])[0]
            reader.set_permission_outcome(permissions[number], "Yes")
    events += reader.park()
    events += reader.end_turn("end_turn")
    outbound, order = Outbound("t", "r", "m"), Order()
    for event in outbound.started() + outbound.feed(events) + outbound.finished():
        order.accept(validate(event))


@settings(steady, max_examples=300)
@given(
    st.lists(st.tuples(mutated() | VALUES, st.sampled_from((None, *KIDS))), max_size=6),
    st.lists(st.fixed_dictionaries({}, optional={"toolCall": mutated() | VALUES, "options": VALUES}), max_size=3),
)
def test_updates_of_any_shape_make_streams_that_clients_accept(updates: list[Any], permissions: list[Any]) -> None:
    play(updates, permissions)


@settings(steady, max_examples=150)
@given(st.lists(mutated() | VALUES, max_size=8))
def test_a_replay_of_any_shape_is_messages(updates: list[Any]) -> None:
    reader = SessionReader()
    reader.begin_replay()
    assert [event for update in updates for event in reader.read(update, "s")] == []
    validate({"type": "MESSAGES_SNAPSHOT", "messages": reader.end_replay()})


@settings(steady, max_examples=50)
@given(VALUES, VALUES, VALUES, st.booleans())
def test_a_turn_ends_whatever_the_answer_is(reason: Any, usage: Any, meta: Any, cancelled: bool) -> None:
    reader = SessionReader()
    reader.begin_turn("t1")
    assert reader.end_turn(reason, usage, cancelled=cancelled, meta=meta)
    reader.begin_turn("t2")
    assert reader.fail_turn(Fault(-32603, "no", meta), cancelled=cancelled)
