"""SECURITY.md: every attack of `tests/attacks` stands in the threat model, and every test that it names exists."""

from __future__ import annotations

import re

from tests.support.project import ROOT

TEXT = (ROOT / "SECURITY.md").read_text("utf-8")
ATTACKS = {path.name for path in (ROOT / "tests/attacks").glob("test_*.py")}


def test_every_attack_stands_in_the_threat_model() -> None:
    assert len(ATTACKS) >= 30
    assert {name for name in ATTACKS if f"`{name}`" not in TEXT} == set()


def test_every_test_that_the_threat_model_names_exists() -> None:
    assert set(re.findall(r"`(test_\w+\.py)`", TEXT)) <= ATTACKS
    assert [path for path in re.findall(r"`(tests/[\w/.]+)`", TEXT) if not (ROOT / path).exists()] == []
