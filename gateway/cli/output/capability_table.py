"""Prints capabilities: one agent's as a tree, those of several as a table; in a pipe both are columns.

In: rows. Out: text on stdout. Colours are for terminals only, and not with NO_COLOR.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from gateway.cli.output.capability_rows import (
    CapabilityRow,
    ComparisonRow,
    format_cell,
    format_overridden,
    format_source,
    format_value,
    group_by_category,
    one_line,
)
from gateway.cli.output.terminal import align, console

if TYPE_CHECKING:
    from rich.text import Text

HEADINGS = ("category", "capability", "value", "source", "since", "overridden")
UNEXPLAINED_COLUMNS = 3


def has_colours() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def print_capabilities(agent: str, rows: Sequence[CapabilityRow], view: str, *, explained: bool) -> None:
    groups = group_by_category(rows, default=view)
    if not has_colours():
        columns = len(HEADINGS) if explained else UNEXPLAINED_COLUMNS
        cells = [_columns(category, row)[:columns] for category, group in groups.items() for row in group]
        click.echo("\n".join(align([HEADINGS[:columns], *cells])))
        return
    from rich.text import Text
    from rich.tree import Tree

    tree = Tree(Text(agent, "bold"), guide_style="dim")
    for category, group in groups.items():
        branch = tree.add(Text(one_line(category), "bold cyan"))
        width = max(len(row.name) for row in group)
        for row in group:
            node = branch.add(_line(row, width))
            for statement in format_overridden(row.explanation):
                node.add(Text(f"overridden: {statement}", "dim"))
    console().print(tree, soft_wrap=False)


def _columns(category: str, row: CapabilityRow) -> tuple[str, ...]:
    explanation = row.explanation
    return (
        one_line(category),
        row.name,
        format_value(row.value),
        format_source(explanation),
        explanation.get("since", ""),
        "; ".join(format_overridden(explanation)),
    )


def _line(row: CapabilityRow, width: int) -> Text:
    from rich.text import Text

    line = Text.assemble(f"{row.name:<{width}}  ", (format_value(row.value), _colour(row.value)))
    if row.explanation:
        line.append(f"  {format_source(row.explanation)}, since {row.explanation['since']}", "dim")
    return line


def print_comparison(agents: Sequence[str], rows: Sequence[ComparisonRow], *, show_equal: bool) -> None:
    """The capabilities that differ; with `show_equal` also those that do not."""
    selected = [row for row in rows if show_equal or row.has_differences]
    headings = ("capability", *agents)
    if not has_colours():
        cells = [(one_line(row.path), *map(format_cell, row.cells)) for row in selected]
        click.echo("\n".join(align([headings, *cells])))
        return
    from rich.table import Table
    from rich.text import Text

    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0), header_style="bold")
    for heading in headings:
        table.add_column(heading, overflow="fold", no_wrap=heading == "capability")
    for row in selected:
        path = Text(one_line(row.path), "" if row.has_differences else "dim")
        table.add_row(path, *(Text(format_cell(cell), _colour(cell and cell.value)) for cell in row.cells))
    out = console()
    out.print(table, soft_wrap=False)
    count = sum(row.has_differences for row in rows)
    hint = "" if show_equal else " `--all` shows the others too."
    out.print(Text(f"{count} of {len(rows)} capabilities differ.{hint}", "dim"))


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
