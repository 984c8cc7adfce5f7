"""Which agents there are, for commands that start no server: the options they share, and the catalog behind them."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, TypeVar

import click

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.load import Catalog, bundled, load_catalog, load_folder, with_bare
from gateway.catalog.plugins import load_plugins
from gateway.errors import ConfigError
from gateway.settings import Settings, load

Command = TypeVar("Command", bound=Callable[..., Any])


def agents_options(command: Command) -> Command:
    """`--agents` and `--acp`, as `serve` has them."""
    folder = click.option("--agents", multiple=True, metavar="DIR", help="Folder of agent files. Repeatable.")
    bare = click.option("--acp", multiple=True, metavar="COMMAND", help="Any ACP agent: its command line. Repeatable.")
    return folder(bare(command))


def settings_for(agents: Sequence[str], acp: Sequence[str], **more: Any) -> Settings:
    """As `serve` would have them here: gateway.toml and the environment count too."""
    given = {"agents": agents, "acp": acp, **more}
    return load({name: value for name, value in given.items() if value not in (None, ())}, os.environ)


def catalog_for(settings: Settings, *, lean: bool = False) -> Catalog:
    """In the order in which the gateway lays them over each other. `lean`, and sooner: of the agents that come along
    the capabilities are left out. A user's own files are read whole, so that a mistake in one is told."""
    catalog = load_folder(bundled(), lean=lean) | load_plugins() | load_catalog(settings.agents)
    return with_bare(catalog, settings.acp)


def chosen(catalog: Catalog, agent_id: str) -> AgentDefinition:
    if agent_id in catalog:
        return catalog[agent_id]
    raise ConfigError(f"there is no agent {agent_id!r}. {_near(agent_id, catalog)}", code="UNKNOWN_AGENT")


def _near(agent_id: str, catalog: Catalog) -> str:
    from difflib import get_close_matches

    found = get_close_matches(agent_id, catalog, n=3) or [name for name in catalog if agent_id in name]
    if found:
        return f"Did you mean {' or '.join(found)}? `agui-gateway agents` lists them all."
    return f"Known: {', '.join(sorted(catalog))}."


def folder(path: str | None) -> Path:
    """Where an agent is to work."""
    return Path(path).expanduser().resolve() if path else Path.cwd()
