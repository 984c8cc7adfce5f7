"""Plans and live output: shown once, then patched."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from jsonpatch import apply_patch

from gateway.events import ActivityDelta, ActivitySnapshot, Event
from gateway.wire.activities import OUTPUT_MAX_CHARS, LiveOutput, Plans, tool_output
from tests.agui.streams import VALUES, steady


def content_of(events: list[Event]) -> Any:
    """What a client has after these events."""
    content: Any = None
    for event in events:
        match event:
            case ActivitySnapshot():
                content = event.content
            case ActivityDelta():
                content = apply_patch(content, event.patch)
    return content


def test_a_plan_is_shown_once_and_then_patched() -> None:
    plans = Plans("t1", "sub")
    first = plans.show_entries([{"content": "a", "status": "pending", "_meta": 1}, 7])
    entries = [{"content": "a", "status": "pending"}]
    assert first == [ActivitySnapshot("t1:plan", "plan", {"entries": entries}, subagent="sub")]
    patch = [{"op": "replace", "path": "/entries/0/status", "value": "completed"}]
    again = plans.show_entries([{"content": "a", "status": "completed"}])
    assert again == [ActivityDelta("t1:plan", "plan", patch, subagent="sub")]
    assert plans.show_entries([{"content": "a", "status": "completed"}]) == []


def test_named_plans_are_activities_of_their_own() -> None:
    plans = Plans("t1", None)
    [shown] = plans.show("p", {"uri": "file:///plan.md"})
    assert isinstance(shown, ActivitySnapshot) and shown.id == "t1:plan:p"
    assert (plans.content("p"), plans.content("q")) == ({"uri": "file:///plan.md"}, {})


@steady
@given(st.lists(VALUES, max_size=5))
def test_a_client_has_the_newest_plan_after_any_updates(updates: list[Any]) -> None:
    plans = Plans("t1", None)
    events = [event for entries in updates for event in plans.show_entries(entries)]
    assert content_of(events) == (plans.content("") or None)


@steady
@given(st.lists(st.tuples(st.booleans(), st.text(max_size=3)), min_size=1, max_size=8))
def test_a_client_has_the_whole_output_after_any_updates(steps: list[tuple[bool, str]]) -> None:
    output = LiveOutput("o", "terminal", None, {"terminalId": "x"})
    expected = ""
    events: list[Event] = []
    for replaces, text in steps:
        expected = text if replaces else expected + text
        events += output.replace(text) if replaces else output.append(text)
    assert "".join(content_of(events)["output"]) == output.text == expected


def test_fields_are_patched_beside_the_output() -> None:
    output = tool_output("c", None)
    events = [*output.append("a"), *output.set_fields(exitCode=0, signal=None)]
    assert content_of(events) == {"toolCallId": "c", "output": ["a"], "exitCode": 0}
    assert output.set_fields(exitCode=0) == []


def test_of_a_long_output_the_end_is_kept() -> None:
    output = tool_output("c", None)
    for _ in range(5):
        output.append("x" * OUTPUT_MAX_CHARS)
    output.append("end")
    assert output.text.startswith("[the first ") and output.text.endswith("xend")
    assert len(output.text) < 3 * OUTPUT_MAX_CHARS
