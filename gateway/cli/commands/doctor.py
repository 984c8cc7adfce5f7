"""`agui-gateway doctor`: what an agent needs to run here, check by check, with the command that mends it.

In: an agent's definition. Out: its checks, and an exit code: 0 it is ready, 1 it is not. The last check starts the
agent for real, without a prompt, and ends it again; it costs nothing but time.
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
from gateway.cli.agent_options import agents_options, catalog_for, chosen, folder, settings_for
from gateway.cli.commands.agents import look_at
from gateway.cli.doctor_checks import Check, before_start, start
from gateway.cli.exit import FAILED, fail
from gateway.cli.output.terminal import as_json, can_write, console
from gateway.errors import GatewayError

SIGNS = {"ok": ("✓", "green"), "note": ("!", "yellow"), "fail": ("✗", "red"), "skip": ("○", "dim")}


@click.command("doctor")
@click.argument("agent")
@click.option("--cwd", metavar="DIR", help="Folder it is to work in.  [default: here]")
@agents_options
@click.option("--json", "json_", is_flag=True, help="Print a JSON object.")
def command(agent: str, cwd: str | None, agents: Sequence[str], acp: Sequence[str], json_: bool) -> None:
    """Find out what an agent needs to run: program, version, sign-in, folder, and a real start."""
    logging.basicConfig(level=logging.CRITICAL)
    try:
        definition = chosen(catalog_for(settings_for(agents, acp)), agent)
    except GatewayError as exc:
        fail(exc)
    waiting = nullcontext() if json_ else progress(definition)
    checks = anyio.run(examine, definition, folder(cwd), waiting)
    ready = all(check.outcome != "fail" for check in checks)
    if json_:
        click.echo(as_json({"id": definition.id, "ready": ready, "checks": [asdict(check) for check in checks]}))
    else:
        show(definition, checks, ready)
    sys.exit(0 if ready else FAILED)


async def examine(definition: AgentDefinition, work: Path, waiting: AbstractContextManager[Any]) -> list[Check]:
    with waiting:
        async with anyio.create_task_group() as tasks:
            found = await look_at(definition, tasks, thorough=True)
            checks = before_start(definition, found, work)
            checks.append(await start(definition, checks, tasks))
            tasks.cancel_scope.cancel()
    return checks


def progress(definition: AgentDefinition) -> AbstractContextManager[Any]:
    """Something that moves: a start takes seconds."""
    if not sys.stdout.isatty():
        return nullcontext()
    return console().status(f"looking at {definition.identity.name}, and starting it")


def show(definition: AgentDefinition, checks: Sequence[Check], ready: bool) -> None:
    from rich.text import Text

    out = console()
    width = max(len(check.name) for check in checks)
    for check in checks:
        sign, colour = SIGNS[check.outcome]
        mark = sign if can_write(sign) else check.outcome
        out.print(Text.assemble((f"{mark} ", colour), (f"{check.name:<{width}}", "bold"), f"  {check.said}"))
        if check.hint is not None:
            out.print(Text.assemble(" " * (width + 4), (f"{check.hint}", "cyan")))
    verdict = "is ready" if ready else "is not ready"
    out.print(Text(f"{definition.identity.name} {verdict}.", "green" if ready else "red"))
