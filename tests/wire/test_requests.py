"""The table of open requests: every answer finds its reader once, and no other."""

from __future__ import annotations

from typing import Any

from hypothesis import given

from gateway.wire.requests import RequestTable, tag_of
from tests.agui.streams import VALUES, steady


def test_an_answer_finds_the_reader_of_its_request_once() -> None:
    table = RequestTable[str]("a")
    first, second = table.add("one"), table.add("two")
    assert (first, second, len(table)) == ("a:1", "a:2", 2)
    assert (table.pop(second), table.pop(second), table.pop(first), len(table)) == ("two", None, "one", 0)


def test_a_request_that_is_answered_twice_stays_open_until_it_is_popped() -> None:
    table = RequestTable[str]()
    request_id = table.add("run")
    assert (table.get(request_id), table.get(request_id), table.pop(request_id)) == ("run", "run", "run")
    assert table.get(request_id) is None


def test_answers_to_an_earlier_process_reach_no_request_of_the_new_one() -> None:
    table = RequestTable[str]("s", separator="-")
    late = table.add("old")
    table.begin("s")
    new = table.add("new")
    assert (late, new) == ("s-1", "s-2")
    assert (table.pop(late), table.pop(new)) == (None, "new")


def test_open_requests_are_drained_when_the_process_ends() -> None:
    table = RequestTable[str]()
    table.add("one")
    assert table.next_number() == 2
    table.add("two")
    assert table.drain() == [("s:1", "one"), ("s:3", "two")]
    assert (table.drain(), len(table)) == ([], 0)


def test_an_id_names_the_session_it_belongs_to() -> None:
    assert tag_of(RequestTable[str]("a:b").add("x")) == "a:b"
    assert tag_of("t.7", ".") == "t"
    assert (tag_of("7"), tag_of(":7"), tag_of(None), tag_of(7)) == (None, None, None, None)


@steady
@given(VALUES)
def test_an_id_of_any_json_type_has_no_reader(value: Any) -> None:
    table = RequestTable[str]()
    table.add("reader")
    assert (table.get(value), table.pop(value)) == (None, None)
    tag_of(value)
