"""Plans: shown once in a turn, then patched."""

from __future__ import annotations

from typing import Any

from gateway.events import ActivityDelta, ActivitySnapshot
from tests.wire.acp.session_helper import read, reader

FIRST = {"content": "first", "priority": "high", "status": "pending"}


def plan(*entries: dict[str, Any]) -> dict[str, Any]:
    return {"sessionUpdate": "plan", "entries": list(entries)}


def named(**content: Any) -> dict[str, Any]:
    return {"sessionUpdate": "plan_update", "plan": {"planId": "p", **content}}


def test_a_plan_is_set_once_and_then_patched() -> None:
    done = {**FIRST, "status": "completed"}
    assert read(reader(), plan(FIRST), plan(done), plan(done)) == [
        ActivitySnapshot("t1:plan", "plan", {"entries": [FIRST]}),
        ActivityDelta("t1:plan", "plan", [{"op": "replace", "path": "/entries/0/status", "value": "completed"}]),
    ]


def test_the_next_turn_shows_it_again() -> None:
    session = reader()
    read(session, plan(FIRST))
    session.begin_turn("t2")
    assert read(session, plan(FIRST)) == [ActivitySnapshot("t2:plan", "plan", {"entries": [FIRST]})]


def test_entries_hold_what_is_known_of_them() -> None:
    odd = {"content": "x", "status": 3, "_meta": {"k": 1}, "extra": True}
    assert read(reader(), plan(odd)) == [ActivitySnapshot("t1:plan", "plan", {"entries": [{"content": "x"}]})]


def test_plans_with_ids_stand_apart() -> None:
    events = read(
        reader(),
        named(type="items", entries=[FIRST]),
        {"sessionUpdate": "plan_update", "plan": {"type": "file", "planId": "q", "uri": "file:///p.md"}},
        named(type="markdown", content="# do"),
    )
    assert events == [
        ActivitySnapshot("t1:plan:p", "plan", {"planId": "p", "entries": [FIRST]}),
        ActivitySnapshot("t1:plan:q", "plan", {"planId": "q", "uri": "file:///p.md"}),
        ActivityDelta(
            "t1:plan:p",
            "plan",
            [{"op": "remove", "path": "/entries"}, {"op": "add", "path": "/content", "value": "# do"}],
        ),
    ]


def test_a_removed_plan_is_marked() -> None:
    events = read(reader(), named(type="markdown", content="x"), {"sessionUpdate": "plan_removed", "planId": "p"})
    assert events[1] == ActivityDelta("t1:plan:p", "plan", [{"op": "add", "path": "/removed", "value": True}])


def test_a_plan_of_no_known_kind_is_handed_on() -> None:
    for update in (named(type="mural"), {"sessionUpdate": "plan_update"}, {"sessionUpdate": "plan_removed"}):
        (event,) = read(reader(), update)
        assert type(event).__name__ == "Raw"
