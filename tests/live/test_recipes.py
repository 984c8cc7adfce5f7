"""The recipes as data: pinned exactly, held by the definitions they try, and private."""

from __future__ import annotations

import json
import re
import tomllib
from pathlib import Path

import pytest

from gateway.catalog.load import bundled, load_file
from gateway.drivers.environment import agent_environment
from tests.live.recipes import Recipe, load_recipes, prepare

RECIPES = load_recipes()
every = pytest.mark.parametrize("recipe", RECIPES.agents.values(), ids=list(RECIPES.agents))

NPM = re.compile(r"(@[\w-]+/)?[\w.-]+@\d+\.\d+\.\d+")
PYPI = re.compile(r"[\w-]+(\[[\w,-]+\])?==\d+(\.\d+)+")
MODELS = "http://127.0.0.1:1"


@every
def test_an_agent_is_pinned_exactly(recipe: Recipe) -> None:
    assert bool(recipe.npm) is not bool(recipe.pypi)
    assert all(NPM.fullmatch(package) for package in recipe.npm)
    assert all(PYPI.fullmatch(package) for package in recipe.pypi)
    assert bool(recipe.pypi) is (recipe.python is not None)


@every
def test_the_definition_names_the_version_that_is_tried(recipe: Recipe) -> None:
    ways = load_file(bundled() / f"{recipe.id}.toml").install
    told = {f"{way.package}{'@' if way.kind == 'npm' else '=='}{way.version}" for way in ways if way.version}
    assert told <= {*recipe.npm, *recipe.pypi}
    assert told


@every
def test_what_the_recipe_sets_reaches_the_agent_through_the_gateway(recipe: Recipe) -> None:
    command = load_file(bundled() / f"{recipe.id}.toml").command
    assert command is not None
    assert set(recipe.env) <= set(agent_environment(command.inherit_env, command.env, dict(recipe.env)))


@every
def test_an_agent_finds_its_files_in_its_own_home(recipe: Recipe, tmp_path: Path) -> None:
    ready = prepare(recipe, paths=[tmp_path / "bin"], home=tmp_path / "home", models=MODELS)
    assert ready.env["HOME"] == str(tmp_path / "home")
    assert ready.env["PATH"].startswith(f"{tmp_path / 'bin'}:")
    written = [file for file in (tmp_path / "home").rglob("*") if file.is_file()]
    assert {str(file.relative_to(tmp_path / "home")) for file in written} == set(recipe.files)
    everything = "".join([*ready.env.values(), *(file.read_text() for file in written)])
    assert MODELS in everything and "@MODELS@" not in everything and "@HOME@" not in everything


@every
def test_the_files_are_what_their_names_say(recipe: Recipe, tmp_path: Path) -> None:
    prepare(recipe, paths=[], home=tmp_path, models=MODELS)
    readers = {".json": json.loads, ".toml": tomllib.loads}
    for name in recipe.files:
        readers.get(Path(name).suffix, str)((tmp_path / name).read_text())


def test_nothing_of_the_users_own_environment_reaches_an_agent(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "somebody's own")
    monkeypatch.setenv("XDG_CONFIG_HOME", "/somebody/config")
    ready = prepare(RECIPES.agents["codex-acp"], paths=[], home=tmp_path, models=MODELS)
    assert "ANTHROPIC_API_KEY" not in ready.env and "XDG_CONFIG_HOME" not in ready.env


def test_the_command_is_the_definitions_own() -> None:
    assert RECIPES.agents["gemini-cli"].command == ("gemini", "--acp")
    assert [recipe.id for recipe in RECIPES.agents.values() if recipe.run] == []


def test_an_agent_that_is_like_another_takes_what_it_does_not_say_itself(tmp_path: Path) -> None:
    file = tmp_path / "agents.toml"
    file.write_text(LIKE)
    acp = load_recipes(file).agents["otter-acp"]
    assert (acp.npm, acp.folder) == (("otter@1.0.0",), "otter")
    assert acp.env == {"A": "1", "B": "3"}
    assert acp.files == {".otter.json": "{}"}
    assert acp.run == ()


LIKE = """
before = "2026-11-16"
node = "24.21.0"
uv = "0.13.7"
[agents.otter-acp]
like = "otter"
env = { B = "3" }
[agents.otter]
npm = ["otter@1.0.0"]
run = ["otter", "serve"]
env = { A = "1", B = "2" }
files = { ".otter.json" = "{}" }
"""
