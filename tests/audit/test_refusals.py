"""A flood of refusals is a few entries."""

from __future__ import annotations

from gateway.audit.refusals import MAX_KINDS, OTHERS, WINDOW_SECONDS, Refusal, RefusalCounter

EVE = Refusal("eve", "UNAUTHORIZED", "GET /agents", 401)


def test_the_first_refusal_is_an_entry_at_once_and_further_ones_are_counted() -> None:
    counter = RefusalCounter()
    assert [count.count for count in counter.add(EVE, 0.0)] == [1]
    assert [entry for _ in range(1000) for entry in counter.add(EVE, 1.0)] == []
    assert counter.take(WINDOW_SECONDS - 1) == []
    [count] = counter.take(WINDOW_SECONDS)
    assert (count.refusal, count.count) == (EVE, 1000)
    assert counter.ends is None


def test_a_refusal_in_the_next_minute_is_an_entry_again_after_the_count_of_the_last() -> None:
    counter = RefusalCounter()
    counter.add(EVE, 0.0)
    counter.add(EVE, 1.0)
    assert [count.count for count in counter.add(EVE, 100.0)] == [1, 1]


def test_kinds_beyond_the_bound_are_counted_together() -> None:
    counter = RefusalCounter()
    refusals = [EVE._replace(principal=f"10.0.{number // 256}.{number % 256}") for number in range(10_000)]
    entries = [entry for refusal in refusals for entry in counter.add(refusal, 1.0)]
    assert len(entries) == MAX_KINDS + 1
    counts = counter.take(WINDOW_SECONDS + 1.0)
    assert [(count.refusal.principal, count.count) for count in counts] == [(OTHERS, 10_000 - MAX_KINDS - 1)]


def test_the_end_of_the_gateway_takes_what_is_left() -> None:
    counter = RefusalCounter()
    counter.add(EVE, 0.0)
    counter.add(EVE, 0.0)
    assert [count.count for count in counter.take_all()] == [1]
