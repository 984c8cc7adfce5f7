"""`agui-gateway login`: signs a principal in to an agent, in the principal's own home directory."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import click

from gateway.catalog.definition import AgentDefinition
from gateway.cli.agent_options import agents_options, catalog_for, find_agent, settings_for
from gateway.cli.exit import fail
from gateway.drivers.environment import agent_environment
from gateway.drivers.homes import Home, PrincipalHomes
from gateway.errors import ConfigError, GatewayError
from gateway.identity import LOCAL
from gateway.settings import Settings


@click.command("login")
@click.argument("agent")
@click.argument("sign_in", metavar="[COMMAND]...", nargs=-1)
@click.option("--principal", required=True, help="The principal, as `agui-gateway token list` shows it.")
@click.option("--secret", metavar="NAME", help="Store an environment variable instead; its value is read from stdin.")
@agents_options
def command(
    agent: str,
    sign_in: tuple[str, ...],
    principal: str,
    secret: str | None,
    agents: Sequence[str],
    acp: Sequence[str],
    config: Path | None,
) -> None:
    """Sign a principal in to an agent, where each principal has credentials of its own.

    Runs the agent's own sign-in command, or COMMAND, with the principal's home directory as HOME. The gateway must have
    `credentials = "principal"`, in its settings or in the agent's file.

    \b
      agui-gateway login codex --principal ann
      agui-gateway login claude --principal ann --secret ANTHROPIC_API_KEY < key.txt
      agui-gateway login gemini --principal ann -- gemini
    """
    try:
        settings = settings_for(agents, acp, config)
        definition = find_agent(catalog_for(settings), agent)
        home = open_home(settings, definition, principal)
        if secret is not None:
            save_secret(home, secret)
            return
        code = run_sign_in(definition, home, sign_in or find_sign_in(definition))
    except GatewayError as exc:
        fail(exc)
    sys.exit(code)


def open_home(settings: Settings, definition: AgentDefinition, principal: str) -> Home:
    if principal == LOCAL:
        raise ConfigError(f"{LOCAL!r} is the gateway's own user, whose home is the usual one: sign in there as always")
    if not definition.is_local_process:
        raise ConfigError(f"{definition.id!r} is no program: it has no sign-in of its own")
    if (home := PrincipalHomes(settings).find(definition, principal)) is None:
        raise ConfigError(
            f"{definition.id!r} uses the sign-in of the gateway's own user for all principals. For one each, set "
            "`credentials = \"principal\"` in the gateway's settings or in the agent's file"
        )
    return home


def find_sign_in(definition: AgentDefinition) -> Sequence[str]:
    """Raises `ConfigError` where the agent's file has no such command."""
    for auth in definition.auth:
        if auth.login:
            return auth.login
    hints = [auth.hint for auth in definition.auth if auth.hint]
    hint = f" Its file says: {hints[0]}." if hints else ""
    raise ConfigError(
        f"the file of {definition.id!r} has no sign-in command.{hint} Give the command after --, or a key with --secret"
    )


def save_secret(home: Home, name: str) -> None:
    value = click.prompt(name, hide_input=True) if sys.stdin.isatty() else sys.stdin.read().rstrip("\r\n")
    try:
        path = home.save_secret(name, value)
    except ValueError as exc:
        raise ConfigError(f"--secret: {exc}") from exc
    except OSError as exc:
        raise ConfigError(f"--secret {name}: it cannot be written: {exc}") from exc
    click.echo(f"{path}: written, for agents of {home.principal!r} from their next session on", err=True)


def run_sign_in(definition: AgentDefinition, home: Home, sign_in: Sequence[str]) -> int:
    """The command's exit code. It has the terminal, and the environment that the agent will have."""
    home.prepare()
    command = definition.command
    inherit, extra = (command.inherit_env, command.env) if command is not None else ((), {})
    env = agent_environment(inherit, extra, home.environ(definition, os.environ))
    try:
        return subprocess.run(sign_in, env=env, cwd=home.directory, check=False).returncode
    except OSError as exc:
        raise ConfigError(f"{sign_in[0]}: it cannot be started: {exc.strerror}") from exc
