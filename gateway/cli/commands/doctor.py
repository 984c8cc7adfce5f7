"""`agui-gateway doctor`: what an agent needs to run on this machine, check by check, each with its remedy.

In: an agent's definition. Out: its checks, and an exit code: 0 ready, 1 not ready. The last check starts the agent
without a prompt and stops it again.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict
from pathlib import Path
from typing import Any

import anyio
import click

from gateway.catalog.definition import AgentDefinition
from gateway.cli.agent_options import agents_options, catalog_for, find_agent, settings_for, working_directory
from gateway.cli.commands.agents import probe_agent
from gateway.cli.doctor_checks import Check, check_environment, check_start
from gateway.cli.exit import FAILED, fail
from gateway.cli.output.terminal import as_json, can_write, console
from gateway.errors import GatewayError

SIGNS = {"ok": ("✓", "green"), "note": ("!", "yellow"), "fail": ("✗", "red"), "skip": ("○", "dim")}


@click.command("doctor")
@click.argument("agent")
@click.option("--cwd", metavar="DIR", help="The agent's working directory.  [default: the current one]")
@agents_options
@click.option("--json", "json_", is_flag=True, help="Print a JSON object.")
def command(
    agent: str, cwd: str | None, agents: Sequence[str], acp: Sequence[str], config: Path | None, json_: bool
) -> None:
    """Find out what an agent needs to run.

    Checks its program, version, prerequisites, sign-in and working directory, then starts it without a prompt.
    """
    logging.basicConfig(level=logging.CRITICAL)
    try:
        definition = find_agent(catalog_for(settings_for(agents, acp, config)), agent)
    except GatewayError as exc:
        fail(exc)
    status = nullcontext() if json_ else progress(definition)
    checks = anyio.run(examine, definition, working_directory(cwd), status)
    is_ready = all(check.outcome != "fail" for check in checks)
    if json_:
        click.echo(as_json({"id": definition.id, "ready": is_ready, "checks": [asdict(check) for check in checks]}))
    else:
        print_checks(definition, checks, is_ready)
    sys.exit(0 if is_ready else FAILED)


async def examine(definition: AgentDefinition, cwd: Path, status: AbstractContextManager[Any]) -> list[Check]:
    with status:
        async with anyio.create_task_group() as tasks:
            availability = await probe_agent(definition, tasks, thorough=True)
            checks = check_environment(definition, availability, cwd)
            checks.append(await check_start(definition, checks, tasks))
            tasks.cancel_scope.cancel()
    return checks


def progress(definition: AgentDefinition) -> AbstractContextManager[Any]:
    """A spinner: starting an agent takes seconds."""
    if not sys.stdout.isatty():
        return nullcontext()
    return console().status(f"checking and starting {definition.identity.name}")


def print_checks(definition: AgentDefinition, checks: Sequence[Check], is_ready: bool) -> None:
    from rich.text import Text

    out = console()
    width = max(len(check.name) for check in checks)
    for check in checks:
        sign, colour = SIGNS[check.outcome]
        mark = sign if can_write(sign) else check.outcome
        out.print(Text.assemble((f"{mark} ", colour), (f"{check.name:<{width}}", "bold"), f"  {check.message}"))
        if check.hint is not None:
            out.print(Text.assemble(" " * (width + 4), (f"{check.hint}", "cyan")))
    verdict = "is ready" if is_ready else "is not ready"
    out.print(Text(f"{definition.identity.name} {verdict}.", "green" if is_ready else "red"))
