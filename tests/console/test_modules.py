"""Runs the console's JavaScript tests (`*.test.mjs` in this folder) with Node."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
NODE = shutil.which("node")


@pytest.mark.parametrize("path", sorted(HERE.glob("*.test.mjs")), ids=lambda path: path.name)
def test_the_javascript_tests_pass(path: Path) -> None:
    if NODE is None:
        pytest.skip("the console's JavaScript tests need Node 20 on the PATH")
    completed = subprocess.run([NODE, "--test", str(path)], capture_output=True, text=True, timeout=120, check=False)
    assert completed.returncode == 0, completed.stdout[-6000:] + completed.stderr[-2000:]
    assert "# pass 0" not in completed.stdout
