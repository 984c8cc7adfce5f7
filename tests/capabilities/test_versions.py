"""Numbers and differences of a snapshot's versions."""

from __future__ import annotations

import jsonpatch
import orjson

from gateway.capabilities.versions import MAX_VERSIONS, Versions
from gateway.errors import NotFound
from tests.capabilities.layer_builders import render_json


def test_a_number_that_is_too_old_brings_a_snapshot() -> None:
    versions = Versions(lambda: 1.0)
    numbers = []
    for count in range(MAX_VERSIONS + 1):
        versions.publish(render_json({"count": count}))
        event = versions.after(None)
        assert event is not None
        numbers.append(event.number)
    assert numbers == sorted(set(numbers))
    since = [versions.after(number) for number in numbers]
    assert [event.name if event else None for event in since] == ["snapshot", *["change"] * (MAX_VERSIONS - 1), None]


def test_numbers_grow_beyond_a_restart() -> None:
    before, after = Versions(lambda: 5.0), Versions(lambda: 6.0)
    for versions in (before, after):
        versions.publish(render_json({}))
    one, other = before.after(None), after.after(None)
    assert one is not None and other is not None
    assert one.number < other.number


def test_what_is_the_same_is_no_new_version() -> None:
    versions = Versions()
    assert versions.publish(render_json({"a": 1}))
    assert not versions.publish(render_json({"a": 1}))
    event = versions.after(None)
    assert event is not None
    assert versions.after(event.number) is None


def test_a_version_is_encoded_once_for_all_watchers_that_know_the_same() -> None:
    versions = Versions()
    versions.publish(render_json({"a": 1}))
    first = versions.after(None)
    assert first is not None and versions.after(None) is first
    versions.publish(render_json({"a": 2}))
    change = versions.after(first.number)
    assert change is not None and versions.after(first.number) is change
    assert jsonpatch.apply_patch({"a": 1}, orjson.loads(change.data)["patch"]) == {"a": 2}


def test_a_farewell_has_a_number_of_its_own() -> None:
    versions = Versions(lambda: 1.0)
    versions.publish(render_json({}))
    last = versions.after(None)
    assert last is not None
    event = versions.removed_event(NotFound("it is gone", code="UNKNOWN_AGENT"))
    assert (event.name, event.number > last.number, orjson.loads(event.data)["status"]) == ("removed", True, 404)
