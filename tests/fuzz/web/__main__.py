"""`python -m tests.fuzz.web`: send spoilt requests and frames to every route of a real gateway. Exit code 1 if an
answer is the gateway's own failure, or does not come."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tests.fuzz.web.client import Fuzzer
from tests.fuzz.web.frames import make_frame
from tests.fuzz.web.requests import make_request
from tests.fuzz.web.target import fuzz_gateway

REQUESTS, FRAMES = 50_000, 10_000


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.fuzz.web", description=__doc__)
    parser.add_argument("--requests", type=int, default=REQUESTS)
    parser.add_argument("--frames", type=int, default=FRAMES)
    parser.add_argument("--seed", type=int, default=None, help="for the same cases again (default: the time)")
    parser.add_argument("--log", type=Path, default=None, metavar="FILE", help="keep the gateway's log there")
    parser.add_argument("--show", type=int, default=None, metavar="CASE", help="print one case, with --seed")
    options = parser.parse_args(arguments)
    seed = options.seed if options.seed is not None else time.time_ns() % 2**32
    if options.show is not None:
        fuzzer = Fuzzer(0, seed)
        print(make_request(fuzzer.case("request", options.show)).data)
        print(make_frame(fuzzer.case("frame", options.show)).data)
        return 0
    started = time.monotonic()
    with TemporaryDirectory(prefix="fuzz-") as folder:
        report = fuzz_gateway(Path(folder), seed, options.requests, options.frames)
        if options.log is not None:
            options.log.write_bytes((Path(folder) / "gateway" / "stderr.txt").read_bytes())
    for failure in report.failures[:20]:
        print(failure)
    for name, count in report.statuses.most_common():
        print(f"{count:7} {name}")
    print(
        f"fuzz web: seed {seed}, {report.requests} requests, {report.frames} frames, {len(report.failures)} failures, "
        f"slowest {report.slowest:.2f} s, {time.monotonic() - started:.0f} s; 502 and 503: {report.foreign_faults()}"
    )
    return 1 if report.failures else 0


if __name__ == "__main__":
    sys.exit(main())
