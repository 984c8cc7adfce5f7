"""Numbers and differences of a snapshot's versions."""

from __future__ import annotations

import jsonpatch
import orjson

from gateway.capabilities.versions import RING, Versions
from gateway.errors import NotFound
from tests.capabilities.layer_builders import shown


def test_a_number_that_is_too_old_brings_a_snapshot() -> None:
    versions = Versions(lambda: 1.0)
    numbers = []
    for count in range(RING + 1):
        versions.publish(shown({"count": count}))
        told = versions.after(None)
        assert told is not None
        numbers.append(told.number)
    assert numbers == sorted(set(numbers))
    since = [versions.after(number) for number in numbers]
    assert [told.name if told else None for told in since] == ["snapshot", *["change"] * (RING - 1), None]


def test_numbers_grow_beyond_a_restart() -> None:
    before, after = Versions(lambda: 5.0), Versions(lambda: 6.0)
    for versions in (before, after):
        versions.publish(shown({}))
    one, other = before.after(None), after.after(None)
    assert one is not None and other is not None
    assert one.number < other.number


def test_what_is_the_same_is_no_new_version() -> None:
    versions = Versions()
    assert versions.publish(shown({"a": 1}))
    assert not versions.publish(shown({"a": 1}))
    told = versions.after(None)
    assert told is not None
    assert versions.after(told.number) is None


def test_a_version_is_encoded_once_for_all_who_know_the_same() -> None:
    versions = Versions()
    versions.publish(shown({"a": 1}))
    first = versions.after(None)
    assert first is not None and versions.after(None) is first
    versions.publish(shown({"a": 2}))
    change = versions.after(first.number)
    assert change is not None and versions.after(first.number) is change
    assert jsonpatch.apply_patch({"a": 1}, orjson.loads(change.data)["patch"]) == {"a": 2}


def test_a_farewell_has_a_number_of_its_own() -> None:
    versions = Versions(lambda: 1.0)
    versions.publish(shown({}))
    last = versions.after(None)
    assert last is not None
    told = versions.farewell(NotFound("it is gone", code="UNKNOWN_AGENT"))
    assert (told.name, told.number > last.number, orjson.loads(told.data)["status"]) == ("removed", True, 404)
