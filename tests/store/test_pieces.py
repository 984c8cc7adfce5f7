"""Rows are joined, cut and read without losing, doubling or reordering an event."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from gateway.store.pieces import join_lines, select_pieces
from gateway.store.sqlite.transaction import MAX_ROW_BYTES, Row, join_rows
from tests.store.make import numbered

LINES = st.lists(st.binary(max_size=30).map(lambda line: line.replace(b"\n", b" ")), min_size=1, max_size=40)


@settings(deadline=None)
@given(LINES, st.lists(st.integers(1, 7), min_size=40, max_size=40), st.integers(0, 45), st.integers(0, 1500))
def test_a_reader_gets_the_longest_run_of_events_that_fits(
    lines: list[bytes], cuts: list[int], after: int, max_bytes: int
) -> None:
    rows: list[tuple[int, bytes]] = []
    while (done := sum(cuts[: len(rows)])) < len(lines):
        rows.append((done + 1, join_lines(lines[done : done + cuts[len(rows)]])))
    selected = numbered(select_pieces(rows, after, max_bytes))
    wanted = list(enumerate(lines, start=1))[after:]
    assert selected == wanted[: len(selected)]
    size = sum(len(line) + 1 for _, line in selected)
    assert size <= max_bytes or len(selected) == 1
    assert len(selected) >= min(1, len(wanted))
    if len(selected) < len(wanted):
        assert size + len(wanted[len(selected)][1]) + 1 > max_bytes


@settings(deadline=None)
@given(st.lists(st.tuples(st.integers(1, 3), LINES), max_size=30))
def test_joining_rows_changes_no_event_and_no_run(appended: list[tuple[int, list[bytes]]]) -> None:
    logs: dict[int, list[bytes]] = {}
    rows: list[Row] = []
    for run, lines in appended:
        log = logs.setdefault(run, [])
        rows.append(Row(run, len(log) + 1, len(lines), join_lines(lines)))
        log += lines
    for run, log in logs.items():
        rows_of_run = [row for row in join_rows(rows) if row.run == run]
        assert sum(row.events for row in rows_of_run) == len(log)
        assert numbered(select_pieces([(row.first, row.payload) for row in rows_of_run], 0, 2**30)) == list(
            enumerate(log, start=1)
        )


def test_joining_stops_before_a_row_grows_too_large() -> None:
    rows = [Row(7, number, 1, b"x" * (MAX_ROW_BYTES // 3)) for number in range(1, 6)]
    rows.append(Row(7, 6, 1, b"y" * (2 * MAX_ROW_BYTES)))  # one event is never cut
    assert [(row.first, row.events) for row in join_rows(rows)] == [(1, 2), (3, 2), (5, 1), (6, 1)]
