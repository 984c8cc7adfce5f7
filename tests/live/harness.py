"""A real agent behind a real gateway: installed, pointed at the scripted model, in a home of its own."""

from __future__ import annotations

import json
import os
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit

from gateway.catalog.load import bundled
from tests.live.install import install, programs
from tests.live.recipes import Ready, load_recipes, prepare
from tests.support.gateway import Gateway


def overlay(name: str, ready: Ready, folder: Path, **acp: object) -> Path:
    """The agent's own definition, with the command and the environment of the test; a folder for `--agents`."""
    told = tomllib.loads((bundled() / f"{name}.toml").read_text("utf-8"))
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"id = {json.dumps(name)}", 'driver = "acp"', f"options = {json.dumps(told.get('options', []))}"]
    lines += ["[identity]", f"name = {json.dumps(told['identity']['name'])}"]
    lines += ["[command]", f"run = {json.dumps(list(ready.command))}", "[command.env]"]
    lines += [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in ready.env.items()]
    lines += ["[acp]", *(f"{key} = {json.dumps(value)}" for key, value in {**told.get("acp", {}), **acp}.items())]
    (folder / f"{name}.toml").write_text("\n".join(lines) + "\n")
    return folder


def sandbox_flags(models: str) -> tuple[str, ...]:
    """With AGUI_TEST_SANDBOX=bubblewrap every agent here runs in the sandbox, where it reaches only its model."""
    kind = os.environ.get("AGUI_TEST_SANDBOX")
    return ("--sandbox", kind, "--sandbox-hosts", urlsplit(models).netloc) if kind else ()


@contextmanager
def behind_gateway(name: str, models: str, home: Path, config: Path | None = None, **acp: object) -> Iterator[Gateway]:
    """The gateway, not yet asked anything. It may be stopped and started again inside. `config`: its settings file.
    `acp`: over its definition's."""
    recipes = load_recipes()
    recipe = recipes.agents[name]
    install(recipe, recipes)
    ready = prepare(recipe, paths=programs(recipe), home=home / "home", models=models)
    agents = overlay(name, ready, home / "agents", **acp)
    work = home / "work"
    work.mkdir(parents=True, exist_ok=True)
    settings = ("--config", str(config)) if config else ()
    # The agent inherits the gateway's XDG folders, and its own configuration is below its home.
    env = {"XDG_CONFIG_HOME": ""}
    places = ("--agents", str(agents), "--workspace", str(work))
    with Gateway(home / "gateway", *places, *settings, *sandbox_flags(models), env=env) as gateway:
        yield gateway


@contextmanager
def bundled_behind_gateway(name: str, models: str, home: Path, *flags: str, trust: bool = True) -> Iterator[Gateway]:
    """The agent's own definition as it is: its program is on the gateway's PATH, its settings in the environment, so
    that what the definition lets through is what it needs. `trust`: the workspace is trusted."""
    recipes = load_recipes()
    recipe = recipes.agents[name]
    install(recipe, recipes)
    ready = prepare(recipe, paths=programs(recipe), home=home / "home", models=models)
    work = home / "work"
    work.mkdir(parents=True, exist_ok=True)
    # A key of the developer's own must not be found by the agent: it would talk to a real model.
    foreign = {name: "" for name in os.environ if name.endswith(("_API_KEY", "_AUTH_TOKEN"))}
    env = {**foreign, **{name: "" for name in os.environ if name.startswith("XDG_")}, **ready.env}
    flags = (*sandbox_flags(models), *flags)
    with Gateway(home / "gateway", "--workspace", str(work), *flags, env=env, xdg=False, trust=trust) as gateway:
        yield gateway
