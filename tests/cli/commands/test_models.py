"""`agui-gateway models`: the models of an agent's file, and those that agents list themselves."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest

from tests.behaviour.acp.harness import Stage
from tests.cli.pseudo_terminal import Terminal, environment, run_command
from tests.support.project import ROOT

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


# -- refreshed

PLAIN = """\
id = "plain"
driver = "acp"
identity = {{ name = "Plain" }}
command = {{ run = ["{python}", "-S", "-m", "tests.fakes.acp_agent", "--full"], env = {{ PYTHONPATH = "{root}" }} }}
"""
MISSING_MODULE = """\
id = "module"
driver = "acp"
identity = {{ name = "Module" }}
command = {{ run = ["{python}", "-m", "no_such_module_anywhere"] }}
[[install]]
kind = "pip"
package = "no-such-module"
"""


@pytest.fixture
def listing(home: Path) -> Path:
    """A folder with an agent that lists two models, and one whose module is missing."""
    for name, text in (("plain", PLAIN), ("module", MISSING_MODULE)):
        (home / "agents" / f"{name}.toml").write_text(text.format(python=sys.executable, root=ROOT))
    return home


def test_in_a_pipe_all_agents_are_asked_without_a_word_of_progress(listing: Path) -> None:
    """agent-mux §4 refreshAll. A missing program, or module, comes with the way to install it."""
    result = run_command(listing, "models", "refresh", "--agents", "agents", env=environment(listing, PATH="/usr/bin"))
    assert (result.returncode, result.stderr) == (0, "")
    rows = {line.split()[0]: line.split(maxsplit=1)[1] for line in result.stdout.splitlines()[1:]}
    assert rows["plain"] == "2"
    assert rows["otter"].startswith("'otter' cannot run here")
    assert rows["module"] == "not installed: pip install no-such-module"
    assert rows["goose"].startswith("not installed: ")
    assert "cannot list its models" in rows["echo"]


def test_json_of_a_refresh_is_the_route_s(listing: Path) -> None:
    result = run_command(listing, "models", "refresh", "--agents", "agents", "--json")
    results = {each["agent"]: each for each in json.loads(result.stdout)["agents"]}
    assert results["plain"] == {"agent": "plain", "updated": 2}
    assert (results["module"]["updated"], results["module"]["code"]) == (None, "AGENT_NOT_INSTALLED")


def test_in_a_terminal_a_refresh_shows_how_far_it_is(listing: Path) -> None:
    with Terminal(listing, "models", "refresh", "--agents", "agents") as terminal:
        terminal.until("agents have answered")
        assert terminal.end() == 0
    assert "not installed: pip install no-such-module" in terminal.screen


@pytest.mark.parametrize(("agent", "code"), [("plain", 0), ("module", 1), ("nobody", 2)])
def test_a_named_agent_that_cannot_list_its_models_fails_the_command(listing: Path, agent: str, code: int) -> None:
    result = run_command(listing, "models", "refresh", agent, "--agents", "agents")
    assert result.returncode == code, result.stderr


def test_a_running_gateway_takes_the_lists_over(tmp_path: Path) -> None:
    with Stage(tmp_path / "gateway").agent("plain", "--full", models=[{"id": "huge"}]) as stage:
        result = run_command(tmp_path, "models", "refresh", "plain", "--url", stage.url)
        assert result.returncode == 0, result.stderr
        assert [model["modelId"] for model in stage.asks("/agents/plain/models")["models"]] == ["small", "large"]
    assert run_command(tmp_path, "models", "plain", "--url", "http://127.0.0.1:1").returncode == 2
