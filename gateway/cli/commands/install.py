"""`agui-gateway install`: installs an agent, by the command of its file, after a person has seen it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import anyio
import click

from gateway.catalog.definition import AgentDefinition
from gateway.cli.agent_options import agents_options, catalog_for, find_agent, settings_for
from gateway.cli.exit import FAILED, fail
from gateway.drivers.environment import agent_environment
from gateway.drivers.probe import Availability, probe
from gateway.drivers.probe.install_hint import find_install
from gateway.errors import GatewayError


@click.command("install")
@click.argument("agent")
@click.option("--yes", is_flag=True, help="Do not ask before the command is run.")
@click.option("--show", is_flag=True, help="Print the command and do nothing.")
@agents_options
def command(agent: str, yes: bool, show: bool, agents: Sequence[str], acp: Sequence[str], config: Path | None) -> None:
    """Install an agent on this machine.

    Shows the command of the agent's file first, runs it in this terminal, and then checks that the agent can run.
    """
    try:
        definition = find_agent(catalog_for(settings_for(agents, acp, config)), agent)
        line, notes = find_install(definition, agent_environment((), {}, os.environ))
    except GatewayError as exc:
        fail(exc)
    if show:
        click.echo(line)
        return
    click.echo(f"{definition.identity.name} is installed by:\n\n    {line}\n", err=True)
    if notes:
        click.echo(f"{notes}\n", err=True)
    if not yes:
        click.confirm("Run it?", abort=True, err=True)
    code = subprocess.run(["/bin/sh", "-c", line], check=False).returncode
    if code:
        click.echo(f"\nThe command failed with code {code}. Its last lines say why.", err=True)
        sys.exit(FAILED)
    found = anyio.run(_probe, definition)
    sys.exit(report(definition, found))


async def _probe(definition: AgentDefinition) -> Availability:
    """Only an agent of this process needs tasks, and it is not installed."""
    return await probe(definition)


def report(definition: AgentDefinition, found: Availability) -> int:
    """The exit code."""
    version = f" {found.version}" if found.version else ""
    if found.status == "ready":
        click.echo(f"{definition.id}{version} is ready: agui-gateway run {definition.id}", err=True)
        return 0
    if found.status == "needs-auth":
        click.echo(f"{definition.id}{version} is installed; no user is signed in: {found.hint}", err=True)
        return 0
    click.echo(f"{definition.id} cannot run yet: {found.reason}. {found.hint or ''}".strip(), err=True)
    return FAILED
