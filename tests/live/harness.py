"""A real agent behind a real gateway: installed, pointed at the scripted model, in a home of its own."""

from __future__ import annotations

import json
import os
import shutil
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.load import bundled
from gateway.drivers.confinement import UNTRUSTED, Confinement
from gateway.runs.sandbox_choice import SandboxChoice, Situation
from gateway.settings import Settings
from tests.live.install import install, programs
from tests.live.recipes import Ready, load_recipes, prepare
from tests.support.gateway import Gateway, forced_sandbox


def overlay(name: str, ready: Ready, folder: Path, **acp: object) -> Path:
    """The agent's own definition, with the command and the environment of the test; a folder for `--agents`."""
    told = tomllib.loads((bundled() / f"{name}.toml").read_text("utf-8"))
    folder.mkdir(parents=True, exist_ok=True)
    lines = [f"id = {json.dumps(name)}", 'driver = "acp"']
    lines += [f"{key} = {json.dumps(told[key])}" for key in ("options", "without_options") if key in told]
    lines += ["[identity]", f"name = {json.dumps(told['identity']['name'])}"]
    lines += ["[command]", f"run = {json.dumps(list(ready.command))}", "[command.env]"]
    lines += [f"{json.dumps(key)} = {json.dumps(value)}" for key, value in ready.env.items()]
    lines += ["[acp]", *(f"{key} = {json.dumps(value)}" for key, value in {**told.get("acp", {}), **acp}.items())]
    lines += ["[sandbox]", *(f"{key} = {json.dumps(value)}" for key, value in told.get("sandbox", {}).items())]
    (folder / f"{name}.toml").write_text("\n".join(lines) + "\n")
    return folder


def sandbox_flags(models: str) -> tuple[str, ...]:
    """In a sandbox that `AGUI_TEST_SANDBOX` demands, an agent reaches its model, and no other host of this machine."""
    return ("--sandbox-hosts", urlsplit(models).netloc) if forced_sandbox() else ()


def mcp_server_in(workspace: Path, name: str = "one") -> dict[str, Any]:
    """A server with the tool `say`, for the option `mcpServers`. An agent in a sandbox can start it too: its program is
    in the workspace, and its Python the system's own."""
    program = Path(shutil.copy(Path(__file__).with_name("mcp_server.py"), workspace))
    python = shutil.which("python3", path="/usr/bin") if forced_sandbox() else sys.executable
    return {"name": name, "command": python, "args": [str(program)], "env": []}


@contextmanager
def confined(definition: AgentDefinition, models: str, work: Path) -> Iterator[Confinement]:
    """Of a session without a gateway around its driver: in a sandbox if `AGUI_TEST_SANDBOX` demands one."""
    if (kind := forced_sandbox()) is None:
        yield UNTRUSTED
        return
    sandboxes = SandboxChoice(Settings.model_validate({"sandbox": kind, "sandbox_hosts": [urlsplit(models).netloc]}))
    try:
        situation = Situation(is_trusted=True, is_unattended=False)
        yield Confinement(sandbox=sandboxes.choose(definition, "", [work], situation))
    finally:
        sandboxes.close()


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
