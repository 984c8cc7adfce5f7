"""The console's pure modules, run by Node: `*.test.mjs` beside this file."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
NODE = shutil.which("node")


@pytest.mark.parametrize("path", sorted(HERE.glob("*.test.mjs")), ids=lambda path: path.name)
def test_the_module_does_what_its_tests_say(path: Path) -> None:
    if NODE is None:
        pytest.skip("Node 20 is not here: the console's modules are not tested")
    told = subprocess.run([NODE, "--test", str(path)], capture_output=True, text=True, timeout=120, check=False)
    assert told.returncode == 0, told.stdout[-6000:] + told.stderr[-2000:]
    assert "# pass 0" not in told.stdout
