"""`agui-gateway agents`: which agents can run on this machine, and what the others need.

In: the catalog. Out: a table for users, or JSON for programs. Never: a start of an agent. Only the commands that its
file names for its version and its sign-in are run.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import anyio
import click
from anyio.abc import TaskGroup

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.load import Catalog
from gateway.cli.agent_options import agents_options, catalog_for, settings_for
from gateway.cli.exit import fail
from gateway.cli.output.terminal import COLOURS, SYMBOLS, align, as_json, can_write, console
from gateway.drivers import make_driver
from gateway.drivers.probe import BEST_FIRST, Availability, probe
from gateway.errors import ConfigError, GatewayError

HEADINGS = ("agent", "name", "status", "version", "next step")


@click.command("agents", short_help="Show which agents can run on this machine.")
@agents_options
@click.option("--json", "json_", is_flag=True, help="Print a JSON array.")
def command(agents: Sequence[str], acp: Sequence[str], config: Path | None, json_: bool) -> None:
    """Show which agents can run on this machine, and what the others need."""
    try:
        catalog = catalog_for(settings_for(agents, acp, config), lean=True)
    except GatewayError as exc:
        fail(exc)
    rows = sorted(anyio.run(probe_all, catalog), key=lambda row: BEST_FIRST.index(row["status"]))
    if json_:
        click.echo(as_json(rows))
    elif sys.stdout.isatty():
        print_table(rows)
    else:
        click.echo("\n".join(align([HEADINGS, *map(_cells, rows)])))


async def probe_all(catalog: Catalog) -> list[dict[str, Any]]:
    """All at once, so that it takes as long as the slowest agent."""
    listed = [definition for definition in catalog.values() if definition.is_listed]
    results = {definition.id: Availability() for definition in listed}

    async def fill(definition: AgentDefinition) -> None:
        results[definition.id] = await probe_agent(definition, tasks)

    async with anyio.create_task_group() as tasks:
        for definition in listed:
            tasks.start_soon(fill, definition)
    return [to_row(catalog[name], availability) for name, availability in results.items()]


async def probe_agent(definition: AgentDefinition, tasks: TaskGroup, *, thorough: bool = False) -> Availability:
    """A Python agent is ready when its function can be imported."""
    if definition.driver != "python":
        return await probe(definition, thorough=thorough)
    try:
        make_driver(definition, tasks)
    except ConfigError as exc:
        return Availability("broken", exc.detail, "correct the agent's file")
    return Availability()


def to_row(definition: AgentDefinition, availability: Availability) -> dict[str, Any]:
    """One agent as JSON. Every key is always present, for programs."""
    return {
        "id": definition.id,
        "name": definition.identity.name,
        "driver": definition.driver,
        "status": availability.status,
        "version": availability.version or definition.identity.version,
        "reason": availability.reason,
        "hint": availability.hint,
        "program": availability.program,
        "transport": availability.transport,
        "platform": availability.platform,
        "prerequisites": [asdict(prerequisite) for prerequisite in availability.prerequisites],
        "signedIn": availability.signed_in,
    }


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    next_step = "" if row["status"] == "ready" else row["hint"] or row["reason"] or ""
    return row["id"], row["name"], row["status"], row["version"] or "", next_step


def print_table(rows: Sequence[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    out = console()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in HEADINGS:
        table.add_column(heading, overflow="fold", no_wrap=heading in ("agent", "status"))
    for row in rows:
        name, title, status, version, next_step = _cells(row)
        symbol = f"{SYMBOLS[status]} " if can_write(SYMBOLS[status]) else ""
        styles = ("bold" if status == "ready" else "", "", COLOURS[status], "dim", "")
        cells = (name, title, f"{symbol}{status}", version, next_step)
        table.add_row(*(Text(cell, style) for cell, style in zip(cells, styles, strict=True)))
    out.print(table, soft_wrap=False)
    ready = sum(row["status"] == "ready" for row in rows)
    out.print(Text(f"{ready} of {len(rows)} agents are ready. For details: agui-gateway doctor AGENT", "dim"))
