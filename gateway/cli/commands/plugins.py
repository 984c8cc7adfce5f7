"""`agui-gateway plugins`: an agent's own commands for its plugins."""

from __future__ import annotations

import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from gateway.catalog.agent_commands import PLUGIN_OPERATIONS, PluginOperation, plugin_command
from gateway.cli.agent_options import agents_options, catalog_for, find_agent, settings_for
from gateway.cli.exit import fail
from gateway.errors import ConfigError, GatewayError

CHANGES = ("install", "uninstall")


@click.command("plugins")
@click.argument("agent")
@click.argument("operation", type=click.Choice(PLUGIN_OPERATIONS), default="list")
@click.argument("name", required=False)
@click.option("--yes", is_flag=True, help="Do not ask before a plugin is installed or uninstalled.")
@agents_options
def command(
    agent: str,
    operation: PluginOperation,
    name: str | None,
    yes: bool,
    agents: Sequence[str],
    acp: Sequence[str],
    config: Path | None,
) -> None:
    """List, search, install and uninstall plugins of an agent.

    \b
      agui-gateway plugins claude
      agui-gateway plugins copilot search review
      agui-gateway plugins gemini install https://github.com/owner/extension
    """
    try:
        definition = find_agent(catalog_for(settings_for(agents, acp, config)), agent)
        wanted = plugin_command(definition, operation, name)
    except GatewayError as exc:
        fail(exc)
    if operation in CHANGES:
        click.echo(f"    {wanted.line}\n", err=True)
        if not yes:
            click.confirm("Run it?", abort=True, err=True)
    try:
        sys.exit(subprocess.run(shlex.split(wanted.line), check=False).returncode)
    except OSError as exc:
        fail(ConfigError(f"{shlex.split(wanted.line)[0]}: it cannot be started: {exc.strerror}"))
