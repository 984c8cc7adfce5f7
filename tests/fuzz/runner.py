"""Random search: cases from seeds, until the time is over.

In: targets, a seed, a limit of seconds or cases. Out: a report of the number of cases and of each failure, reduced. A
target that failed is left out of the rest of the run.
"""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from random import Random

from tests.fuzz.reduction import failure_of, reduce_case
from tests.fuzz.target import Sample, Target

PROGRESS_SECONDS = 0.25


@dataclass(frozen=True, slots=True)
class Case:
    """One check of changed lines. `seed` decides how they are cut and answered."""

    target: Target
    sample: Sample
    lines: list[bytes]
    seed: int

    def check(self, lines: list[bytes]) -> None:
        self.target.check(self.sample, lines, Random(self.seed))


@dataclass(slots=True)
class Report:
    cases: int = 0
    seconds: float = 0.0
    failures: list[str] = field(default_factory=list)
    failed_targets: set[str] = field(default_factory=set)

    def __str__(self) -> str:
        return f"{self.cases} cases in {self.seconds:.0f} s, {len(self.failures)} failures"


def random_case(target: Target, seed: int) -> Case:
    """The same case for the same seed."""
    rng = Random(seed)
    sample = rng.choice(target.samples)
    return Case(target, sample, target.mutate(rng, sample.lines), seed)


def run_case(case: Case) -> str | None:
    """None, or a text that describes the failure and its smallest input."""
    try:
        case.check(case.lines)
    except Exception as exc:
        trace = traceback.format_exc()
        smallest = reduce_case(case.check, case.lines, failure_of(exc))
        shown = "\n".join(f"  {line!r}" for line in smallest)
        return (
            f"FAILED {case.target.name} ({case.sample.name}), --case {case.seed}\n"
            f"{len(smallest)} lines of {len(case.lines)}:\n{shown}\n{trace}"
        )
    return None


def fuzz(
    targets: list[Target],
    seed: int,
    *,
    seconds: float | None = None,
    cases: int | None = None,
    output: Callable[[str], None] = print,
) -> Report:
    """Random cases of all targets, until one of the limits is reached."""
    rng = Random(seed)
    report = Report()

    def source() -> Iterator[Case]:
        while remaining := [target for target in targets if target.name not in report.failed_targets]:
            yield random_case(rng.choice(remaining), rng.getrandbits(48))

    return run_cases(source(), report, seconds=seconds, limit=cases, output=output)


def run_cases(
    source: Iterable[Case],
    report: Report,
    *,
    seconds: float | None = None,
    limit: int | None = None,
    output: Callable[[str], None] = print,
) -> Report:
    """Check the cases of a source, but none of a target that has failed before."""
    progress = Progress(seconds)
    started = time.monotonic()
    for case in source:
        if case.target.name in report.failed_targets:
            continue
        failure = run_case(case)
        report.cases += 1
        report.seconds = time.monotonic() - started
        if failure is not None:
            report.failed_targets.add(case.target.name)
            report.failures.append(failure)
            progress.clear()
            output(failure)
        progress.show(report)
        if report.cases == limit or (seconds is not None and report.seconds >= seconds):
            break
    progress.clear()
    return report


class Progress:
    """One line at a terminal, rewritten; nothing elsewhere."""

    def __init__(self, seconds: float | None) -> None:
        self._seconds = seconds
        self._is_terminal = sys.stderr.isatty()
        self._next = 0.0

    def show(self, report: Report) -> None:
        if not self._is_terminal or report.seconds < self._next:
            return
        self._next = report.seconds + PROGRESS_SECONDS
        rate = report.cases / max(report.seconds, 0.001)
        rest = "" if self._seconds is None else f", {max(0.0, self._seconds - report.seconds):.0f} s left"
        sys.stderr.write(f"\r\x1b[Kfuzz: {report.cases} cases, {rate:.0f} per second{rest}")
        sys.stderr.flush()

    def clear(self) -> None:
        if self._is_terminal:
            sys.stderr.write("\r\x1b[K")
            sys.stderr.flush()
