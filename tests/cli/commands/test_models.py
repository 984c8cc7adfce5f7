"""`agui-gateway models`: what an agent's file knows of its models."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.pseudo_terminal import Terminal, typed

OTTER = """\
id = "otter"
driver = "acp"
identity = { name = "Otter" }
command = { run = ["otter"] }
effort = { parameter = "think", values = { low = "brief", high = "deep" } }

[[models]]
id = "otter-2"
aliases = ["otter"]
default = true
context = 200_000
price = { input = 3.00, cached_input = 0.30, output = 15.00 }

[[models]]
id = "otter-1"
deprecated = 2026-01-15
successor = "otter-2"
"""


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "agents").mkdir()
    (tmp_path / "agents" / "otter.toml").write_text(OTTER)
    return tmp_path


def test_in_a_pipe_they_stand_in_columns(home: Path) -> None:
    done = typed(home, "models", "otter", "--agents", "agents")
    assert (done.returncode, done.stderr) == (0, "")
    _, new, old = done.stdout.splitlines()
    assert new.split() == ["otter-2", "otter", "200,000", "3", "0.3", "15", "low", "high", "default"]
    assert old.endswith("deprecated since 2026-01-15, use otter-2")


def test_at_a_terminal_they_are_a_table(home: Path) -> None:
    with Terminal(home, "models", "otter", "--agents", "agents") as terminal:
        assert terminal.end() == 0
    assert "200,000" in terminal.screen and "deprecated since 2026-01-15" in terminal.screen


def test_json_has_all_that_is_known(home: Path) -> None:
    new, old = json.loads(typed(home, "models", "otter", "--agents", "agents", "--json").stdout)
    assert (new["modelId"], new["isDefault"], new["contextWindow"]) == ("otter-2", True, 200_000)
    assert (old["deprecated"], old["successorModelId"]) == (True, "otter-2")


def test_one_is_shown_by_any_name_that_means_it(home: Path) -> None:
    done = typed(home, "models", "otter", "Otter", "--agents", "agents")
    lines = dict(line.split(None, 1) for line in done.stdout.splitlines())
    assert (done.returncode, lines["modelId"], lines["contextWindow"]) == (0, "otter-2", "200,000")


def test_an_old_one_is_shown_with_a_warning(home: Path) -> None:
    done = typed(home, "models", "otter", "otter-1", "--agents", "agents")
    assert done.returncode == 0
    assert "deprecated: use 'otter-2' instead" in done.stderr


def test_what_tokens_cost_is_exact(home: Path) -> None:
    line = ("models", "otter", "otter-2", "--cost", "1000,2000", "--agents", "agents", "--json")
    told = json.loads(typed(home, *line).stdout)
    assert (told["usd"], told["priced"]) == ("0.033", True)


@pytest.mark.parametrize(
    ("arguments", "code", "says"),
    [
        (("otter", "oter"), 1, "Did you mean otter-2"),
        (("otter", "--cost", "1,2"), 2, "--cost: of which model?"),
        (("otter", "otter-2", "--cost", "many"), 2, "--cost many: two numbers of tokens"),
        (("oter",), 2, "Did you mean otter?"),
    ],
)
def test_a_mistake_is_reported(home: Path, arguments: tuple[str, ...], code: int, says: str) -> None:
    done = typed(home, "models", *arguments, "--agents", "agents")
    assert (done.returncode, done.stdout) == (code, "")
    assert says in done.stderr


def test_an_agent_without_a_list_reports_it(home: Path) -> None:
    done = typed(home, "models", "demo")
    assert (done.returncode, done.stdout) == (0, "")
    assert "lists no models" in done.stderr
    assert json.loads(typed(home, "models", "demo", "--json").stdout) == []
