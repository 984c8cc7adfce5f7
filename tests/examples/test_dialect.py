"""The example of a dialect: its tests pass, and its definition is valid."""

from __future__ import annotations

import re
import subprocess
import sys

from examples.dialect.otter import Otter
from gateway.catalog.load import load_file
from tests.support.project import ROOT

EXAMPLE = ROOT / "examples" / "dialect"
TIMEOUT_SECONDS = 120.0


def test_the_tests_of_the_example_pass_as_the_readme_runs_them() -> None:
    [command] = re.findall(r"^python (-m pytest .*)$", (EXAMPLE / "README.md").read_text("utf-8"), re.M)
    ran = subprocess.run(
        [sys.executable, *command.split(), "-p", "no:cacheprovider"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=TIMEOUT_SECONDS,
    )
    assert ran.returncode == 0, ran.stdout + ran.stderr


def test_the_definition_is_valid_and_names_the_dialect() -> None:
    definition = load_file(EXAMPLE / "otter.toml")
    assert definition.cli is not None and definition.cli.dialect == Otter.name


def test_the_readme_names_at_most_five_files() -> None:
    numbers = re.findall(r"^(\d+)\. `", (EXAMPLE / "README.md").read_text("utf-8"), re.M)
    assert 0 < len(numbers) <= 5
