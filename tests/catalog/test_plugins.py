"""Agents of installed packages: a real dist-info folder on the path, good ones and broken ones."""

from __future__ import annotations

import logging
from pathlib import Path

import pytest

from gateway.catalog.plugins import load_plugins
from tests.support.gateway import Gateway, text_of

CODE = """\
from gateway.catalog.definition import AgentDefinition

A_DICT = {"id": "first", "driver": "python", "entry": "plugged:agent", "identity": {"name": "First"}}

def a_function():
    return AgentDefinition(id="made", driver="python", entry="plugged:agent", identity={"name": "Made"})

def raises():
    raise RuntimeError("not today")

WRONG = {"id": "wrong", "driver": "python", "identity": {"name": "Wrong"}, "colour": 3}
NOTHING = 7

async def agent(turn):
    yield "plugged in"
"""
POINTS = """\
[agui_gateway.agents]
first = plugged:A_DICT
made = plugged:a_function
raises = plugged:raises
wrong = plugged:WRONG
nothing = plugged:NOTHING
missing = no_such_module:x
again = plugged:A_DICT
"""


@pytest.fixture
def site(tmp_path: Path) -> Path:
    info = tmp_path / "site" / "plugged-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: plugged\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(POINTS)
    (info.parent / "plugged.py").write_text(CODE)
    return info.parent


def test_the_good_ones_are_agents_and_the_broken_ones_are_reported(
    site: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.syspath_prepend(str(site))
    with caplog.at_level(logging.WARNING):
        catalog = load_plugins()
    assert {name: definition.identity.name for name, definition in catalog.items()} == {
        "first": "First",
        "made": "Made",
    }
    logged = "\n".join(record.getMessage() for record in caplog.records)
    for expected in ("raises = plugged:raises: RuntimeError: not today", "colour: there is no such key", "it is a int"):
        assert expected in logged
    assert "no_such_module" in logged and "'first' is already used by" in logged
    assert len(caplog.records) == 5


def test_a_gateway_runs_them_and_a_folder_is_laid_over_them(site: Path, tmp_path: Path) -> None:
    agents = tmp_path / "agents"
    agents.mkdir()
    text = 'id = "made"\ndriver = "python"\nentry = "plugged:agent"\nidentity.name = "Mine"\n'
    (agents / "made.toml").write_text(text)
    with Gateway(tmp_path / "home", "--agents", str(agents), env={"PYTHONPATH": str(site)}) as gateway:
        assert text_of(gateway.run("first")) == "plugged in"
        assert gateway.client.get("/agents/made").json()["identity"]["name"] == "Mine"
