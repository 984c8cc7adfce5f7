"""Capabilities as rows: of one agent, or of several next to each other.

In: the JSON objects of `GET /agents/{agent}/capabilities`. Out: rows with values and, with `--explain`, their sources.
Nothing is printed here. A capability that is missing is unknown.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from gateway.capability_paths import escape_key
from gateway.cli.output.terminal import can_write, printable

YES = ("✓", "yes")
NO = ("✗", "no")
UNKNOWN = ("·", "?")
"""Each sign with its replacement, for terminals that cannot show it."""


@dataclass(frozen=True, slots=True)
class CapabilityRow:
    """One capability of one agent."""

    keys: tuple[str, ...]
    value: Any
    explanation: Mapping[str, Any]
    """Its layer, source and time, and the values that it has overridden; empty without `--explain`."""

    @property
    def name(self) -> str:
        """Without the category."""
        return one_line(".".join(self.keys[1:] or self.keys))


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """One capability of several agents; None: unknown for that agent."""

    path: str
    cells: tuple[CapabilityRow | None, ...]

    @property
    def has_differences(self) -> bool:
        return len({None if cell is None else _json(cell.value) for cell in self.cells}) > 1


def read_rows(body: Mapping[str, Any], *, explained: bool) -> list[CapabilityRow]:
    """All capabilities. The list `unknown`, which some views have, is left out: missing rows say the same."""
    explanations = body["explain"] if explained else {}
    values = _flatten(body["capabilities"] if explained else body, ())
    return [
        CapabilityRow(keys, value, explanations.get(_path(keys), {})) for keys, value in values if keys != ("unknown",)
    ]


def _flatten(tree: Mapping[str, Any], parents: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            yield from _flatten(value, (*parents, key))
        else:
            yield (*parents, key), value


def _path(keys: Sequence[str]) -> str:
    """As `?explain=1` writes it: `~1` stands for a dot in a key."""
    return ".".join(map(escape_key, keys))


def group_by_category(rows: Sequence[CapabilityRow], default: str) -> dict[str, list[CapabilityRow]]:
    """In their order. `default`: the category of rows that have none."""
    groups: dict[str, list[CapabilityRow]] = {}
    for row in rows:
        groups.setdefault(row.keys[0] if len(row.keys) > 1 else default, []).append(row)
    return groups


def compare(agents: Sequence[Sequence[CapabilityRow]]) -> list[ComparisonRow]:
    """A row for every capability that any of the agents has, category by category."""
    by_keys = [{row.keys: row for row in rows} for rows in agents]
    all_keys = list(dict.fromkeys(keys for rows in by_keys for keys in rows))
    order = {category: number for number, category in reversed([*enumerate(keys[0] for keys in all_keys)])}
    all_keys.sort(key=lambda keys: order[keys[0]])
    return [ComparisonRow(_path(keys), tuple(rows.get(keys) for rows in by_keys)) for keys in all_keys]


# -- as text


def format_value(value: Any) -> str:
    """On one line, for users. Items of a list are shown by name where they have one."""
    match value:
        case bool():
            return _sign(YES if value else NO)
        case str():
            return one_line(value) or '""'
        case list() if value:
            return ", ".join(_format_item(item) for item in value)
        case _:
            return one_line(_json(value).decode())


def _format_item(item: Any) -> str:
    if isinstance(item, dict) and isinstance(item.get("name"), str):
        return one_line(item["name"])
    return format_value(item)


def _sign(alternatives: tuple[str, str]) -> str:
    sign, replacement = alternatives
    return sign if can_write(sign) else replacement


def one_line(text: str) -> str:
    return " ".join(printable(text).split())


def format_source(explanation: Mapping[str, Any]) -> str:
    """`profile (echo.toml)`"""
    return one_line(f"{explanation['layer']} ({explanation['source']})") if explanation else ""


def format_overridden(explanation: Mapping[str, Any]) -> list[str]:
    """The values that do not count, the last one first."""
    return [
        f"{format_value(statement['value'])} from {format_source(statement)} since {statement['since']}"
        for statement in explanation.get("overridden", ())
    ]


def format_cell(row: CapabilityRow | None) -> str:
    return _sign(UNKNOWN) if row is None else f"{format_value(row.value)} {format_source(row.explanation)}".rstrip()


def _json(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
