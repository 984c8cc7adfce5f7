"""`agents.toml` beside this file → recipes, and a recipe → a process's command, environment and home.

In: pinned versions, environment and files as data. Out: what to install and what to start. It starts nothing, and it
reads nothing of the user's own: every agent gets a home of its own.
"""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from gateway.catalog.load import bundled, load_file

FILE = Path(__file__).with_name("agents.toml")
KEPT = ("PATH", "LANG", "TMPDIR", "SSL_CERT_FILE")
"""What an agent sees of the environment it is started from."""


@dataclass(frozen=True, slots=True)
class Recipe:
    """One agent."""

    id: str
    like: str | None = None
    npm: tuple[str, ...] = ()
    pypi: tuple[str, ...] = ()
    python: str | None = None
    after: tuple[tuple[str, ...], ...] = ()
    bare: bool = False
    run: tuple[str, ...] = ()
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)

    @property
    def folder(self) -> str:
        """Where it is installed."""
        return self.like or self.id

    @property
    def command(self) -> tuple[str, ...]:
        """Its own, else the one in its definition."""
        if self.run:
            return self.run
        command = load_file(bundled() / f"{self.id}.toml").command
        assert command is not None
        return command.run


@dataclass(frozen=True, slots=True)
class Recipes:
    before: str
    node: str
    uv: str
    agents: Mapping[str, Recipe]


@dataclass(frozen=True, slots=True)
class Ready:
    """An agent that can be started: nothing is missing but a place to work in."""

    command: tuple[str, ...]
    env: dict[str, str]


def load_recipes(file: Path = FILE) -> Recipes:
    table = tomllib.loads(file.read_text("utf-8"))
    told = table.pop("agents")
    agents = {name: _recipe(name, _with_likes(told, name)) for name in told}
    return Recipes(**table, agents=agents)


def _with_likes(told: Mapping[str, dict[str, Any]], name: str) -> dict[str, Any]:
    """What the recipe says over what the one that it is `like` says; of tables, key by key."""
    own = told[name]
    if "like" not in own:
        return own
    shared = {key: value for key, value in told[own["like"]].items() if key != "run"}
    assert "like" not in shared, f"{name} is like {own['like']}, which is itself like another"
    tables = {key: {**shared.get(key, {}), **own.get(key, {})} for key in ("env", "files")}
    return {**shared, **own, **tables}


def _recipe(name: str, told: dict[str, object]) -> Recipe:
    values = {key: _frozen(value) for key, value in told.items()}
    return Recipe(id=name, **values)  # type: ignore[arg-type]  # a wrong shape is seen by the tests of the file


def _frozen(value: object) -> object:
    return tuple(_frozen(item) for item in value) if isinstance(value, list) else value


def prepare(recipe: Recipe, *, paths: list[Path], home: Path, models: str) -> Ready:
    """Writes the agent's files into `home`. `paths` is where its programs are (see `install.programs`)."""

    def filled(text: str) -> str:
        return text.replace("@MODELS@", models).replace("@HOME@", str(home))

    for name, text in recipe.files.items():
        file = home / name
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(filled(text))
    env = {name: os.environ[name] for name in KEPT if name in os.environ}
    env["PATH"] = os.pathsep.join([*map(str, paths), env.get("PATH", os.defpath)])
    own = {name: filled(value) for name, value in recipe.env.items()}
    return Ready(recipe.command, env | {"HOME": str(home), **own})
