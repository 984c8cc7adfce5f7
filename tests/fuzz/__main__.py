"""`python -m tests.fuzz`: search for input that breaks a reader of foreign input. Exit code 1 if there is any."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence

from tests.fuzz.runner import Report, fuzz, random_case, run_cases
from tests.fuzz.sweep import sweep_cases
from tests.fuzz.target import Target
from tests.fuzz.targets import all_targets


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz", description=__doc__)
    parser.add_argument(
        "--seconds", type=float, default=None, help="how long to search (default 60; --sweep: no limit)"
    )
    parser.add_argument("--seed", type=int, default=None, help="for the same cases again (default: the time)")
    parser.add_argument("--only", default="", metavar="NAME", help="targets whose name contains this")
    parser.add_argument("--sweep", action="store_true", help="replace every recorded value by every JSON type")
    parser.add_argument("--case", type=int, default=None, metavar="SEED", help="one reported case again, with --only")
    parser.add_argument("--list", action="store_true", help="list the targets")
    options = parser.parse_args(arguments)
    targets = all_targets(options.only)
    if options.list or not targets:
        for target in targets:
            print(f"{target.name}  {len(target.samples)} recordings")
        return 0 if targets else 2
    seed = options.seed if options.seed is not None else time.time_ns() % 2**32
    report = _run(targets, seed, options)
    if report.failures:
        print(f"seed {seed}")
    print(f"fuzz: {report}")
    return 1 if report.failures else 0


def _run(targets: list[Target], seed: int, options: argparse.Namespace) -> Report:
    if options.case is not None:
        return run_cases([random_case(target, options.case) for target in targets], Report())
    if options.sweep:
        return run_cases(sweep_cases(targets), Report(), seconds=options.seconds)
    return fuzz(targets, seed, seconds=options.seconds if options.seconds is not None else 60.0)


if __name__ == "__main__":
    sys.exit(main())
