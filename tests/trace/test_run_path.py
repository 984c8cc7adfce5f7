"""The way of a run into the agent: few modules, one snapshot, no call from a lower package into a higher one."""

from __future__ import annotations

import anyio
import pytest

from tests.trace.run_path import MAX_MODULES, Trace, is_above, trace_run


@pytest.fixture(scope="module")
def trace() -> Trace:
    return anyio.run(trace_run)


def test_a_run_passes_few_modules_on_its_way_in(trace: Trace) -> None:
    assert len(trace.modules) <= MAX_MODULES, trace.report()


def test_the_snapshot_of_a_run_is_taken_and_computed_once(trace: Trace) -> None:
    assert (trace.snapshots_taken, trace.snapshots_computed) == (1, 1)


def test_no_package_calls_into_one_above_it(trace: Trace) -> None:
    assert trace.unexpected_calls_up == []


def test_packages_are_ordered_by_the_import_table() -> None:
    assert is_above("web", "runs")
    assert is_above("runs", "drivers")
    assert is_above("service", "errors")
    assert not is_above("drivers", "runs")
    assert not is_above("wire", "agui")
