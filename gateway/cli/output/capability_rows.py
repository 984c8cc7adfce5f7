"""What an agent can do, leaf by leaf: of one agent, or of several side by side.

In: the JSON objects that the capabilities' route gives. Out: leaves with their values and, where that was asked for,
who said so. Nothing is printed here, and nothing is asked. A leaf that is not there is one that nobody knows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import orjson

from gateway.capability_paths import escape_key
from gateway.cli.output.terminal import can_write, harmless

YES, NO, UNKNOWN = ("✓", "yes"), ("✗", "no"), ("·", "?")
"""Each with the word for a screen that cannot write the sign."""


@dataclass(frozen=True, slots=True)
class CapabilityRow:
    keys: tuple[str, ...]
    value: Any
    told: Mapping[str, Any]
    """Its layer, source and time, and what it overridden; empty without `--explain`."""

    @property
    def name(self) -> str:
        """Without its category."""
        return one_line(".".join(self.keys[1:] or self.keys))


@dataclass(frozen=True, slots=True)
class Row:
    """One leaf of several agents; None: that agent has none."""

    path: str
    cells: tuple[CapabilityRow | None, ...]

    @property
    def differs(self) -> bool:
        return len({None if leaf is None else _json(leaf.value) for leaf in self.cells}) > 1


def leaves(body: Mapping[str, Any], *, explained: bool) -> list[CapabilityRow]:
    """Without a view's list of what nobody knows: that is said by what is not there."""
    told = body["explain"] if explained else {}
    found = _leaves(body["capabilities"] if explained else body, ())
    return [CapabilityRow(keys, value, told.get(_path(keys), {})) for keys, value in found if keys != ("unknown",)]


def _leaves(tree: Mapping[str, Any], above: tuple[str, ...]) -> Iterator[tuple[tuple[str, ...], Any]]:
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            yield from _leaves(value, (*above, key))
        else:
            yield (*above, key), value


def _path(keys: Sequence[str]) -> str:
    """As `?explain=1` writes it: `~1` stands for a dot in a key."""
    return ".".join(map(escape_key, keys))


def categories(found: Sequence[CapabilityRow], alone: str) -> dict[str, list[CapabilityRow]]:
    """In their order; `alone`: the category of leaves that have none."""
    groups: dict[str, list[CapabilityRow]] = {}
    for leaf in found:
        groups.setdefault(leaf.keys[0] if len(leaf.keys) > 1 else alone, []).append(leaf)
    return groups


def side_by_side(agents: Sequence[Sequence[CapabilityRow]]) -> list[Row]:
    """A row for every leaf that any of them has, category by category."""
    by_keys = [{leaf.keys: leaf for leaf in found} for found in agents]
    every = list(dict.fromkeys(keys for found in by_keys for keys in found))
    order = {category: number for number, category in reversed([*enumerate(keys[0] for keys in every)])}
    every.sort(key=lambda keys: order[keys[0]])
    return [Row(_path(keys), tuple(found.get(keys) for found in by_keys)) for keys in every]


# -- in words


def word(value: Any) -> str:
    """On one line, for people: what a list holds, by name where its items have one."""
    match value:
        case bool():
            return _sign(YES if value else NO)
        case str():
            return one_line(value) or '""'
        case list() if value:
            return ", ".join(_item(item) for item in value)
        case _:
            return one_line(_json(value).decode())


def _item(item: Any) -> str:
    return one_line(item["name"]) if isinstance(item, dict) and isinstance(item.get("name"), str) else word(item)


def _sign(both: tuple[str, str]) -> str:
    sign, instead = both
    return sign if can_write(sign) else instead


def one_line(text: str) -> str:
    return " ".join(harmless(text).split())


def who(told: Mapping[str, Any]) -> str:
    """`profile (echo.toml)`"""
    return one_line(f"{told['layer']} ({told['source']})") if told else ""


def overridden(told: Mapping[str, Any]) -> list[str]:
    """Those whose word does not count, the last one first."""
    return [f"{word(said['value'])} by {who(said)} at {said['since']}" for said in told.get("overridden", ())]


def cell(leaf: CapabilityRow | None) -> str:
    return _sign(UNKNOWN) if leaf is None else f"{word(leaf.value)} {who(leaf.told)}".rstrip()


def _json(value: Any) -> bytes:
    return orjson.dumps(value, option=orjson.OPT_SORT_KEYS)
