"""Leaves on the screen: one agent's as a tree, those of several as a table; in a pipe both are columns.

In: leaves. Out: text on stdout. Colours are for a terminal, and with NO_COLOR not even for that.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from gateway.cli.output.capability_rows import CapabilityRow, Row, categories, cell, one_line, overridden, who, word
from gateway.cli.output.terminal import aligned, console

if TYPE_CHECKING:
    from rich.text import Text


def in_colours() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def show_one(agent: str, found: Sequence[CapabilityRow], view: str, *, explained: bool) -> None:
    groups = categories(found, alone=view)
    if not in_colours():
        rows = [_columns(category, leaf) for category, group in groups.items() for leaf in group]
        headings = ("category", "capability", "value", "source", "since", "overridden")
        width = 6 if explained else 3
        click.echo("\n".join(aligned([headings[:width], *(row[:width] for row in rows)])))
        return
    from rich.text import Text
    from rich.tree import Tree

    tree = Tree(Text(agent, "bold"), guide_style="dim")
    for category, group in groups.items():
        branch = tree.add(Text(one_line(category), "bold cyan"))
        width = max(len(leaf.name) for leaf in group)
        for leaf in group:
            twig = branch.add(_line(leaf, width))
            for said in overridden(leaf.told):
                twig.add(Text(f"overridden: {said}", "dim"))
    console().print(tree, soft_wrap=False)


def _columns(category: str, leaf: CapabilityRow) -> tuple[str, ...]:
    said = who(leaf.told), leaf.told.get("since", ""), "; ".join(overridden(leaf.told))
    return one_line(category), leaf.name, word(leaf.value), *said


def _line(leaf: CapabilityRow, width: int) -> Text:
    from rich.text import Text

    line = Text.assemble(f"{leaf.name:<{width}}  ", (word(leaf.value), _colour(leaf.value)))
    if leaf.told:
        line.append(f"  {who(leaf.told)}, {leaf.told['at']}", "dim")
    return line


def show_all(agents: Sequence[str], rows: Sequence[Row], *, every: bool) -> None:
    """Where they differ; `every`: and where they do not."""
    shown = [row for row in rows if every or row.differs]
    headings = ("capability", *agents)
    if not in_colours():
        cells = [(one_line(row.path), *map(cell, row.cells)) for row in shown]
        click.echo("\n".join(aligned([headings, *cells])))
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in headings:
        table.add_column(heading, overflow="fold", no_wrap=heading == "capability")
    for row in shown:
        path = Text(one_line(row.path), "" if row.differs else "dim")
        table.add_row(path, *(Text(cell(leaf), _colour(leaf and leaf.value)) for leaf in row.cells))
    out = console()
    out.print(table, soft_wrap=False)
    differing = sum(row.differs for row in rows)
    more = "" if every else " `--all` shows every one."
    out.print(Text(f"{differing} of {len(rows)} capabilities differ.{more}", "dim"))


def _colour(value: Any) -> str:
    match value:
        case True:
            return "green"
        case False:
            return "red"
        case None:
            return "dim"
        case _:
            return ""
