"""`agui-gateway models`: the models of an agent's file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.cli.pseudo_terminal import Terminal, run_command

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


def test_in_a_pipe_models_are_columns(home: Path) -> None:
    result = run_command(home, "models", "otter", "--agents", "agents")
    assert (result.returncode, result.stderr) == (0, "")
    _, new, old = result.stdout.splitlines()
    assert new.split() == ["otter-2", "otter", "200,000", "3", "0.3", "15", "low", "high", "default"]
    assert old.endswith("deprecated since 2026-01-15, use otter-2")


def test_in_a_terminal_models_are_a_table(home: Path) -> None:
    with Terminal(home, "models", "otter", "--agents", "agents") as terminal:
        assert terminal.end() == 0
    assert "200,000" in terminal.screen and "deprecated since 2026-01-15" in terminal.screen


def test_json_has_everything(home: Path) -> None:
    new, old = json.loads(run_command(home, "models", "otter", "--agents", "agents", "--json").stdout)
    assert (new["modelId"], new["isDefault"], new["contextWindow"]) == ("otter-2", True, 200_000)
    assert (old["deprecated"], old["successorModelId"]) == (True, "otter-2")


def test_one_model_is_shown_by_any_of_its_names(home: Path) -> None:
    result = run_command(home, "models", "otter", "Otter", "--agents", "agents")
    lines = dict(line.split(None, 1) for line in result.stdout.splitlines())
    assert (result.returncode, lines["modelId"], lines["contextWindow"]) == (0, "otter-2", "200,000")


def test_a_deprecated_model_is_shown_with_a_warning(home: Path) -> None:
    result = run_command(home, "models", "otter", "otter-1", "--agents", "agents")
    assert result.returncode == 0
    assert "deprecated: use 'otter-2' instead" in result.stderr


def test_the_cost_of_tokens_is_exact(home: Path) -> None:
    line = ("models", "otter", "otter-2", "--cost", "1000,2000", "--agents", "agents", "--json")
    cost = json.loads(run_command(home, *line).stdout)
    assert (cost["usd"], cost["priced"]) == ("0.033", True)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (("otter", "oter"), 1, "Did you mean otter-2"),
        (("otter", "--cost", "1,2"), 2, "--cost needs a model"),
        (("otter", "otter-2", "--cost", "many"), 2, "--cost many: give two numbers of tokens"),
        (("oter",), 2, "Did you mean otter?"),
    ],
)
def test_a_mistake_is_reported(home: Path, arguments: tuple[str, ...], code: int, message: str) -> None:
    result = run_command(home, "models", *arguments, "--agents", "agents")
    assert (result.returncode, result.stdout) == (code, "")
    assert message in result.stderr


def test_an_agent_without_a_list_reports_it(home: Path) -> None:
    result = run_command(home, "models", "demo")
    assert (result.returncode, result.stdout) == (0, "")
    assert "lists no models" in result.stderr
    assert json.loads(run_command(home, "models", "demo", "--json").stdout) == []
