"""The options `--agents`, `--acp` and `--config`, and the settings and the catalog behind them.

In: what the user has written, and the environment. Out: the settings that all commands share. A `gateway.toml` in the
current directory is read only if the user names it; one line on stderr says so."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.load import Catalog, bundled, load_catalog, load_folder, with_bare
from gateway.catalog.plugins import load_plugins
from gateway.catalog.transports import link_transports
from gateway.cli.exit import print_note
from gateway.configuration import FILE_NAME, load
from gateway.errors import ConfigError
from gateway.settings import ENV_PREFIX, Settings

Command = TypeVar("Command", bound=Callable[..., Any])


def agents_options(command: Command) -> Command:
    """Adds `--agents`, `--acp` and `--config`, as `serve` has them."""
    folder = click.option("--agents", multiple=True, metavar="DIR", help="A directory of agent files. Repeatable.")
    bare = click.option("--acp", multiple=True, metavar="COMMAND", help="The command line of an ACP agent. Repeatable.")
    return folder(bare(config_option(command)))


def config_option(command: Command) -> Command:
    help_text = "A settings file.  [default: the one in your configuration directory, if it exists]"
    return click.option("--config", type=click.Path(path_type=Path), help=help_text)(command)


def settings_for(agents: Sequence[str], acp: Sequence[str], config: Path | None, **more: Any) -> Settings:
    """The settings that `serve` would have here, with the settings file and the environment."""
    return load_settings({"agents": agents, "acp": acp, **more}, config)


def load_settings(flags: Mapping[str, Any], config: Path | None) -> Settings:
    """`flags`: also those that the user has not set, as None or ()."""
    given = {name: value for name, value in flags.items() if value not in (None, ())}
    settings = load(given, os.environ, config)
    here = Path(FILE_NAME)
    if here.is_file() and not (settings.config is not None and here.samefile(settings.config)):
        print_note(
            f"{here.absolute()} is not read, because a cloned repository may have brought it. If it is yours: "
            f"--config {FILE_NAME}, or {ENV_PREFIX}CONFIG={FILE_NAME}"
        )
    return settings


def catalog_for(settings: Settings, *, lean: bool = False) -> Catalog:
    """The agents, in the gateway's order of precedence.

    `lean` is faster: bundled agents come without capabilities. The user's own files are read completely, so that a
    mistake in one is reported."""
    catalog = load_folder(bundled(), lean=lean) | load_plugins() | load_catalog(settings.agents)
    return link_transports(with_bare(catalog, settings.acp))


def find_agent(catalog: Catalog, agent_id: str) -> AgentDefinition:
    """Raises `ConfigError` with similar ids."""
    if agent_id in catalog:
        return catalog[agent_id]
    raise ConfigError(f"there is no agent {agent_id!r}. {_suggest(agent_id, catalog)}", code="UNKNOWN_AGENT")


def _suggest(agent_id: str, catalog: Catalog) -> str:
    from difflib import get_close_matches

    similar = get_close_matches(agent_id, catalog, n=3) or [name for name in catalog if agent_id in name]
    if similar:
        return f"Did you mean {' or '.join(similar)}? `agui-gateway agents` lists all agents."
    return f"Known: {', '.join(sorted(catalog))}."


def working_directory(path: str | None) -> Path:
    """The directory in which an agent works; without a path the current one."""
    return Path(path).expanduser().resolve() if path else Path.cwd()
