"""`agui-gateway agents`: which agents can run here, and what the others need.

In: the catalog. Out: a table for people, or JSON for programs. No agent is started, but for the commands that its file
names to see its version and whether somebody is signed in.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any

import anyio
import click
from anyio.abc import TaskGroup

from gateway.catalog.definition import AgentDefinition
from gateway.catalog.load import Catalog
from gateway.cli.agent_options import agents_options, catalog_for, settings_for
from gateway.cli.exit import fail
from gateway.cli.output.terminal import COLOURS, SYMBOLS, aligned, as_json, can_write, console
from gateway.drivers import make_driver
from gateway.drivers.probe import BEST_FIRST, Availability, probe
from gateway.errors import ConfigError, GatewayError

HEADINGS = ("agent", "name", "status", "version", "what to do")


@click.command("agents", short_help="Show which agents can run here.")
@agents_options
@click.option("--json", "json_", is_flag=True, help="Print a JSON array.")
def command(agents: Sequence[str], acp: Sequence[str], json_: bool) -> None:
    """Show which agents can run here, and what the others need."""
    try:
        catalog = catalog_for(settings_for(agents, acp), lean=True)
    except GatewayError as exc:
        fail(exc)
    rows = sorted(anyio.run(look_at_all, catalog), key=lambda row: BEST_FIRST.index(row["status"]))
    if json_:
        click.echo(as_json(rows))
    elif sys.stdout.isatty():
        show(rows)
    else:
        click.echo("\n".join(aligned([HEADINGS, *map(_cells, rows)])))


async def look_at_all(catalog: Catalog) -> list[dict[str, Any]]:
    """All at once: the slowest one is all the time it takes."""
    found = {name: Availability() for name in catalog}

    async def fill(definition: AgentDefinition) -> None:
        found[definition.id] = await look_at(definition, tasks)

    async with anyio.create_task_group() as tasks:
        for definition in catalog.values():
            tasks.start_soon(fill, definition)
    return [row(catalog[name], availability) for name, availability in found.items()]


async def look_at(definition: AgentDefinition, tasks: TaskGroup, *, thorough: bool = False) -> Availability:
    """A function in this process is there when it can be imported."""
    if definition.driver != "python":
        return await probe(definition, thorough=thorough)
    try:
        make_driver(definition, tasks)
    except ConfigError as exc:
        return Availability("broken", exc.detail, "mend the agent's file")
    return Availability()


def row(definition: AgentDefinition, found: Availability) -> dict[str, Any]:
    """Every key, always: programs read this."""
    facts = asdict(found)
    return {
        "id": definition.id,
        "name": definition.identity.name,
        "driver": definition.driver,
        "status": found.status,
        "version": found.version or definition.identity.version,
        "reason": found.reason,
        "hint": found.hint,
        "program": found.program,
        "transport": found.transport,
        "platform": found.platform,
        "prerequisites": list(facts["prerequisites"]),
        "signedIn": found.signed_in,
    }


def _cells(row: dict[str, Any]) -> tuple[str, ...]:
    to_do = "" if row["status"] == "ready" else row["hint"] or row["reason"] or ""
    return row["id"], row["name"], row["status"], row["version"] or "", to_do


def show(rows: Sequence[dict[str, Any]]) -> None:
    from rich.table import Table
    from rich.text import Text

    out = console()
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="dim")
    for heading in HEADINGS:
        table.add_column(heading, overflow="fold", no_wrap=heading in ("agent", "status"))
    for found in rows:
        name, title, status, version, to_do = _cells(found)
        symbol = f"{SYMBOLS[status]} " if can_write(SYMBOLS[status]) else ""
        styles = ("bold" if status == "ready" else "", "", COLOURS[status], "dim", "")
        cells = (name, title, f"{symbol}{status}", version, to_do)
        table.add_row(*(Text(cell, style) for cell, style in zip(cells, styles, strict=True)))
    out.print(table, soft_wrap=False)
    ready = sum(found["status"] == "ready" for found in rows)
    out.print(Text(f"{ready} of {len(rows)} can run. `agui-gateway doctor AGENT` looks closer.", "dim"))
