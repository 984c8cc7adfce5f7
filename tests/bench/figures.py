"""What was measured, what was hoped for, and both as tables for people or JSON for programs."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import median, quantiles
from typing import Any, Literal, TypeVar

from rich import box
from rich.console import Console
from rich.table import Table

PIPED_WIDTH = 100
"""Wide enough for every row; a pipe has no width of its own."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Figure:
    """One row: a measure taken several times."""

    name: str
    unit: str
    values: Sequence[float] = ()
    beside: Mapping[str, float] = field(default_factory=dict)
    """Further columns, by their titles."""
    skipped: str = ""
    """Why there are no values."""

    @property
    def median(self) -> float:
        return median(self.values)

    @property
    def spread(self) -> float:
        """Half the width of the middle half, as a share of the median: one stray value does not show in it."""
        low, _, high = quantiles(self.values, n=4, method="inclusive")
        return (high - low) / 2 / self.median


@dataclass(frozen=True, slots=True)
class Target:
    """A ratio and its bound. Missing it is news, not a failure."""

    claim: str
    measured: float
    sign: Literal["≥", "≤"]
    bound: float

    @property
    def held(self) -> bool:
        return self.measured >= self.bound if self.sign == "≥" else self.measured <= self.bound


@dataclass(frozen=True, slots=True)
class Report:
    title: str
    figures: Sequence[Figure]
    targets: Sequence[Target] = ()


def interleaved(cases: Mapping[str, Callable[[], T]], rounds: int, say: Callable[[str], None]) -> dict[str, list[T]]:
    """A, B, C, A, B, C, …: noise of the machine hits all alike."""
    results: dict[str, list[T]] = {name: [] for name in cases}
    for turn in range(rounds):
        for name, case in cases.items():
            say(f"{name} ({turn + 1} of {rounds})")
            results[name].append(case())
    return results


def show(reports: Sequence[Report], console: Console) -> None:
    for report in reports:
        console.print(_figures(report))
    if targets := [target for report in reports for target in report.targets]:
        console.print(_targets(targets))


def _figures(report: Report) -> Table:
    beside = list(dict.fromkeys(title for figure in report.figures for title in figure.beside))
    table = _table(report.title, ("median", "spread", *beside))
    for figure in report.figures:
        if figure.values:
            ratios = [_number(figure.beside[title]) if title in figure.beside else "" for title in beside]
            spread = f"±{figure.spread:.0%}" if len(figure.values) > 1 else ""
            table.add_row(figure.name, _number(figure.median), spread, *ratios, figure.unit)
        else:
            table.add_row(figure.name, *[""] * (2 + len(beside)), figure.skipped)
    return table


def _targets(targets: Sequence[Target]) -> Table:
    table = _table("targets", ("measured", "bound"))
    for target in targets:
        verdict = "[green]ok[/green]" if target.held else "[red]BELOW[/red]"
        table.add_row(target.claim, _number(target.measured), f"{target.sign} {_number(target.bound)}", verdict)
    return table


def _table(title: str, numbers: Sequence[str]) -> Table:
    table = Table(box=box.SIMPLE_HEAD, pad_edge=False, padding=(0, 1, 0, 0))
    table.add_column(title, no_wrap=True)
    for number in numbers:
        table.add_column(number, justify="right", no_wrap=True)
    table.add_column("", no_wrap=True)
    return table


def _number(value: float) -> str:
    """Three digits say all there is to say."""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.2f}" if abs(value) >= 1 else f"{value:.3f}"


def to_json(reports: Sequence[Report]) -> list[dict[str, Any]]:
    return [
        {
            "title": report.title,
            "figures": [
                {**asdict(figure), "median": figure.median if figure.values else None} for figure in report.figures
            ],
            "targets": [{**asdict(target), "held": target.held} for target in report.targets],
        }
        for report in reports
    ]
