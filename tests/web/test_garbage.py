"""What a run needs is freed when it ends. What is left to the garbage collector makes it stop every stream."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

LIMIT_SECONDS = 120.0
RUNS = 10


def test_a_run_leaves_nothing_to_the_garbage_collector(tmp_path: Path) -> None:
    (tmp_path / "workspace").mkdir()
    (tmp_path / "home").mkdir()
    command = [sys.executable, "-m", "tests.web.garbage", str(tmp_path / "home"), str(RUNS)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_SECONDS, check=False)
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout.splitlines()[-1])
    assert {kind: count for kind, count in found.items() if count >= RUNS} == {}
