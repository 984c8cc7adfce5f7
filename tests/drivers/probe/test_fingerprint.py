"""A fingerprint shows what makes another look worth while, and only that."""

from __future__ import annotations

import os
from pathlib import Path

from gateway.catalog.definition import AgentDefinition
from gateway.drivers.probe import fingerprint
from tests.drivers.programs import agent, script


def test_it_shows_a_program_that_comes_changes_and_goes(tmp_path: Path) -> None:
    definition = agent("otter", path=tmp_path)
    seen = [fingerprint(definition, {})]
    program = script(tmp_path / "otter", "exit 0")
    seen.append(fingerprint(definition, {}))
    assert fingerprint(definition, {}) == seen[-1]
    os.utime(program, (1, 1))  # installed again
    seen.append(fingerprint(definition, {}))
    program.unlink()
    assert fingerprint(definition, {}) == seen[0]
    assert len(set(seen)) == 3


def test_it_shows_a_sign_in_by_file(tmp_path: Path) -> None:
    script(tmp_path / "otter", "exit 0")
    file = tmp_path / "signed-in"
    by_file = agent("otter", path=tmp_path, auth=[{"kind": "file", "name": str(file)}])
    before = fingerprint(by_file, {})
    file.touch()
    assert fingerprint(by_file, {}) != before


def test_it_starts_nothing(tmp_path: Path) -> None:
    trace = tmp_path / "trace"
    program = script(tmp_path / "otter", f"touch {trace}")
    definition: AgentDefinition = agent(
        "otter", path=tmp_path, auth=[{"kind": "command", "run": [str(program)], "timeout": 5}]
    )
    assert fingerprint(definition, {}) is not None
    assert not trace.exists()
