"""Recordings of real agents with random changes: the events are still streams that the official client accepts.

The same cases as `make fuzz`, but a fixed number of them for every recording.
"""

from __future__ import annotations

from random import Random

import pytest

from gateway.wire.dialects import DIALECTS
from tests.fuzz.dialects import dialect_targets
from tests.fuzz.mutations import mutate_lines
from tests.fuzz.runner import Case, run_case
from tests.fuzz.target import Sample, Target

CASES_PER_RECORDING = 25

TARGETS = {target.name: target for target in dialect_targets()}


@pytest.mark.parametrize("name", TARGETS)
def test_a_changed_recording_is_still_a_well_ordered_stream(name: str) -> None:
    for sample in TARGETS[name].samples:
        for seed in range(CASES_PER_RECORDING):
            assert run_case(_case(TARGETS[name], sample, seed)) is None


def _case(target: Target, sample: Sample, seed: int) -> Case:
    return Case(target, sample, mutate_lines(Random(f"{sample.name}/{seed}"), sample.lines), seed)


def test_every_dialect_has_recordings() -> None:
    assert set(TARGETS) == {f"dialect/{name}" for name in DIALECTS}
